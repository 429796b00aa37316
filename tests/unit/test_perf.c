/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/file.h"

#include <errno.h>
#include <unistd.h>

#include "check.h"
#include "perf_writer.h"

/* In memory: thousands of files are written here. */
static char path[64];
static struct perf_file *file;
static struct perf_record record;
static struct diag diag;

static void open_it(void)
{
	file = perf_free(file);
	diag = (struct diag){0};
	CHECK_EQ(perf_open(&file, path, &diag), 0);
}

static void close_it(void)
{
	file = perf_free(file);
}

/* Everything that may stand before what we want, and all that we want. */
#define ALL_PARTS                                                                                  \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |      \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |            \
	 PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

static void put_all_parts(struct perf_writer *writer)
{
	uint8_t bytes[64];

	perf_begin(writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
	perf_put_u64(writer, 100); /* identifier */
	perf_put_u64(writer, 0xffffffff81000000);
	perf_put_u32(writer, 11);
	perf_put_u32(writer, 12);
	perf_put_u64(writer, 123456789); /* time */
	for (int i = 0; i < 4; i++)
		perf_put_u64(writer, 1); /* addr, id, stream, cpu */
	perf_put_u64(writer, 777);       /* period */
	perf_put_u64(writer, 2);         /* a group of two counters, its time, ids */
	for (int i = 0; i < 5; i++)
		perf_put_u64(writer, 5);
	perf_put_u64(writer, 3); /* callchain */
	perf_put_u64(writer, PERF_CONTEXT_KERNEL);
	perf_put_u64(writer, 0xffffffff81000000);
	perf_put_u64(writer, 0x5000);
	perf_put_u32(writer, 12); /* raw */
	perf_put(writer, "raw bytes...", 12);
	perf_put_u64(writer, 1); /* branches */
	for (int i = 0; i < 3; i++)
		perf_put_u64(writer, 9);
	perf_put_u64(writer, PERF_SAMPLE_REGS_ABI_64);
	perf_put_u64(writer, 0xb0); /* register 6 */
	perf_put_u64(writer, 0x7ff0);
	perf_put_u64(writer, 0x5008);
	perf_put_u64(writer, sizeof(bytes));
	memset(bytes, 0xab, sizeof(bytes));
	perf_put(writer, bytes, sizeof(bytes));
	perf_put_u64(writer, 40); /* of which so many are of the stack */
	perf_end(writer);
}

static void a_sample_with_all_parts_comes_back(void)
{
	struct perf_event_attr attr = perf_usual_attr(ALL_PARTS);
	struct perf_writer writer;

	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_ID;
	attr.sample_regs_user = 1 << 6 | 1 << 7 | 1 << 8;
	attr.sample_stack_user = 64;
	attr.exclude_kernel = 1;
	perf_start(&writer, &attr, 1);
	put_all_parts(&writer);
	perf_finish(&writer, path);
	open_it();
	CHECK_EQ(perf_attr_count(file), 1);
	CHECK_EQ(perf_attr(file, 0)->clock, CLOCK_MONOTONIC_RAW);
	CHECK(perf_attr(file, 0)->own_clock && perf_attr(file, 0)->by_frequency);
	CHECK(perf_attr(file, 0)->without_kernel);
	CHECK_EQ(perf_attr(file, 0)->period, 1000);
	CHECK_EQ(perf_attr(file, 0)->stack_bytes, 64);
	CHECK(!perf_attr(file, 1));
	CHECK_EQ(perf_next(file, &record, &diag), 0);
	CHECK_EQ(record.kind, PERF_SAMPLE);
	CHECK_EQ(record.sample.ip, 0xffffffff81000000);
	CHECK(record.sample.in_kernel);
	CHECK_EQ(record.sample.pid, 11);
	CHECK_EQ(record.sample.tid, 12);
	CHECK_EQ(record.sample.time, 123456789);
	CHECK_EQ(record.sample.period, 777);
	CHECK_EQ(record.sample.callchain_count, 3);
	CHECK_EQ(record.sample.callchain[2], 0x5000);
	CHECK_EQ(record.sample.registers_mask, 7 << 6);
	CHECK_EQ(record.sample.registers[6], 0xb0);
	CHECK_EQ(record.sample.registers[8], 0x5008);
	CHECK_EQ(record.sample.registers[9], 0);
	CHECK_EQ(record.sample.stack_bytes, 40);
	CHECK_EQ(record.sample.stack[39], 0xab);
	CHECK_EQ(perf_next(file, &record, &diag), PERF_END);
	CHECK_EQ(perf_damaged(file), 0);
	CHECK(!perf_torn(file));
	perf_rewind(file);
	CHECK_EQ(perf_next(file, &record, &diag), 0);
	CHECK_EQ(record.sample.time, 123456789);
	close_it();
}

static void an_attribute_of_the_first_kernels_is_shorter(void)
{
	struct perf_event_attr attr = perf_usual_attr(0);
	struct perf_writer writer;

	attr.size = PERF_ATTR_SIZE_VER0;
	perf_start(&writer, &attr, 1);
	perf_begin(&writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	perf_put_usual(&writer, 0x400000, 1, 2, 3);
	perf_end(&writer);
	perf_finish(&writer, path);
	open_it();
	CHECK_EQ(perf_attr(file, 0)->clock, 0);
	CHECK_EQ(perf_next(file, &record, &diag), 0);
	CHECK_EQ(record.sample.time, 3);
	CHECK(!record.sample.in_kernel);
	CHECK(!record.sample.registers_mask && !record.sample.stack);
	close_it();
}

static void mappings_of_code_names_and_losses_are_told(void)
{
	struct perf_event_attr attr = perf_usual_attr(0);
	struct perf_writer writer;
	uint8_t id[24] = {20, 0, 0, 0, 0xaa, 0xbb};

	perf_start(&writer, &attr, 1);
	perf_mapping(&writer, 7, 0x10000, 0x2000, PROT_READ | PROT_EXEC, "/usr/bin/app");
	perf_mapping(&writer, 7, 0x20000, 0x2000, PROT_READ, "/usr/bin/app");
	perf_begin(&writer, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | 1 << 14);
	perf_put_u64(&writer, 7);
	perf_put_u64(&writer, 0x30000);
	perf_put_u64(&writer, 0x1000);
	perf_put_u64(&writer, 0);
	perf_put(&writer, id, sizeof(id));
	perf_put_u32(&writer, PROT_EXEC);
	perf_put_u32(&writer, 0);
	perf_put_text(&writer, "lib.so");
	perf_end(&writer);
	perf_begin(&writer, 1234, 0); /* what nobody knows is passed over */
	perf_put_u64(&writer, 0);
	perf_end(&writer);
	perf_name(&writer, 7, 8, "worker");
	perf_begin(&writer, PERF_RECORD_LOST, 0);
	perf_put_u64(&writer, 100);
	perf_put_u64(&writer, 55);
	perf_end(&writer);
	perf_begin(&writer, PERF_RECORD_LOST_SAMPLES, 0);
	perf_put_u64(&writer, 66);
	perf_end(&writer);
	perf_finish(&writer, path);
	open_it();
	CHECK_EQ(perf_next(file, &record, &diag), 0);
	CHECK_EQ(record.kind, PERF_MAPPING);
	CHECK_EQ(record.mapping.start, 0x10000);
	CHECK_EQ(record.mapping.bytes, 0x2000);
	CHECK_EQ(record.mapping.offset, 0x1000);
	CHECK_EQ(record.mapping.build_id_bytes, 0);
	CHECK_STR_EQ(record.mapping.path, "/usr/bin/app");
	CHECK_EQ(perf_next(file, &record, &diag), 0);
	CHECK_STR_EQ(record.mapping.path, "lib.so");
	CHECK_EQ(record.mapping.build_id_bytes, 20);
	CHECK_EQ(record.mapping.build_id[1], 0xbb);
	CHECK_EQ(perf_next(file, &record, &diag), 0);
	CHECK_EQ(record.kind, PERF_NAME);
	CHECK_EQ(record.name.tid, 8);
	CHECK_STR_EQ(record.name.name, "worker");
	CHECK_EQ(perf_next(file, &record, &diag), 0);
	CHECK_EQ(record.kind, PERF_LOST);
	CHECK_EQ(record.lost, 55);
	CHECK_EQ(perf_next(file, &record, &diag), 0);
	CHECK_EQ(record.lost, 66);
	CHECK_EQ(perf_next(file, &record, &diag), PERF_END);
	close_it();
}

/* Two events whose samples are not alike. */
static void put_two(struct perf_writer *writer)
{
	for (uint64_t i = 0; i < 4; i++) {
		perf_begin(writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
		perf_put_u64(writer, 100 + i % 2);
		perf_put_usual(writer, 0x400000 + i, 1, 2, 3);
		if (i % 2)
			perf_put_u64(writer, 0); /* an empty callchain */
		perf_end(writer);
	}
}

static void check_two(void)
{
	for (uint64_t i = 0; i < 4; i++) {
		CHECK_EQ(perf_next(file, &record, &diag), 0);
		CHECK_EQ(record.sample.attr, i % 2);
		CHECK_EQ(record.sample.ip, 0x400000 + i);
	}
	CHECK_EQ(perf_next(file, &record, &diag), PERF_END);
	CHECK_EQ(perf_attr_count(file), 2);
	CHECK_EQ(perf_damaged(file), 0);
}

static void two_events_are_told_apart(void)
{
	struct perf_event_attr attrs[] = {
		perf_usual_attr(PERF_SAMPLE_IDENTIFIER),
		perf_usual_attr(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CALLCHAIN)};
	struct perf_writer writer;

	perf_start(&writer, attrs, 2);
	put_two(&writer);
	perf_finish(&writer, path);
	open_it();
	check_two();
	perf_start_pipe(&writer, attrs, 2);
	put_two(&writer);
	perf_finish(&writer, path);
	open_it();
	CHECK_EQ(perf_attr_count(file), 0);
	check_two();
	perf_rewind(file);
	check_two();
	close_it();
}

static void start_with_samples(struct perf_writer *writer, unsigned count)
{
	struct perf_event_attr attr = perf_usual_attr(0);

	perf_start(writer, &attr, 1);
	for (unsigned i = 0; i < count; i++) {
		perf_begin(writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
		perf_put_usual(writer, 0x400000, 1, 2, i);
		perf_end(writer);
	}
}

static unsigned count_samples(void)
{
	unsigned count = 0;

	while (perf_next(file, &record, &diag) == 0)
		count++;
	return count;
}

static void a_file_that_was_not_finished_is_read_to_its_end(void)
{
	struct perf_writer writer;

	start_with_samples(&writer, 10);
	writer.length -= 5;
	perf_save(&writer, path); /* its header says that there is nothing */
	free(writer.bytes);
	open_it();
	CHECK_EQ(count_samples(), 9);
	CHECK(perf_torn(file));
	close_it();
}

static void a_sample_that_is_not_whole_is_left_out(void)
{
	struct perf_writer writer;

	start_with_samples(&writer, 3);
	perf_begin(&writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	perf_put_u64(&writer, 1);
	perf_end(&writer);
	perf_begin(&writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	perf_put_usual(&writer, 0x400000, 1, 2, 77);
	perf_end(&writer);
	perf_finish(&writer, path);
	open_it();
	CHECK_EQ(count_samples(), 4);
	CHECK_EQ(perf_damaged(file), 1);
	CHECK_EQ(record.sample.time, 77);
	close_it();
}

static void bytes_behind_a_record_are_passed_over(void)
{
	struct perf_writer writer;
	uint8_t trace[100];

	start_with_samples(&writer, 1);
	perf_begin(&writer, 71, 0); /* hardware trace: its bytes are no records */
	perf_put_u64(&writer, sizeof(trace));
	perf_end(&writer);
	memset(trace, 0xff, sizeof(trace));
	perf_put(&writer, trace, sizeof(trace));
	perf_begin(&writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	perf_put_usual(&writer, 0x400000, 1, 2, 77);
	perf_end(&writer);
	perf_finish(&writer, path);
	open_it();
	CHECK_EQ(count_samples(), 2);
	CHECK_EQ(record.sample.time, 77);
	close_it();
}

static void what_cannot_be_read_is_refused_in_words(void)
{
	struct perf_writer writer;

	start_with_samples(&writer, 1);
	perf_begin(&writer, 81, 0);
	perf_put_u64(&writer, 0);
	perf_end(&writer);
	perf_finish(&writer, path);
	open_it();
	CHECK_EQ(perf_next(file, &record, &diag), 0);
	CHECK_EQ(perf_next(file, &record, &diag), -EOPNOTSUPP);
	CHECK(strstr(diag.text, "compressed") && diag.hint[0]);
	start_with_samples(&writer, 1);
	perf_put_u64(&writer, 0);
	perf_finish(&writer, path);
	open_it();
	CHECK_EQ(perf_next(file, &record, &diag), 0);
	CHECK_EQ(perf_next(file, &record, &diag), -EBADMSG);
	CHECK(diag.text[0]);
	file = perf_free(file);
	CHECK_EQ(truncate(path, 50), 0);
	CHECK_EQ(perf_open(&file, path, &diag), -EBADMSG);
	CHECK_EQ(truncate(path, 0), 0);
	CHECK_EQ(perf_open(&file, path, &diag), -EBADMSG);
	CHECK_EQ(perf_open(&file, "/nowhere/at/all", &diag), -ENOENT);
	CHECK_EQ(perf_open(&file, "/dev/null", &diag), -EINVAL);
	CHECK(!file);
	close_it();
}

/* Each byte changed, and each length cut: it ends, whatever it says. */
static void damage_anywhere_ends_in_an_end(void)
{
	struct perf_event_attr attr = perf_usual_attr(ALL_PARTS);
	struct perf_writer writer;
	size_t length;

	attr.sample_regs_user = 1 << 6 | 1 << 7 | 1 << 8;
	perf_start(&writer, &attr, 1);
	put_all_parts(&writer);
	perf_mapping(&writer, 7, 0x10000, 0x2000, PROT_READ | PROT_EXEC, "/usr/bin/app");
	perf_name(&writer, 7, 8, "worker");
	length = writer.length;
	for (size_t i = 0; i < 2 * length; i++) {
		uint8_t *byte = &writer.bytes[i % length];
		unsigned count = 0;

		if (i < length)
			*byte ^= 0xff;
		else
			writer.length = i - length;
		perf_save(&writer, path);
		if (perf_open(&file, path, &diag) == 0)
			while (perf_next(file, &record, &diag) == 0 && count < 1000)
				count++;
		else
			CHECK(diag.text[0]);
		CHECK(count < 1000);
		file = perf_free(file);
		if (i < length)
			*byte ^= 0xff;
	}
	free(writer.bytes);
	close_it();
}

int main(void)
{
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memfd_create("perf.data", MFD_CLOEXEC));
	RUN(a_sample_with_all_parts_comes_back);
	RUN(an_attribute_of_the_first_kernels_is_shorter);
	RUN(mappings_of_code_names_and_losses_are_told);
	RUN(two_events_are_told_apart);
	RUN(a_file_that_was_not_finished_is_read_to_its_end);
	RUN(a_sample_that_is_not_whole_is_left_out);
	RUN(bytes_behind_a_record_are_passed_over);
	RUN(what_cannot_be_read_is_refused_in_words);
	RUN(damage_anywhere_ends_in_an_end);
	return check_done();
}

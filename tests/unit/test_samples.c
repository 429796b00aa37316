/* SPDX-License-Identifier: Apache-2.0 */
/* SAMPLES blocks there and back, and what a reader makes of damaged ones. */
#include "trace/samples.h"

#include <errno.h>

#include "check.h"
#include "trace/reader.h"
#include "trace/writer.h"

#define MOST 2000u
#define DEEP 300u

static uint64_t seed = 88172645463325252u;

static uint64_t any(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* A sample as an array of everything that it says. */
struct made {
	uint64_t ticks, weight;
	uint32_t tid, flags;
	uint64_t native[DEEP];
	uint32_t native_count;
	struct {
		uint64_t task;
		uint32_t site;
		uint64_t addresses[DEEP];
		int32_t states[DEEP];
		uint32_t count;
		bool cut;
	} runs[3];
	uint32_t run_count;
};

static struct made made[MOST];
static struct {
	struct block block;
	uint8_t *payload;
} blocks[MOST];
static uint32_t block_count;

static int keep(void *data, const struct block *block, const uint8_t *payload)
{
	(void)data;
	blocks[block_count].block = *block;
	blocks[block_count].payload = malloc(block->raw);
	memcpy(blocks[block_count++].payload, payload, block->raw);
	return 0;
}

static void forget_blocks(void)
{
	while (block_count)
		free(blocks[--block_count].payload);
}

static void make(struct made *one, uint64_t ticks)
{
	*one = (struct made){.ticks = ticks, .weight = any(1u << 30)};
	one->tid = 100 + (uint32_t)any(20);
	one->flags = (uint32_t)any(16);
	one->native_count = (uint32_t)any(60);
	for (uint32_t i = 0; i < one->native_count; i++)
		one->native[i] = 0x555500000000 + any(i + 2) * 4096 + any(3);
	one->run_count = (uint32_t)any(4);
	for (uint32_t r = 0; r < one->run_count; r++) {
		one->runs[r].task = any(UINT64_MAX);
		one->runs[r].site = any(3) ? 0 : (uint32_t)any(UINT32_MAX);
		one->runs[r].count = (uint32_t)any(any(20) ? 8 : DEEP);
		one->runs[r].cut = any(5) == 0;
		for (uint32_t i = 0; i < one->runs[r].count; i++) {
			one->runs[r].addresses[i] = any(9) ? 0x7f0000000000 + any(7) * 64 : seed;
			one->runs[r].states[i] = any(2) ? (int32_t)any(5) - 2 : (int32_t)seed;
		}
	}
}

static int put(struct samples_writer *writer, const struct made *one)
{
	struct samples_segment segments[3];
	struct samples_input input = {
		.ticks = one->ticks,
		.weight = one->weight,
		.tid = one->tid,
		.flags = one->flags,
		.thread_name = "worker",
		.native = {.addresses = one->native, .count = one->native_count},
		.segments = segments,
		.segment_count = one->run_count};

	for (uint32_t r = 0; r < one->run_count; r++)
		segments[r] =
			(struct samples_segment){.task = one->runs[r].task,
						 .site = one->runs[r].site,
						 .chain = {.addresses = one->runs[r].addresses,
							   .states = one->runs[r].states,
							   .count = one->runs[r].count},
						 .cut = one->runs[r].cut};
	return samples_writer_put(writer, &input);
}

static void check_stack(const struct unweave_frame *frame, const uint64_t *addresses,
			const int32_t *states, uint32_t count, bool cut)
{
	for (uint32_t i = 0; i < count; i++, frame = frame ? frame->awaiter : NULL) {
		CHECK(frame && frame->kind == UNWEAVE_FRAME_CODE);
		CHECK(frame && frame->address == addresses[i]);
		CHECK(frame && frame->state == (states ? states[i] : 0));
		CHECK(frame && frame->depth == count - i + (cut && count));
	}
	if (cut && count) {
		CHECK(frame && frame->kind == UNWEAVE_FRAME_OMITTED && frame->address == 0);
		frame = frame ? frame->awaiter : NULL;
	}
	CHECK(!frame);
}

static void check_sample(const struct sample *sample, const struct made *one)
{
	CHECK_EQ(sample->weight, one->weight);
	CHECK_EQ(sample->tid, one->tid);
	CHECK_EQ(sample->flags, one->flags);
	CHECK_EQ(sample->segment_count, one->run_count);
	check_stack(sample->native, one->native, NULL, one->native_count, false);
	for (uint32_t r = 0; r < one->run_count; r++) {
		CHECK_EQ(sample->segments[r].task, one->runs[r].task);
		CHECK_EQ(sample->segments[r].site, one->runs[r].site);
		check_stack(sample->segments[r].chain, one->runs[r].addresses, one->runs[r].states,
			    one->runs[r].count, one->runs[r].cut);
	}
}

static void make_blocks(void)
{
	struct samples_writer *writer = NULL;
	uint64_t ticks = 1000000;

	forget_blocks();
	CHECK_EQ(samples_writer_new(&writer, keep, NULL), 0);
	for (uint32_t i = 0; i < MOST; i++) {
		ticks += any(2000) - 300;
		make(&made[i], ticks);
		CHECK_EQ(put(writer, &made[i]), 0);
	}
	CHECK_EQ(samples_writer_flush(writer), 0);
	samples_writer_free(writer);
}

static void what_was_put_comes_back(void)
{
	struct samples_block block = {0};
	struct sample sample;
	uint32_t next = 0;

	make_blocks();
	CHECK(block_count > 1);
	for (uint32_t i = 0; i < block_count; i++) {
		uint64_t first = UINT64_MAX, last = 0, count = 0;

		CHECK_EQ(samples_block_open(&block, blocks[i].payload, blocks[i].block.raw), 0);
		for (; samples_block_next(&block, &sample); next++, count++) {
			CHECK_EQ(sample.time, made[next].ticks);
			check_sample(&sample, &made[next]);
			first = sample.time < first ? sample.time : first;
			last = sample.time > last ? sample.time : last;
		}
		CHECK(!block.at.bad && block.at.at == block.at.end);
		CHECK_EQ(first, blocks[i].block.first);
		CHECK_EQ(last, blocks[i].block.last);
		CHECK_EQ(count, blocks[i].block.events);
	}
	CHECK_EQ(next, MOST);
	samples_block_fini(&block);
}

static void a_sample_with_too_many_frames_is_refused_and_the_next_taken(void)
{
	static uint64_t addresses[SAMPLES_FRAMES_MAX + 1];
	struct samples_writer *writer = NULL;
	struct samples_input input = {
		.native = {.addresses = addresses, .count = SAMPLES_FRAMES_MAX + 1}};

	forget_blocks();
	for (uint32_t i = 0; i <= SAMPLES_FRAMES_MAX; i++)
		addresses[i] = any(UINT64_MAX);
	samples_writer_new(&writer, keep, NULL);
	CHECK_EQ(samples_writer_put(writer, &input), -E2BIG);
	input.native.count--;
	for (int i = 0; i < 5; i++)
		CHECK_EQ(samples_writer_put(writer, &input), 0);
	CHECK_EQ(samples_writer_flush(writer), 0);
	CHECK(block_count >= 1);
	samples_writer_free(writer);
}

/* Every cut and thousands of changed bytes: no answer is right, but each must be bounded. */
static void damage_gives_fewer_samples_and_nothing_worse(void)
{
	struct samples_block block = {0};
	struct sample sample;

	make_blocks();
	for (uint32_t round = 0; round < 3000; round++) {
		uint32_t length = blocks[0].block.raw;
		uint8_t *bytes = malloc(length);

		memcpy(bytes, blocks[0].payload, length);
		if (round % 2)
			length = (uint32_t)any(length);
		else
			bytes[any(any(2) ? length : 64)] = (uint8_t)seed;
		if (samples_block_open(&block, bytes, length) == 0)
			while (samples_block_next(&block, &sample))
				for (const struct unweave_frame *f = sample.native; f;
				     f = f->awaiter)
					CHECK(f->depth != 0);
		if (round % 2)
			CHECK(block.at.bad || !block.left);
		free(bytes);
	}
	samples_block_fini(&block);
}

static void put_meta(struct writer *writer, enum block_kind kind, struct buffer *payload)
{
	struct block block = {.kind = kind, .raw = (uint32_t)payload->length};

	CHECK_EQ(writer_put(writer, &block, payload->bytes, NULL), 0);
	buffer_fini(payload);
}

static int see_module(void *data, const struct meta_module *module)
{
	int *seen = data;

	CHECK_EQ(module->start, 0x1000);
	CHECK_EQ(module->end, 0x3000);
	CHECK_EQ(module->offset, 0x200);
	CHECK(module->path.length == 8 && memcmp(module->path.bytes, "/bin/app", 8) == 0);
	CHECK(module->build_id.length == 3 && memcmp(module->build_id.bytes, "\1\0\2", 3) == 0);
	++*seen;
	return 0;
}

static int see_symbol(void *data, uint64_t address, uint64_t start,
		      const struct meta_symbol_frame *frames, uint32_t count)
{
	int *seen = data;

	CHECK_EQ(address, 0x1234);
	CHECK_EQ(start, 0x1200);
	CHECK_EQ(count, 2);
	CHECK(memcmp(frames[0].function.bytes, "inner", 5) == 0);
	CHECK(memcmp(frames[1].file.bytes, "a.c", 3) == 0);
	CHECK_EQ(frames[1].line, 7);
	++*seen;
	return 0;
}

static void write_file(const char *path)
{
	struct meta_module module = {0x1000, 0x3000, 0x200, {"/bin/app", 8}, {"\1\0\2", 3}};
	struct meta_symbol_frame frames[] = {{{"inner", 5}, {"", 0}, 0},
					     {{"outer", 5}, {"a.c", 3}, 7}};
	struct meta_sampler sampler = {SAMPLER_PERF, 999, 1, 5, {"careful", 7}};
	struct meta_clock clock = {0, 0, 0}, later = {1000000000, 1000000000, 1000000000};
	struct buffer payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	struct writer *writer = NULL;

	CHECK_EQ(writer_new(&writer, path, NULL, NULL, NULL), 0);
	meta_clock_encode(&payload, &clock);
	put_meta(writer, BLOCK_CLOCK, &payload);
	payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	meta_clock_encode(&payload, &later);
	put_meta(writer, BLOCK_CLOCK, &payload);
	payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	meta_sampler_encode(&payload, &sampler);
	put_meta(writer, BLOCK_SAMPLER, &payload);
	payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	buffer_put_varint(&payload, 0x5000);
	buffer_put_varint(&payload, 1);
	meta_module_encode(&payload, &module);
	buffer_put_varint(&payload, 0x100);
	buffer_put_varint(&payload, 0x1200);
	put_meta(writer, BLOCK_MODULES, &payload);
	/* One without the code around the anchors takes nothing away, nor does nonsense. */
	payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	buffer_put_varint(&payload, 0x5000);
	buffer_put_varint(&payload, 0);
	put_meta(writer, BLOCK_MODULES, &payload);
	payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	buffer_put_varint(&payload, 0x5000);
	buffer_put_varint(&payload, 0);
	buffer_put_varint(&payload, 0x6000);
	buffer_put_varint(&payload, 0x10);
	put_meta(writer, BLOCK_MODULES, &payload);
	payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	buffer_put_varint(&payload, 1);
	meta_symbol_encode(&payload, 0x1234, 0x1200, frames, 2);
	put_meta(writer, BLOCK_SYMBOLS, &payload);
	for (uint32_t i = 0; i < block_count; i++)
		CHECK_EQ(writer_put(writer, &blocks[i].block, blocks[i].payload, NULL), 0);
	writer_free(writer);
}

static void a_reader_gives_samples_modules_and_symbols(void)
{
	char path[] = "/tmp/unweave-samples-XXXXXX";
	int fd = mkstemp(path), modules = 0, symbols = 0;
	struct reader *reader = NULL;
	uint64_t start, end;
	struct sample sample;

	make_blocks();
	write_file(path);
	CHECK_EQ(reader_open(&reader, path, NULL, NULL, NULL), 0);
	CHECK_EQ(reader_summary(reader)->sample_blocks, block_count);
	CHECK_EQ(reader_anchors(reader), 0x5000);
	CHECK(reader_dispatch(reader, &start, &end));
	CHECK_EQ(start, 0x4f00);
	CHECK_EQ(end, 0x6100);
	CHECK_EQ(reader_each_module(reader, see_module, &modules), 0);
	CHECK_EQ(reader_each_symbol(reader, see_symbol, &symbols), 0);
	CHECK_EQ(modules, 1);
	CHECK_EQ(symbols, 1);
	CHECK_EQ(reader_sampler(reader)->hz, 999);
	CHECK_STR_EQ(reader_sampler(reader)->note.bytes, "careful");
	for (int twice = 0; twice < 2; twice++) {
		uint32_t next = 0;

		for (; reader_next_sample(reader, &sample, NULL) == 0; next++) {
			CHECK_EQ(sample.time, made[next].ticks);
			check_sample(&sample, &made[next]);
		}
		CHECK_EQ(next, MOST);
		reader_rewind_samples(reader);
	}
	CHECK_STR_EQ(reader_tid_name(reader, made[0].tid), "worker");
	CHECK_STR_EQ(reader_tid_name(reader, 1), "");
	reader_free(reader);
	remove(path);
	fclose(fdopen(fd, "r"));
}

/* What is seldom run of a function may lie before it. */
static void a_function_may_begin_behind_an_address_in_it(void)
{
	const struct meta_symbol_frame frame = {.function = {"work", 4}};
	struct meta_symbol_frame frames[META_SYMBOL_FRAMES];
	struct buffer buffer = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	uint64_t address, start;
	struct wire wire;

	CHECK_EQ(meta_symbol_encode(&buffer, 0x1000, 0x2000, &frame, 1), 0);
	CHECK_EQ(meta_symbol_encode(&buffer, 0x1000, 0, &frame, 1), 0);
	wire = (struct wire){.at = buffer.bytes, .end = buffer.bytes + buffer.length};
	CHECK_EQ(meta_symbol_decode(&wire, &address, &start, frames), 1);
	CHECK_EQ(address, 0x1000);
	CHECK_EQ(start, 0x2000);
	CHECK_EQ(meta_symbol_decode(&wire, &address, &start, frames), 1);
	CHECK_EQ(start, 0);
	buffer_fini(&buffer);
}

int main(void)
{
	RUN(a_function_may_begin_behind_an_address_in_it);
	RUN(what_was_put_comes_back);
	RUN(a_sample_with_too_many_frames_is_refused_and_the_next_taken);
	RUN(damage_gives_fewer_samples_and_nothing_worse);
	RUN(a_reader_gives_samples_modules_and_symbols);
	forget_blocks();
	return check_done();
}

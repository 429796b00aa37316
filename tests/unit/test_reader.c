/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "check.h"
#include "maker.h"
#include "util/hash.h"

#define RESUME(at, id)                                                                             \
	(struct unweave_event)                                                                     \
	{                                                                                          \
		.kind = UNWEAVE_EVENT_RESUME, .time = (at), .task = (id)                           \
	}
#define SUSPEND(at, id)                                                                            \
	(struct unweave_event)                                                                     \
	{                                                                                          \
		.kind = UNWEAVE_EVENT_SUSPEND, .time = (at), .task = (id)                          \
	}

/* What on_fault was told, one after the other. */
static char told[4096];

static void tell(void *data, const struct reader_fault *fault)
{
	size_t length = strlen(told);

	(void)data;
	snprintf(told + length, sizeof(told) - length, "%s;", fault->what);
}

static struct reader *open_trace(void)
{
	struct reader *reader = NULL;
	struct diag diag = {0};

	told[0] = 0;
	if (reader_open(&reader, maker_path(), tell, NULL, &diag) < 0) {
		printf("Bail out! %s\n", diag.text);
		exit(1);
	}
	return reader;
}

/* All events as "thread:time kind task", a line each. */
static const char *read_all(struct reader *reader)
{
	static char text[65536];
	struct unweave_event event;
	size_t length = 0;
	int r;

	text[0] = 0;
	while ((r = reader_next(reader, &event, NULL)) == 0 && length < sizeof(text))
		length += (size_t)snprintf(
			text + length, sizeof(text) - length, "%u%s:%llu %u %llu\n", event.thread,
			event.flags & UNWEAVE_EVENT_ASIDE ? "'" : "",
			(unsigned long long)event.time, event.kind,
			(unsigned long long)(event.kind == UNWEAVE_EVENT_LOST ? event.value
									      : event.task));
	CHECK_EQ(r, READER_END);
	CHECK_EQ(reader_next(reader, &event, NULL), READER_END);
	return text;
}

static void merges_the_streams_by_time_then_thread_then_aside(void)
{
	struct encoder *one, *two, *aside;
	struct reader *reader;
	struct maker maker;

	maker_init(&maker, maker_path(), false);
	maker_session(&maker, 1000000000);
	two = maker_stream(&maker, 2, false, 0);
	aside = maker_stream(&maker, 1, true, 0);
	one = maker_stream(&maker, 1, false, 0);
	maker_put(one, RESUME(10, 1));
	maker_put(one, SUSPEND(20, 1));
	maker_put(one, RESUME(20, 2));
	maker_put(two, RESUME(15, 3));
	maker_put(two, SUSPEND(20, 3));
	maker_put(aside, (struct unweave_event){.kind = UNWEAVE_EVENT_WAKE, .time = 20, .task = 9});
	maker_flush(&maker);
	maker_put(two, RESUME(30, 3));
	maker_put(one, SUSPEND(25, 2));
	maker_flush(&maker);
	maker_end(&maker, 0);
	maker_fini(&maker);

	reader = open_trace();
	CHECK_STR_EQ(read_all(reader), "1:10 2 1\n2:15 2 3\n1:20 3 1\n1:20 2 2\n1':20 5 9\n"
				       "2:20 3 3\n1:25 3 2\n2:30 2 3\n");
	CHECK_STR_EQ(told, "");
	CHECK(reader_summary(reader)->closed);
	CHECK_EQ(reader_summary(reader)->first, 10);
	CHECK_EQ(reader_summary(reader)->last, 30);
	CHECK_EQ(reader_summary(reader)->event_blocks, 5);
	reader_free(reader);
}

static void times_are_ns_by_the_clock_blocks(void)
{
	struct encoder *one;
	struct reader *reader;
	struct maker maker;

	maker_init(&maker, maker_path(), true);
	maker_session(&maker, 1);
	maker_clock(&maker, 1000, 50000);
	one = maker_stream(&maker, 1, false, 0);
	maker_put(one, RESUME(1500, 1));
	maker_put(one, SUSPEND(2500, 1));
	maker_flush(&maker);
	maker_clock(&maker, 2000, 52000);
	maker_end(&maker, 0);
	maker_fini(&maker);

	reader = open_trace();
	CHECK_STR_EQ(read_all(reader), "1:51000 2 1\n1:53000 3 1\n");
	CHECK_EQ(reader_summary(reader)->realtime, 1700000000000051000);
	reader_free(reader);
}

static void knows_session_threads_and_sites_by_the_last_word_on_each(void)
{
	const struct reader_thread *thread;
	const struct reader_site *site;
	struct reader *reader;
	struct maker maker;

	maker_init(&maker, maker_path(), true);
	maker_session(&maker, 187500000);
	maker_thread(&maker, 1, "early");
	maker_thread(&maker, 3, "worker");
	maker_thread(&maker, 1, "main");
	maker_site(&maker, 7, "request", "serve", "server.c", 42);
	maker_site_kind(&maker, 9, "timer", "tick", "serve", "server.c", 43);
	maker_stream(&maker, 5, false, 0);
	maker_put(maker.encoders[0], RESUME(1, 1));
	maker_flush(&maker);
	maker_end(&maker, 11);
	maker_fini(&maker);

	reader = open_trace();
	CHECK(reader_summary(reader)->session_known);
	CHECK_STR_EQ(reader_summary(reader)->session.program.bytes, "/usr/bin/server");
	CHECK_EQ(reader_summary(reader)->session.pid, 4242);
	CHECK_EQ(reader_thread_count(reader), 3);
	thread = reader_thread(reader, 1);
	CHECK_STR_EQ(thread ? thread->name : "", "main");
	CHECK_EQ(thread ? thread->tid : 0, 4242);
	thread = reader_thread(reader, 5);
	CHECK(thread && thread->tid == 0 && thread->name[0] == 0);
	CHECK(!reader_thread(reader, 2) && !reader_thread_at(reader, 3));
	site = reader_site(reader, 7);
	CHECK_STR_EQ(site ? site->function : "", "serve");
	CHECK_STR_EQ(site ? site->file : "", "server.c");
	CHECK(site && !site->kind);
	CHECK_STR_EQ(reader_site(reader, 9) ? reader_site(reader, 9)->name : "", "tick");
	CHECK_STR_EQ(reader_site(reader, 9) ? reader_site(reader, 9)->kind : "", "timer");
	CHECK_EQ(site ? site->line : 0, 42);
	CHECK(!reader_site(reader, 8));
	CHECK_EQ(reader_lost_outside(reader, UNWEAVE_LOSS_NO_THREAD), 11);
	CHECK_EQ(reader_lost_outside(reader, UNWEAVE_LOSS_DISK), 0);
	reader_free(reader);
}

static void check_adapter(const struct reader_adapter *adapter, const char *name,
			  const char *version, uint64_t fate, const char *why)
{
	if (!adapter) {
		CHECK(adapter != NULL);
		return;
	}
	CHECK_STR_EQ(adapter->name, name);
	CHECK_STR_EQ(adapter->version ? adapter->version : "none", version);
	CHECK_EQ(adapter->fate, fate);
	CHECK_STR_EQ(adapter->why, why);
}

/* What was wanted, by the last block of it, and what took hold. */
static void puts_together_what_is_said_of_adapters(void)
{
	struct reader *reader;
	struct maker maker;

	maker_init(&maker, maker_path(), true);
	maker_session(&maker, 187500000);
	buffer_put_varint(&maker.buffer, 1);
	maker_adapter(&maker, "old", META_FATE_LOADED, "");
	maker_block(&maker, BLOCK_ADAPTERS, 0);
	buffer_put_varint(&maker.buffer, 3);
	maker_adapter(&maker, "libuv", META_FATE_LOADED, "");
	maker_adapter(&maker, "libevent", META_FATE_IMPOSSIBLE, "it is inside");
	maker_adapter(&maker, "glib", META_FATE_LOADED, "");
	maker_block(&maker, BLOCK_ADAPTERS, 0);
	maker_took_hold(&maker, 4, "libuv", "1.44.2");
	maker_took_hold(&maker, 5, "libuv", "1.44.2");
	maker_took_hold(&maker, 6, "other", "3");
	maker_end(&maker, 0);
	maker_fini(&maker);

	reader = open_trace();
	CHECK_EQ(reader_summary(reader)->faults, 0);
	check_adapter(reader_adapter_at(reader, 0), "libuv", "1.44.2", META_FATE_LOADED, "");
	check_adapter(reader_adapter_at(reader, 1), "libevent", "none", META_FATE_IMPOSSIBLE,
		      "it is inside");
	check_adapter(reader_adapter_at(reader, 2), "glib", "none", META_FATE_LOADED, "");
	check_adapter(reader_adapter_at(reader, 3), "other", "3", 0, "");
	CHECK(!reader_adapter_at(reader, 4));
	reader_free(reader);
}

/* More than there may be, and more than are there: each is a fault, and told of nobody. */
static void adapters_that_make_no_sense_are_a_fault(void)
{
	static const uint64_t counts[] = {65, 2, UINT64_MAX};

	for (unsigned i = 0; i < 3; i++) {
		struct reader *reader;
		struct maker maker;

		maker_init(&maker, maker_path(), true);
		maker_session(&maker, 187500000);
		buffer_put_varint(&maker.buffer, counts[i]);
		for (unsigned j = 0; j < (i ? 1 : 65); j++)
			maker_adapter(&maker, "libuv", META_FATE_LOADED, "");
		maker_block(&maker, BLOCK_ADAPTERS, 0);
		maker_end(&maker, 0);
		maker_fini(&maker);
		reader = open_trace();
		CHECK_EQ(reader_summary(reader)->faults, 1);
		CHECK(!reader_adapter_at(reader, 0));
		reader_free(reader);
	}
}

static void records_that_no_block_holds_become_a_loss(void)
{
	struct encoder *one;
	struct reader *reader;
	struct maker maker;

	maker_init(&maker, maker_path(), true);
	maker_session(&maker, 1000000000);
	one = maker_stream(&maker, 1, false, 0);
	maker_put(one, RESUME(10, 1));
	maker_flush(&maker);
	maker.skip = true;
	maker_put(one, SUSPEND(20, 1));
	maker_put(one, RESUME(21, 2));
	maker_put(one, SUSPEND(22, 2));
	maker_flush(&maker);
	maker.skip = false;
	maker_put(one, RESUME(30, 4));
	maker_flush(&maker);
	maker.skip = true;
	maker_put(one, SUSPEND(40, 4));
	maker_flush(&maker);
	maker_end(&maker, 0);
	maker_fini(&maker);

	reader = open_trace();
	CHECK_STR_EQ(read_all(reader), "1:10 2 1\n1:30 15 3\n1:30 2 4\n1:30 15 1\n");
	CHECK_STR_EQ(told, "thread 1: 3 records are missing before this block;"
			   "thread 1: 1 records are missing at its end;");
	CHECK_EQ(reader_summary(reader)->faults, 2);
	reader_free(reader);
}

static void a_stream_that_was_joined_late_has_lost_nothing(void)
{
	struct reader *reader;
	struct maker maker;

	maker_init(&maker, maker_path(), true);
	maker_stream(&maker, 1, false, 1000);
	maker_stream(&maker, 2, false, 5000);
	maker_put(maker.encoders[0], RESUME(10, 1));
	maker_flush(&maker);
	maker_end(&maker, 0);
	maker_fini(&maker);

	reader = open_trace();
	CHECK_STR_EQ(read_all(reader), "1:10 2 1\n");
	CHECK_STR_EQ(told, "");
	reader_free(reader);
}

static void make_long_trace(void)
{
	struct maker maker;

	maker_init(&maker, maker_path(), true);
	maker_session(&maker, 1000000000);
	for (uint32_t thread = 1; thread <= 3; thread++)
		maker_stream(&maker, thread, false, 0);
	for (uint64_t t = 0; t < 3000; t++) {
		maker_put(maker.encoders[t % 3], t / 3 % 2 ? SUSPEND(t, 5) : RESUME(t, 5));
		if (t % 100 == 99)
			maker_must(encoder_flush(maker.encoders[t / 100 % 3]));
	}
	maker_flush(&maker);
	maker_end(&maker, 0);
	maker_fini(&maker);
}

/* The times from `from` on, one a ns, up to `to`. */
static void check_range(struct reader *reader, uint64_t from, uint64_t to)
{
	struct unweave_event event;
	uint64_t t = from;

	while (reader_next(reader, &event, NULL) == 0) {
		CHECK_EQ(event.time, t);
		CHECK_EQ(event.thread, t % 3 + 1);
		t++;
	}
	CHECK_EQ(t, to);
}

static void seeks_to_any_window_and_back(void)
{
	struct reader *reader;

	make_long_trace();
	reader = open_trace();
	check_range(reader, 0, 3000);
	for (uint64_t from = 0; from < 3000; from += 131) {
		CHECK_EQ(reader_seek(reader, from, from + 500, NULL), 0);
		check_range(reader, from, from + 500 < 3000 ? from + 500 : 3000);
	}
	CHECK_EQ(reader_seek(reader, 0, 1, NULL), 0);
	check_range(reader, 0, 1);
	CHECK_EQ(reader_seek(reader, 2999, UINT64_MAX, NULL), 0);
	check_range(reader, 2999, 3000);
	CHECK_EQ(reader_seek(reader, 3000, UINT64_MAX, NULL), 0);
	check_range(reader, 3000, 3000);
	CHECK_EQ(reader_seek(reader, 500, 500, NULL), 0);
	check_range(reader, 500, 500);
	CHECK_EQ(reader_seek(reader, 0, UINT64_MAX, NULL), 0);
	check_range(reader, 0, 3000);
	CHECK_STR_EQ(told, "");
	reader_free(reader);
}

static void write_file(const void *bytes, size_t length)
{
	FILE *file = fopen(maker_path(), "wb");

	CHECK(file && fwrite(bytes, 1, length, file) == length);
	if (file)
		fclose(file);
}

static char *read_file(size_t *ret)
{
	FILE *file = fopen(maker_path(), "rb");
	char *bytes = calloc(1, 1 << 20);

	*ret = file ? fread(bytes, 1, 1 << 20, file) : 0;
	if (file)
		fclose(file);
	return bytes;
}

static void skips_blocks_of_a_kind_it_does_not_know(void)
{
	struct reader *reader;
	struct maker maker;

	maker_init(&maker, maker_path(), true);
	buffer_put_varint(&maker.buffer, 12345);
	maker_block(&maker, 77, 0);
	maker_stream(&maker, 1, false, 0);
	maker_put(maker.encoders[0], RESUME(10, 1));
	maker_flush(&maker);
	buffer_put(&maker.buffer, "what is this", 12);
	maker_block(&maker, 255, 0);
	maker_end(&maker, 0);
	maker_fini(&maker);

	reader = open_trace();
	CHECK_STR_EQ(read_all(reader), "1:10 2 1\n");
	CHECK_STR_EQ(told, "");
	CHECK_EQ(reader_summary(reader)->blocks, 4);
	reader_free(reader);
}

/* Changes a byte of the header of the block at `offset`, and makes its hash right again. */
static void patch_header(char *file, size_t offset, size_t at, uint8_t value)
{
	uint32_t hash;

	file[offset + at] = (char)value;
	hash = (uint32_t)hash_xxh64(file + offset, 60, 0);
	memcpy(file + offset + 60, &hash, 4);
}

static void a_block_whose_header_lies_is_told(void)
{
	static const struct {
		size_t at;
		uint8_t value;
		const char *events, *told;
	} lies[] = {
		{5, 9, "1:11 15 2\n",
		 "the block is compressed in a way that this build does not know;"},
		{14, 5, "1:11 15 2\n", "the block claims to be larger than a block can be;"},
		{12, 1, "1:11 15 2\n", "the block's two sizes contradict each other;"},
		{16, 12, "1:12 2 1\n1:13 3 1\n",
		 "the block ends before it begins;"
		 "the block does not end at the time that its header says;"},
		{24, 12, "1:10 2 1\n1:11 3 1\n",
		 "the block does not end at the time that its header says;"},
		{40, 7, "1:10 2 1\n1:11 3 1\n",
		 "the block holds 2 records, its header says 7;"
		 "thread 1: the END block counts 2 records, but there are 7;"},
		{32, 3, "1:10 2 1\n1:11 3 1\n",
		 "thread 1: the END block counts 2 records, but there are 5;"},
		{48, 2, "2:10 2 1\n2:11 3 1\n", "thread 2 is not in the END block;"},
	};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct reader *reader;
		struct maker maker;
		size_t length;
		char *file;

		maker_init(&maker, maker_path(), false);
		maker_stream(&maker, 1, false, 0);
		maker_put(maker.encoders[0], RESUME(10, 1));
		maker_put(maker.encoders[0], SUSPEND(11, 1));
		maker_flush(&maker);
		maker_end(&maker, 0);
		maker_fini(&maker);
		file = read_file(&length);
		patch_header(file, FORMAT_FILE_HEADER_BYTES, lies[i].at, lies[i].value);
		write_file(file, length);
		free(file);

		reader = open_trace();
		CHECK_STR_EQ(read_all(reader), lies[i].events);
		CHECK_STR_EQ(told, lies[i].told);
		reader_free(reader);
	}
}

static int open_fails(const char *path, const char *sentence)
{
	struct reader *reader = NULL;
	struct diag diag = {0};
	int r = reader_open(&reader, path, NULL, NULL, &diag);

	CHECK_STR_EQ(diag.text, sentence);
	CHECK(!reader);
	reader_free(reader);
	return r;
}

static void says_what_is_wrong_with_a_file_that_is_no_trace(void)
{
	static const char newer[32] = FORMAT_MAGIC "\3\0\0\0\x10\0\0";
	char text_mode[32] = "\x89UNW\n\x1a\n";

	write_file("", 0);
	CHECK_EQ(open_fails(maker_path(), "the file is empty"), -EBADMSG);
	write_file("int main(void) { return 0; }\n", 29);
	CHECK_EQ(open_fails(maker_path(), "not a trace file"), -EBADMSG);
	write_file("#!", 2);
	CHECK_EQ(open_fails(maker_path(), "not a trace file"), -EBADMSG);
	write_file(newer, 16);
	CHECK_EQ(open_fails(maker_path(), "written in format 3, this build reads up to 1"),
		 -EPROTONOSUPPORT);
	write_file(newer, 13);
	CHECK_EQ(open_fails(maker_path(), "the file ends within its header"), -EBADMSG);
	write_file(text_mode, 32);
	CHECK_EQ(open_fails(maker_path(), "the trace was changed by a copy in text mode"),
		 -EBADMSG);
	CHECK_EQ(open_fails("/", "is a directory"), -EISDIR);
	CHECK_EQ(open_fails("/nonexistent", "No such file or directory"), -ENOENT);
	CHECK_EQ(open_fails("/dev/null", "is not a regular file"), -EBADMSG);
}

static void a_header_alone_is_an_empty_trace_that_was_not_closed(void)
{
	struct reader *reader;
	struct maker maker;

	maker_init(&maker, maker_path(), false);
	maker_fini(&maker);
	reader = open_trace();
	CHECK_STR_EQ(read_all(reader), "");
	CHECK_STR_EQ(told, "");
	CHECK(!reader_summary(reader)->closed && !reader_summary(reader)->session_known);
	CHECK_EQ(reader_summary(reader)->blocks, 0);
	reader_free(reader);
}

/* Its clocks count from when the machine was started, its session from 1970. */
static void without_events_the_date_is_that_of_the_session(void)
{
	struct meta_clock clock = {
		.ticks = 50, .raw = 50, .realtime = UINT64_C(1600000000000000000)};
	struct reader *reader;
	struct maker maker;

	maker_init(&maker, maker_path(), false);
	maker_session(&maker, 1000000000);
	meta_clock_encode(&maker.buffer, &clock);
	maker_block(&maker, BLOCK_CLOCK, 50);
	maker_fini(&maker);
	reader = open_trace();
	CHECK_EQ(reader_summary(reader)->realtime, 1700000000000000000);
	CHECK_EQ(reader_summary(reader)->faults, 0);
	CHECK_EQ(reader_faults(reader_summary(reader)), 1);
	reader_free(reader);
}

static void a_file_that_gets_shorter_while_it_is_read_is_a_fault(void)
{
	struct unweave_event event;
	struct reader *reader;
	unsigned events = 0;

	make_long_trace();
	reader = open_trace();
	CHECK_EQ(truncate(maker_path(), 2000), 0);
	while (reader_next(reader, &event, NULL) == 0)
		events++;
	CHECK(events > 0 && events < 3000);
	CHECK(strstr(told, "the file changed while it was read"));
	reader_free(reader);
}

int main(void)
{
	RUN(merges_the_streams_by_time_then_thread_then_aside);
	RUN(times_are_ns_by_the_clock_blocks);
	RUN(knows_session_threads_and_sites_by_the_last_word_on_each);
	RUN(puts_together_what_is_said_of_adapters);
	RUN(adapters_that_make_no_sense_are_a_fault);
	RUN(records_that_no_block_holds_become_a_loss);
	RUN(a_stream_that_was_joined_late_has_lost_nothing);
	RUN(seeks_to_any_window_and_back);
	RUN(skips_blocks_of_a_kind_it_does_not_know);
	RUN(a_block_whose_header_lies_is_told);
	RUN(says_what_is_wrong_with_a_file_that_is_no_trace);
	RUN(a_header_alone_is_an_empty_trace_that_was_not_closed);
	RUN(without_events_the_date_is_that_of_the_session);
	RUN(a_file_that_gets_shorter_while_it_is_read_is_a_fault);
	unlink(maker_path());
	return check_done();
}

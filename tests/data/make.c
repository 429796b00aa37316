/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Made the traces in v1/ and bad/, once: a later unweave must read what this
 * one wrote. They are never made again; new ones are added under new names.
 *
 * usage: make_data DIRECTORY
 */
#include <err.h>
#include <sys/stat.h>

#include "make.h"
#include "trace/samples.h"
#include "util/hash.h"

#define RAW UINT64_C(1000000000000)

static const char *directory;

static const char *path_of(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (access(path, F_OK) == 0)
		errx(1, "%s is there, and stays as it is", path);
	return path;
}

static void begin(struct maker *maker, const char *name, bool compressed)
{
	maker_init(maker, path_of(name), compressed);
	maker_session(maker, TICKS_PER_S);
	maker_clock(maker, START, RAW);
	maker_thread(maker, 1, "main");
	maker_thread(maker, 2, "worker");
	maker_site(maker, 1, "accept", "serve", "server.c", 42);
	maker_site(maker, 2, "", "handle_request", "request.c", 117);
}

static void end(struct maker *maker, uint64_t outside)
{
	maker_flush(maker);
	maker_clock(maker, START + TICKS_PER_S, RAW + UINT64_C(1000000100));
	maker_end(maker, outside);
	maker_fini(maker);
}

static struct unweave_event event(uint16_t kind, uint64_t ticks, uint64_t task)
{
	return (struct unweave_event){.kind = kind, .time = START + ticks, .task = task};
}

static const struct unweave_frame *chain(struct maker *maker, unsigned frames)
{
	const struct unweave_frame *top = NULL;

	for (unsigned i = 0; i < frames; i++)
		top = stacks_push(maker->stacks, top, 0x401000 + 0x140 * i, i == 2 ? 3 : 0,
				  UNWEAVE_FRAME_CODE);
	return top;
}

/* A server in small: every kind of event, two threads and a signal handler. */
static void put_server(struct maker *maker)
{
	struct encoder *one = maker_stream(maker, 1, false, 0);
	struct encoder *two = maker_stream(maker, 2, false, 0);
	struct encoder *aside = maker_stream(maker, 1, true, 0);
	const struct unweave_frame *deep = stacks_push(
		maker->stacks,
		stacks_push(maker->stacks, chain(maker, 1), 12, 0, UNWEAVE_FRAME_OMITTED),
		0x7f0000402000, -1, UNWEAVE_FRAME_CODE);
	struct unweave_event e;

	maker_put(one, event(UNWEAVE_EVENT_RESET, 0, 0));
	e = event(UNWEAVE_EVENT_CREATE, 100, 16);
	e.value = 1;
	e.stack = chain(maker, 2);
	maker_put(one, e);
	e = event(UNWEAVE_EVENT_RESUME, 200, 16);
	e.stack = chain(maker, 2);
	maker_put(one, e);
	e = event(UNWEAVE_EVENT_CREATE, 300, 18);
	e.other = 16;
	e.value = 2;
	maker_put(one, e);
	e = event(UNWEAVE_EVENT_NAME, 310, 18);
	e.text = "GET /index.html";
	maker_put(one, e);
	e = event(UNWEAVE_EVENT_WAKE, 320, 18);
	e.other = 16;
	maker_put(one, e);
	e = event(UNWEAVE_EVENT_SUSPEND, 400, 16);
	e.stack = chain(maker, 4);
	maker_put(one, e);
	maker_put(one, event(UNWEAVE_EVENT_RESUME, 400, 18));
	maker_put(one, event(UNWEAVE_EVENT_FRAME_RESUME, 410, 18));
	e = event(UNWEAVE_EVENT_UNWIND, 420, 18);
	e.value = 2 << 1 | 1;
	maker_put(one, e);
	maker_put(one, event(UNWEAVE_EVENT_FRAME_COMPLETE, 430, 18));
	maker_put(one, event(UNWEAVE_EVENT_ANCHOR_RESET, 440, 18));
	e = event(UNWEAVE_EVENT_COMPLETE, 500, 18);
	e.value = UNWEAVE_ERROR;
	maker_put(one, e);
	maker_put(one, event(UNWEAVE_EVENT_IDLE, 510, 0));

	e = event(UNWEAVE_EVENT_RESET, 150, 0);
	e.value = UNWEAVE_RESET_CONFIG;
	maker_put(two, e);
	maker_put(two, event(UNWEAVE_EVENT_REPLAY, 150, 7));
	e = event(UNWEAVE_EVENT_APPEND, 350, 7);
	e.stack = deep;
	maker_put(two, e);
	e = event(UNWEAVE_EVENT_SUSPEND, 400, 7);
	e.stack = deep;
	e.flags = UNWEAVE_EVENT_TIME_UNKNOWN;
	maker_put(two, e);
	e = event(UNWEAVE_EVENT_LOST, 187500000, 0);
	e.value = 1000;
	e.other = UNWEAVE_LOSS_FULL;
	maker_put(two, e);

	e = event(UNWEAVE_EVENT_WAKE, 405, 16);
	e.value = UNWEAVE_SOURCE_TIMER;
	maker_put(aside, e);
}

/* Long runs of one thread, in blocks that are worth compressing. */
static void put_loop(struct maker *maker)
{
	struct encoder *one = maker_stream(maker, 1, false, 0);
	uint64_t state = 1, task = 1;
	struct unweave_event e;

	maker_put(one, event(UNWEAVE_EVENT_RESUME, 0, task));
	for (unsigned i = 1; i < 2000; i++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		e = event(UNWEAVE_EVENT_SUSPEND, 200 * i, task);
		e.stack = chain(maker, 1 + (state >> 40) % 8);
		maker_put(one, e);
		task = 1 + (state >> 33) % 32;
		maker_put(one, event(UNWEAVE_EVENT_RESUME, 200 * i, task));
		if (i % 500 == 0)
			maker_flush(maker);
	}
}

/* Tasks that move among siblings: 40 roots, and 40 frames on each of two others. */
static void put_siblings(struct maker *maker)
{
	struct encoder *one = maker_stream(maker, 1, false, 0);
	const struct unweave_frame *told[25] = {NULL};
	uint64_t state = 1, task = 1;
	struct unweave_event e;

	maker_put(one, event(UNWEAVE_EVENT_RESUME, 0, task));
	for (unsigned i = 1; i < 1000; i++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		told[task] =
			stacks_push(maker->stacks, chain(maker, (unsigned)(task % 3)),
				    0x402000 + 0x20 * ((state >> 40) % 40), 0, UNWEAVE_FRAME_CODE);
		e = event(UNWEAVE_EVENT_SUSPEND, 200 * i, task);
		e.stack = told[task];
		maker_put(one, e);
		task = 1 + (state >> 33) % 24;
		e = event(UNWEAVE_EVENT_RESUME, 200 * i + (i % 7 == 0), task);
		e.stack = told[task];
		maker_put(one, e);
		if (i == 500)
			maker_flush(maker);
	}
}

/* Tasks that await each other, and all ways to be called something. */
static void put_awaits(struct maker *maker)
{
	struct encoder *one = maker_stream(maker, 1, false, 0);
	const struct unweave_frame *some =
		stacks_push(maker->stacks, NULL, 0, 0, UNWEAVE_FRAME_OMITTED);
	struct unweave_event e;

	maker_site_kind(maker, 3, "timer", "sweep", "start_sweeper", "server.c", 71);
	maker_site_kind(maker, 4, "job", "", "flush_log", "log.c", 8);
	maker_site_kind(maker, 5, "", "", "", "", 0);
	e = event(UNWEAVE_EVENT_RESET, 0, 0);
	e.value = UNWEAVE_RESET_CONFIG;
	maker_put(one, e);
	e = event(UNWEAVE_EVENT_TASK, 10, 21);
	e.value = 4;
	e.stack = stacks_push(maker->stacks, some, 0x401500, 2, UNWEAVE_FRAME_CODE);
	maker_put(one, e);
	e = event(UNWEAVE_EVENT_TASK, 10, 23);
	e.other = 21;
	maker_put(one, e);
	e = event(UNWEAVE_EVENT_CREATE, 20, 25);
	e.other = 21;
	e.value = 3;
	e.stack = chain(maker, 1);
	maker_put(one, e);
	e = event(UNWEAVE_EVENT_CREATE, 30, 27);
	e.value = 2;
	maker_put(one, e);
	e = event(UNWEAVE_EVENT_CREATE, 40, 29);
	e.value = 5;
	maker_put(one, e);
	e = event(UNWEAVE_EVENT_CREATE, 50, 31);
	e.value = 6; /* of which nothing is known */
	maker_put(one, e);
	e = event(UNWEAVE_EVENT_APPEND, 60, 25);
	e.other = 27;
	e.stack = chain(maker, 3);
	maker_put(one, e);
	e = event(UNWEAVE_EVENT_APPEND, 65, 25);
	e.stack = chain(maker, 4);
	maker_put(one, e);
	e = event(UNWEAVE_EVENT_AWAIT, 70, 25);
	e.other = 29;
	e.stack = chain(maker, 2);
	maker_put(one, e);
	e = event(UNWEAVE_EVENT_AWAIT, 75, 25);
	e.stack = stacks_push(
		maker->stacks,
		stacks_push(maker->stacks, chain(maker, 1), 0, 0, UNWEAVE_FRAME_OMITTED), 0x401640,
		0, UNWEAVE_FRAME_CODE);
	maker_put(one, e);
	maker_put(one, event(UNWEAVE_EVENT_RESUME, 80, 27));
	e = event(UNWEAVE_EVENT_NAME, 85, 27);
	e.text = "GET /late";
	maker_put(one, e);
	maker_put(one, event(UNWEAVE_EVENT_COMPLETE, 90, 25));
	e = event(UNWEAVE_EVENT_APPEND, 95, 25);
	e.other = 27;
	e.stack = chain(maker, 3);
	e.flags = UNWEAVE_EVENT_LATE;
	maker_put(one, e);
	e = event(UNWEAVE_EVENT_COMPLETE, 99, 27);
	e.value = UNWEAVE_CANCELLED;
	maker_put(one, e);
}

/*
 * A server with all that a report is about: requests that create queries, a
 * handler that keeps its thread, a task that nobody wakes, samples with names.
 */

#define ANCHORS UINT64_C(0x700000)
#define SERVE UINT64_C(0x401010)
#define HANDLE UINT64_C(0x402010)
#define LOAD UINT64_C(0x403010)
#define RENDER UINT64_C(0x404010)
#define HASH UINT64_C(0x405010)
#define DISPATCH UINT64_C(0x406010)
#define POLL UINT64_C(0x407010)
#define QUERY UINT64_C(0x408010)

static void put_name(struct maker *maker, uint64_t address, const char *function, uint64_t line,
		     const char *inlined)
{
	struct meta_symbol_frame frames[2] = {
		{.function = maker_text(inlined ? inlined : ""),
		 .file = maker_text("hash.h"),
		 .line = 31},
		{.function = maker_text(function), .file = maker_text("server.c"), .line = line},
	};

	buffer_put_varint(&maker->buffer, 1);
	meta_symbol_encode(&maker->buffer, address, address & ~UINT64_C(0xfff),
			   inlined ? frames : frames + 1, inlined ? 2 : 1);
	maker_block(maker, BLOCK_SYMBOLS, START);
}

static void put_names(struct maker *maker)
{
	struct meta_sampler sampler = {.driver = SAMPLER_PERF, .hz = 1000};
	struct meta_module module = {
		.start = 0x400000, .end = 0x800000, .path = maker_text("/usr/bin/server")};

	buffer_put_varint(&maker->buffer, ANCHORS);
	buffer_put_varint(&maker->buffer, 1);
	meta_module_encode(&maker->buffer, &module);
	maker_block(maker, BLOCK_MODULES, START);
	meta_sampler_encode(&maker->buffer, &sampler);
	maker_block(maker, BLOCK_SAMPLER, START);
	put_name(maker, SERVE, "serve", 42, NULL);
	put_name(maker, HANDLE, "handle_request", 117, NULL);
	put_name(maker, LOAD, "load_user", 203, NULL);
	put_name(maker, RENDER, "render_page(const struct user *)", 250, NULL);
	put_name(maker, HASH, "hash", 12, "mix");
	put_name(maker, DISPATCH, "dispatch", 300, NULL);
	put_name(maker, POLL, "epoll_wait", 30, NULL);
	put_name(maker, QUERY, "run_query", 400, NULL);
}

static const struct unweave_frame *request_chain(struct maker *maker, uint64_t leaf)
{
	const struct unweave_frame *top = NULL;

	top = stacks_push(maker->stacks, top, SERVE, 0, UNWEAVE_FRAME_CODE);
	if (leaf == QUERY)
		return stacks_push(maker->stacks, NULL, QUERY, 0, UNWEAVE_FRAME_CODE);
	if (leaf == SERVE)
		return top;
	top = stacks_push(maker->stacks, top, HANDLE, 0, UNWEAVE_FRAME_CODE);
	if (leaf == HANDLE)
		return top;
	return stacks_push(maker->stacks, top, leaf, 0, UNWEAVE_FRAME_CODE);
}

static void put_request_event(struct maker *maker, struct encoder *to, uint16_t kind,
			      uint64_t ticks, uint64_t task, uint64_t other, uint64_t value,
			      uint64_t leaf)
{
	struct unweave_event e = event(kind, ticks, task);

	e.other = other;
	e.value = value;
	if (leaf)
		e.stack = request_chain(maker, leaf);
	maker_put(to, e);
}

/* One request on a thread, and the query that it makes; as long as `work` ms of rendering. */
static void put_request(struct maker *maker, struct encoder *to, uint64_t at, uint64_t task,
			uint64_t work, const char *name, uint64_t status)
{
	struct unweave_event e = event(UNWEAVE_EVENT_NAME, at, task);

	e.text = name;
	put_request_event(maker, to, UNWEAVE_EVENT_CREATE, at, task, 16, 2, HANDLE);
	maker_put(to, e);
	at += MS;
	put_request_event(maker, to, UNWEAVE_EVENT_RESUME, at, task, 0, 0, HANDLE);
	put_request_event(maker, to, UNWEAVE_EVENT_CREATE, at, task + 2, task, 3, QUERY);
	put_request_event(maker, to, UNWEAVE_EVENT_SUSPEND, at += MS, task, 0, 0, LOAD);
	put_request_event(maker, to, UNWEAVE_EVENT_RESUME, at, task + 2, 0, 0, QUERY);
	put_request_event(maker, to, UNWEAVE_EVENT_WAKE, at += 2 * MS, task, task + 2, 0, 0);
	put_request_event(maker, to, UNWEAVE_EVENT_COMPLETE, at += MS, task + 2, 0, 0, 0);
	put_request_event(maker, to, UNWEAVE_EVENT_RESUME, at, task, 0, 0, LOAD);
	put_request_event(maker, to, UNWEAVE_EVENT_COMPLETE, at += work * MS, task, 0, status, 0);
	put_request_event(maker, to, UNWEAVE_EVENT_IDLE, at, 0, 0, 0, 0);
}

static int write_block(void *data, const struct block *block, const uint8_t *payload)
{
	return writer_put(((struct maker *)data)->writer, block, payload, NULL);
}

/* A thread in `hash`, called by the function that runs; without a task, in a poll. */
static void put_sample(struct samples_writer *writer, uint64_t ticks, uint32_t tid, uint64_t task,
		       uint64_t running, bool anchored)
{
	uint64_t native[] = {HASH, running, ANCHORS + 16, DISPATCH};
	uint64_t poll[] = {POLL, DISPATCH}, chain[] = {running, HANDLE, SERVE};
	struct samples_segment segment = {.task = task, .chain = {.addresses = chain, .count = 3}};
	struct samples_input input = {
		.ticks = START + ticks,
		.weight = 1000000,
		.tid = tid,
		.thread_name = tid == 4250 ? "logger" : "worker",
		.flags = anchored ? 0 : SAMPLE_CUT,
		.native = {.addresses = native, .count = anchored ? 4 : 2},
		.segments = &segment,
		.segment_count = 1,
	};

	if (!task) {
		input.native = (struct samples_stack){.addresses = poll, .count = 2};
		input.segment_count = 0;
	}
	maker_must(samples_writer_put(writer, &input));
}

static void put_samples(struct maker *maker)
{
	struct samples_writer *writer = NULL;

	maker_must(samples_writer_new(&writer, write_block, maker));
	for (unsigned i = 0; i < 6; i++)
		put_sample(writer, (106 + i) * MS, 4243, 36, RENDER, true);
	for (unsigned i = 0; i < 120; i++)
		put_sample(writer, (206 + i) * MS, 4243, 40, i % 8 ? RENDER : LOAD, i != 5);
	for (unsigned i = 0; i < 10; i++)
		put_sample(writer, (400 + 20 * i) * MS, i % 2 ? 4250 : 4243, 0, 0, true);
	maker_must(samples_writer_flush(writer));
	samples_writer_free(writer);
}

static void put_requests(struct maker *maker)
{
	struct encoder *one = maker_stream(maker, 1, false, 0);
	struct encoder *two = maker_stream(maker, 2, false, 0);

	maker_site_kind(maker, 3, "db", "", "run_query", "query.c", 400);
	put_names(maker);
	put_request_event(maker, one, UNWEAVE_EVENT_RESET, 0, 0, 0, 0, 0);
	put_request_event(maker, one, UNWEAVE_EVENT_CREATE, 0, 16, 0, 1, SERVE);
	put_request_event(maker, one, UNWEAVE_EVENT_RESUME, MS, 16, 0, 0, SERVE);
	put_request_event(maker, one, UNWEAVE_EVENT_SUSPEND, 2 * MS, 16, 0, 0, SERVE);
	put_request_event(maker, one, UNWEAVE_EVENT_IDLE, 2 * MS, 0, 0, 0, 0);
	put_request_event(maker, two, UNWEAVE_EVENT_RESET, MS, 0, 0, 0, 0);
	put_request(maker, two, 100 * MS, 36, 10, "GET /user", UNWEAVE_OK);
	put_request(maker, two, 200 * MS, 40, 125, "GET /page", UNWEAVE_OK);
	put_request(maker, two, 400 * MS, 44, 1, "GET /user", UNWEAVE_ERROR);
	put_request(maker, two, 500 * MS, 48, 2, "GET /user", UNWEAVE_OK);
	/* Nobody wakes this one. */
	put_request_event(maker, two, UNWEAVE_EVENT_CREATE, 510 * MS, 52, 16, 2, HANDLE);
	put_request_event(maker, two, UNWEAVE_EVENT_RESUME, 511 * MS, 52, 0, 0, HANDLE);
	put_request_event(maker, two, UNWEAVE_EVENT_SUSPEND, 512 * MS, 52, 0, 0, LOAD);
	put_request_event(maker, two, UNWEAVE_EVENT_IDLE, 2000 * MS, 0, 0, 0, 0);
	put_samples(maker);
}

static void make_good(void)
{
	struct maker maker;

	maker_init(&maker, path_of("v1/header-only.unw"), false);
	maker_fini(&maker);
	begin(&maker, "v1/no-events.unw", false);
	end(&maker, 0);
	begin(&maker, "v1/server.unw", false);
	put_server(&maker);
	end(&maker, 3);
	begin(&maker, "v1/loop.unw", true);
	put_loop(&maker);
	end(&maker, 0);
	begin(&maker, "v1/siblings.unw", false);
	put_siblings(&maker);
	end(&maker, 0);
	begin(&maker, "v1/awaits.unw", false);
	put_awaits(&maker);
	end(&maker, 0);
	/* A kind of block, and of event, that came later. */
	begin(&maker, "v1/unknown.unw", false);
	buffer_put_text(&maker.buffer, "from the future", 15);
	maker_block(&maker, 200, 0);
	put_server(&maker);
	maker_put(maker.encoders[0], event(99, 600, 16));
	maker_put(maker.encoders[0], event(UNWEAVE_EVENT_IDLE, 700, 0));
	end(&maker, 0);

	begin(&maker, "v1/requests.unw", true);
	put_requests(&maker);
	end(&maker, 0);
	begin(&maker, "v1/callbacks.unw", true);
	put_callbacks(&maker);
	end(&maker, 0);
	begin(&maker, "v1/behind.unw", true);
	put_behind(&maker);
	end(&maker, 0);
	/* As at detail `samples`. */
	begin(&maker, "v1/sampled.unw", false);
	put_names(&maker);
	put_samples(&maker);
	end(&maker, 0);
}

static uint8_t *load(const char *name, size_t *ret)
{
	static uint8_t bytes[1 << 16];
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "rb");
	if (!file)
		err(1, "%s", path);
	*ret = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	return bytes;
}

static void save(const char *name, const void *bytes, size_t length)
{
	FILE *file = fopen(path_of(name), "wb");

	if (!file || fwrite(bytes, 1, length, file) != length || fclose(file) != 0)
		err(1, "%s", name);
}

/* Where the n-th block of the kind begins. */
static size_t find(const uint8_t *bytes, size_t length, uint8_t kind, unsigned n)
{
	for (size_t at = 16; at < length;
	     at += 64 + ((bytes[at + 8] | bytes[at + 9] << 8) + 7) / 8 * 8)
		if (bytes[at + 4] == kind && n-- == 0)
			return at;
	errx(1, "no such block");
}

/* Makes both hashes of the block at `at` right again. */
static void seal(uint8_t *bytes, size_t at)
{
	uint32_t stored = bytes[at + 8] | (uint32_t)bytes[at + 9] << 8;
	uint32_t hash = (uint32_t)hash_xxh64(bytes + at + 64, stored, 0);

	memcpy(bytes + at + 52, &hash, 4);
	hash = (uint32_t)hash_xxh64(bytes + at, 60, 0);
	memcpy(bytes + at + 60, &hash, 4);
}

static void make_bad(void)
{
	uint8_t *bytes;
	size_t length, at;

	save("bad/empty.unw", "", 0);
	save("bad/script.unw", "#!/bin/sh\necho 'this is no trace'\n", 34);
	save("bad/short.unw", FORMAT_MAGIC "\1\0", 10);
	bytes = load("v1/server.unw", &length);
	bytes[8] = 2;
	save("bad/newer.unw", bytes, length);
	bytes[8] = 1;
	save("bad/torn.unw", bytes, length - 100);
	save("bad/not-closed.unw", bytes, find(bytes, length, BLOCK_END, 0));
	memmove(bytes + 4, bytes + 5, length - 5);
	save("bad/text-mode.unw", bytes, length - 1);

	bytes = load("v1/loop.unw", &length);
	at = find(bytes, length, BLOCK_EVENTS, 1);
	bytes[at + 64 + 20] ^= 16;
	save("bad/payload-bit.unw", bytes, length);
	bytes[at + 64 + 20] ^= 16;
	bytes[at + 33] ^= 1;
	save("bad/header-bit.unw", bytes, length);
	bytes[at + 33] ^= 1;
	bytes[at + 5] = 9;
	seal(bytes, at);
	save("bad/codec.unw", bytes, length);
	bytes[at + 5] = BLOCK_ZSTD;
	bytes[at + 14] = 0xff;
	seal(bytes, at);
	save("bad/huge.unw", bytes, length);

	/* The same bytes as an EVENTS block, but with an event of a task that nothing named. */
	bytes = load("v1/server.unw", &length);
	at = find(bytes, length, BLOCK_EVENTS, 0);
	bytes[at + 64 + 12] = CODE_RESUME;
	bytes[at + 64 + 13] = 0x7f;
	seal(bytes, at);
	save("bad/event.unw", bytes, length);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: make_data DIRECTORY");
	directory = argv[1];
	make_good();
	make_bad();
	return 0;
}

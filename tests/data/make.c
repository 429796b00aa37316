/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Made the traces in v1/ and bad/, once: a later unweave must read what this
 * one wrote. They are never made again; new ones are added under new names.
 *
 * usage: make_data DIRECTORY
 */
#include <err.h>
#include <sys/stat.h>

#include "maker.h"
#include "util/hash.h"

#define TICKS_PER_S 187500000u
#define START UINT64_C(187500000000) /* 1000 s after boot */
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

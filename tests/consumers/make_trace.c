/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a trace whose answers are known, with all that an export might trip
 * over: names with every character that means something somewhere, runs inside
 * of runs, stretches of no length, inlined functions, frames that are left out,
 * a thread without events, tasks that never end, a loss.
 *
 * usage: make_trace FILE
 *
 * Each of 100 requests, 1 ms apart, is created by the acceptor on the main
 * thread and runs on the worker: queued 150 us, runs 200 us, pending 200 us,
 * queued 100 us, runs 100 us with a child inside of it. A sample of 1 ms falls
 * into its first run; every fourth time one falls on a thread without tasks.
 */
#include <err.h>

#include "maker.h"
#include "trace/samples.h"

#define TICKS_PER_US UINT64_C(125)
#define TICKS_PER_S (TICKS_PER_US * 1000000)
#define START (TICKS_PER_S * 1000)
#define RAW UINT64_C(1000000000000)
#define REQUESTS 100u

#define SERVE 0x401010u
#define HANDLE 0x402010u
#define HASH 0x403010u
#define CAFE 0x404010u
#define NAMELESS 0x405010u
#define MAIN 0x406010u
#define ANCHORS 0x4f0000u

enum { MAIN_TID = 4242, WORKER_TID, OTHER_TID };
enum { ACCEPTOR = 16 };

static struct maker maker;
static struct samples_writer *samples;

static uint64_t at(uint64_t us)
{
	return START + us * TICKS_PER_US;
}

static struct unweave_event event(uint16_t kind, uint64_t us, uint64_t task)
{
	return (struct unweave_event){.kind = kind, .time = at(us), .task = task};
}

static void put(struct encoder *to, uint16_t kind, uint64_t us, uint64_t task)
{
	maker_put(to, event(kind, us, task));
}

static void create(struct encoder *to, uint64_t us, uint64_t task, uint64_t parent, uint64_t site)
{
	struct unweave_event e = event(UNWEAVE_EVENT_CREATE, us, task);

	e.other = parent;
	e.value = site;
	maker_put(to, e);
}

static void wake(struct encoder *to, uint64_t us, uint64_t task, uint64_t waker, uint64_t source)
{
	struct unweave_event e = event(UNWEAVE_EVENT_WAKE, us, task);

	e.other = waker;
	e.value = source;
	maker_put(to, e);
}

static void suspend(struct encoder *to, uint64_t us, uint64_t task, bool handles)
{
	struct unweave_event e = event(UNWEAVE_EVENT_SUSPEND, us, task);
	const struct unweave_frame *chain =
		stacks_push(maker.stacks, NULL, SERVE, 0, UNWEAVE_FRAME_CODE);

	if (handles) {
		chain = stacks_push(maker.stacks, chain, 5, 0, UNWEAVE_FRAME_OMITTED);
		chain = stacks_push(maker.stacks, chain, HANDLE, 2, UNWEAVE_FRAME_CODE);
	}
	e.stack = chain;
	maker_put(to, e);
}

static void sample(uint64_t us, uint32_t tid, uint64_t task)
{
	static const uint64_t native[] = {HASH, HANDLE, ANCHORS + 8, MAIN};
	static const uint64_t other[] = {CAFE, NAMELESS};
	static const uint64_t chain[] = {HANDLE, SERVE};
	struct samples_segment segment = {.task = task, .chain = {.addresses = chain, .count = 2}};
	struct samples_input input = {
		.ticks = at(us),
		.weight = 1000000,
		.tid = tid,
		.thread_name = tid == OTHER_TID ? "li\"brary;\xff" : "worker",
		.native = {.addresses = task ? native : other, .count = task ? 4 : 2},
		.segments = &segment,
		.segment_count = task != 0,
	};

	maker_must(samples_writer_put(samples, &input));
}

static void name(struct encoder *to, uint64_t us, uint64_t task, const char *text)
{
	struct unweave_event e = event(UNWEAVE_EVENT_NAME, us, task);

	e.text = text;
	maker_put(to, e);
}

static void request(struct encoder *main_thread, struct encoder *worker, unsigned number)
{
	uint64_t us = number * 1000, task = 1024 + number * 4, child = task + 2;

	put(main_thread, UNWEAVE_EVENT_RESUME, us, ACCEPTOR);
	create(main_thread, us + 50, task, ACCEPTOR, 2);
	if (number % 10 == 0)
		name(main_thread, us + 50, task, "GET \"/a;b\"\n\t\\\xff \xc3\xa9");
	wake(main_thread, us + 50, task, ACCEPTOR, UNWEAVE_SOURCE_TASK);
	suspend(main_thread, us + 100, ACCEPTOR, false);
	put(main_thread, UNWEAVE_EVENT_IDLE, us + 100, 0);
	wake(main_thread, us + 600, task, 0, UNWEAVE_SOURCE_TIMER);
	wake(main_thread, us + 990, ACCEPTOR, 0, UNWEAVE_SOURCE_IO);

	put(worker, UNWEAVE_EVENT_RESUME, us + 200, task);
	sample(us + 250, WORKER_TID, task);
	if (number % 4 == 0)
		sample(us + 260, OTHER_TID, 0);
	suspend(worker, us + 400, task, true);
	put(worker, UNWEAVE_EVENT_RESUME, us + 700, task);
	create(worker, us + 700, child, task, 1);
	/* At the same instant as the run around it, and of no length every other time. */
	put(worker, UNWEAVE_EVENT_RESUME, us + 700, child);
	put(worker, UNWEAVE_EVENT_COMPLETE, us + 700 + number % 2 * 20, child);
	put(worker, UNWEAVE_EVENT_COMPLETE, us + 800, task);
}

static void put_events(void)
{
	struct encoder *main_thread = maker_stream(&maker, 1, false, 0);
	struct encoder *worker = maker_stream(&maker, 2, false, 0);
	struct unweave_event lost = event(UNWEAVE_EVENT_LOST, REQUESTS * 1000, 0);

	put(main_thread, UNWEAVE_EVENT_RESET, 0, 0);
	put(worker, UNWEAVE_EVENT_RESET, 0, 0);
	create(main_thread, 0, ACCEPTOR, 0, 1);
	for (unsigned i = 0; i < REQUESTS; i++)
		request(main_thread, worker, i);
	put(main_thread, UNWEAVE_EVENT_RESUME, REQUESTS * 1000, ACCEPTOR);
	lost.value = 7;
	maker_put(worker, lost);
}

static void put_sampler(void)
{
	struct meta_sampler sampler = {.driver = SAMPLER_TIMER, .hz = 1000};

	meta_sampler_encode(&maker.buffer, &sampler);
	maker_block(&maker, BLOCK_SAMPLER, at(0));
}

static void put_modules(void)
{
	static const char id[20] = "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd";
	struct meta_module modules[] = {
		{.start = 0x400000,
		 .end = 0x500000,
		 .path = maker_text("/usr/bin/server"),
		 .build_id = {.bytes = id, .length = sizeof(id)}},
		{.start = 0x7f0000000000,
		 .end = 0x7f0000001000,
		 .offset = 0x1000,
		 .path = maker_text("/lib/no \"id\";.so")},
	};

	buffer_put_varint(&maker.buffer, ANCHORS);
	buffer_put_varint(&maker.buffer, 2);
	meta_module_encode(&maker.buffer, &modules[0]);
	meta_module_encode(&maker.buffer, &modules[1]);
	maker_block(&maker, BLOCK_MODULES, at(0));
}

static void put_symbol(uint64_t address, const char *function, const char *file, uint64_t line)
{
	struct meta_symbol_frame frames[2] = {
		{maker_text("mix"), maker_text("mix.h"), 5},
		{maker_text(function), maker_text(file), line},
	};
	uint32_t inlined = address == HASH;

	buffer_put_varint(&maker.buffer, 1);
	meta_symbol_encode(&maker.buffer, address, address & ~UINT64_C(0xfff),
			   inlined ? frames : frames + 1, 1 + inlined);
	maker_block(&maker, BLOCK_SYMBOLS, at(0));
}

static void put_symbols(void)
{
	put_symbol(SERVE, "serve", "server.c", 10);
	put_symbol(HANDLE, "handle<';', \"\\\", 10 20>(int)\n", "dir;x/handle.cc", 117);
	put_symbol(HASH, "hash", "hash.c", 20);
	put_symbol(CAFE, "caf\xe9", "", 0);
	put_symbol(MAIN, "main", "main.c", 3);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: make_trace FILE");
	maker_init(&maker, argv[1], false);
	maker_must(samples_writer_new(&samples, maker_sink, &maker));
	maker_session(&maker, TICKS_PER_S);
	maker_clock(&maker, START, RAW);
	maker_thread(&maker, 1, "main");
	maker_thread(&maker, 2, "worker");
	maker_site(&maker, 1, "accept", "serve", "server.c", 42);
	maker_site(&maker, 2, "", "handle_request", "request.c", 117);
	put_sampler();
	put_modules();
	put_symbols();
	put_events();
	maker_must(samples_writer_flush(samples));
	maker_flush(&maker);
	maker_clock(&maker, at(1000000), RAW + 1000000000);
	maker_end(&maker, 0);
	samples_writer_free(samples);
	maker_fini(&maker);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace whose answers are known, with all that an export might trip
 * over: names with every character that means something somewhere, runs inside
 * of runs, stretches of no length, inlined functions, frames that are left out,
 * a thread without events, tasks that never end, a loss.
 *
 * Each of the requests, 1 ms apart, is created by the acceptor on the main
 * thread and runs on the worker: queued 150 us, runs 200 us, pending 200 us,
 * queued 100 us, runs 100 us with a child inside of it. A sample of 1 ms falls
 * into its first run; every fourth time one falls on a thread without tasks.
 */
#ifndef TESTS_KNOWN_H
#define TESTS_KNOWN_H

#include "maker.h"
#include "trace/samples.h"

#define KNOWN_TICKS_PER_US UINT64_C(125)
#define KNOWN_TICKS_PER_S (KNOWN_TICKS_PER_US * 1000000)
#define KNOWN_START (KNOWN_TICKS_PER_S * 1000)
#define KNOWN_RAW UINT64_C(1000000000000)

#define KNOWN_SERVE 0x401010u
#define KNOWN_HANDLE 0x402010u
#define KNOWN_HASH 0x403010u
#define KNOWN_CAFE 0x404010u
#define KNOWN_NAMELESS 0x405010u
#define KNOWN_MAIN 0x406010u
#define KNOWN_CAFE_TOO 0x7f0000000010u /* of the same name, in a library */
#define KNOWN_ANCHORS 0x4f0000u

enum { KNOWN_MAIN_TID = 4242, KNOWN_WORKER_TID, KNOWN_OTHER_TID };
enum { KNOWN_ACCEPTOR = 16 };

static struct maker known_maker;
static struct samples_writer *known_samples;

static uint64_t known_at(uint64_t us)
{
	return KNOWN_START + us * KNOWN_TICKS_PER_US;
}

static struct unweave_event known_event(uint16_t kind, uint64_t us, uint64_t task)
{
	return (struct unweave_event){.kind = kind, .time = known_at(us), .task = task};
}

static void known_put(struct encoder *to, uint16_t kind, uint64_t us, uint64_t task)
{
	maker_put(to, known_event(kind, us, task));
}

static void known_create(struct encoder *to, uint64_t us, uint64_t task, uint64_t parent,
			 uint64_t site)
{
	struct unweave_event e = known_event(UNWEAVE_EVENT_CREATE, us, task);

	e.other = parent;
	e.value = site;
	maker_put(to, e);
}

static void known_wake(struct encoder *to, uint64_t us, uint64_t task, uint64_t waker,
		       uint64_t source)
{
	struct unweave_event e = known_event(UNWEAVE_EVENT_WAKE, us, task);

	e.other = waker;
	e.value = source;
	maker_put(to, e);
}

static void known_suspend(struct encoder *to, uint64_t us, uint64_t task, bool handles)
{
	struct unweave_event e = known_event(UNWEAVE_EVENT_SUSPEND, us, task);
	const struct unweave_frame *chain =
		stacks_push(known_maker.stacks, NULL, KNOWN_SERVE, 0, UNWEAVE_FRAME_CODE);

	if (handles) {
		chain = stacks_push(known_maker.stacks, chain, 5, 0, UNWEAVE_FRAME_OMITTED);
		chain = stacks_push(known_maker.stacks, chain, KNOWN_HANDLE, 2, UNWEAVE_FRAME_CODE);
	}
	e.stack = chain;
	maker_put(to, e);
}

static void known_sample(uint64_t us, uint32_t tid, uint64_t task)
{
	static const uint64_t native[] = {KNOWN_HASH, KNOWN_HANDLE, KNOWN_ANCHORS + 8, KNOWN_MAIN};
	static const uint64_t other[] = {KNOWN_CAFE, KNOWN_NAMELESS};
	static const uint64_t library[] = {KNOWN_CAFE_TOO, KNOWN_NAMELESS};
	static const uint64_t chain[] = {KNOWN_HANDLE, KNOWN_SERVE};
	struct samples_segment segment = {.task = task, .chain = {.addresses = chain, .count = 2}};
	struct samples_input input = {
		.ticks = known_at(us),
		.weight = 1000000,
		.tid = tid,
		.thread_name = tid == KNOWN_OTHER_TID ? "li\"brary;\xff" : "worker",
		.native = {.addresses = task ? native : other, .count = task ? 4 : 2},
		.segments = &segment,
		.segment_count = task != 0,
	};

	if (!task && us % 8000 < 1000)
		input.native.addresses = library;
	maker_must(samples_writer_put(known_samples, &input));
}

static void known_name(struct encoder *to, uint64_t us, uint64_t task, const char *text)
{
	struct unweave_event e = known_event(UNWEAVE_EVENT_NAME, us, task);

	e.text = text;
	maker_put(to, e);
}

static void known_request(struct encoder *main_thread, struct encoder *worker, unsigned number)
{
	uint64_t us = number * 1000, task = 1024 + number * 4, child = task + 2;

	known_put(main_thread, UNWEAVE_EVENT_RESUME, us, KNOWN_ACCEPTOR);
	known_create(main_thread, us + 50, task, KNOWN_ACCEPTOR, 2);
	if (number % 10 == 0)
		known_name(main_thread, us + 50, task, "GET \"/a;b\"\n\t\\\xff \xc3\xa9");
	known_wake(main_thread, us + 50, task, KNOWN_ACCEPTOR, UNWEAVE_SOURCE_TASK);
	known_suspend(main_thread, us + 100, KNOWN_ACCEPTOR, false);
	known_put(main_thread, UNWEAVE_EVENT_IDLE, us + 100, 0);
	known_wake(main_thread, us + 600, task, 0, UNWEAVE_SOURCE_TIMER);
	known_wake(main_thread, us + 990, KNOWN_ACCEPTOR, 0, UNWEAVE_SOURCE_IO);

	known_put(worker, UNWEAVE_EVENT_RESUME, us + 200, task);
	known_sample(us + 250, KNOWN_WORKER_TID, task);
	if (number % 4 == 0)
		known_sample(us + 260, KNOWN_OTHER_TID, 0);
	known_suspend(worker, us + 400, task, true);
	known_put(worker, UNWEAVE_EVENT_RESUME, us + 700, task);
	known_create(worker, us + 700, child, task, 1);
	/* At the same instant as the run around it, and of no length every other time. */
	known_put(worker, UNWEAVE_EVENT_RESUME, us + 700, child);
	known_put(worker, UNWEAVE_EVENT_COMPLETE, us + 700 + number % 2 * 20, child);
	known_put(worker, UNWEAVE_EVENT_COMPLETE, us + 800, task);
}

static void known_put_events(unsigned requests)
{
	struct encoder *main_thread = maker_stream(&known_maker, 1, false, 0);
	struct encoder *worker = maker_stream(&known_maker, 2, false, 0);
	struct unweave_event lost = known_event(UNWEAVE_EVENT_LOST, requests * 1000, 0);

	known_put(main_thread, UNWEAVE_EVENT_RESET, 0, 0);
	known_put(worker, UNWEAVE_EVENT_RESET, 0, 0);
	known_create(main_thread, 0, KNOWN_ACCEPTOR, 0, 1);
	for (unsigned i = 0; i < requests; i++)
		known_request(main_thread, worker, i);
	known_put(main_thread, UNWEAVE_EVENT_RESUME, requests * 1000, KNOWN_ACCEPTOR);
	lost.value = 7;
	maker_put(worker, lost);
}

static void known_put_sampler(void)
{
	struct meta_sampler sampler = {.driver = SAMPLER_TIMER, .hz = 1000};

	meta_sampler_encode(&known_maker.buffer, &sampler);
	maker_block(&known_maker, BLOCK_SAMPLER, known_at(0));
}

static void known_put_modules(void)
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

	buffer_put_varint(&known_maker.buffer, KNOWN_ANCHORS);
	buffer_put_varint(&known_maker.buffer, 2);
	meta_module_encode(&known_maker.buffer, &modules[0]);
	meta_module_encode(&known_maker.buffer, &modules[1]);
	maker_block(&known_maker, BLOCK_MODULES, known_at(0));
}

static void known_put_symbol(uint64_t address, const char *function, const char *file,
			     uint64_t line)
{
	struct meta_symbol_frame frames[2] = {
		{maker_text("mix"), maker_text("mix.h"), 5},
		{maker_text(function), maker_text(file), line},
	};
	uint32_t inlined = address == KNOWN_HASH;

	buffer_put_varint(&known_maker.buffer, 1);
	meta_symbol_encode(&known_maker.buffer, address, address & ~UINT64_C(0xfff),
			   inlined ? frames : frames + 1, 1 + inlined);
	maker_block(&known_maker, BLOCK_SYMBOLS, known_at(0));
}

static void known_put_symbols(void)
{
	known_put_symbol(KNOWN_SERVE, "serve", "server.c", 10);
	known_put_symbol(KNOWN_HANDLE, "handle<';', \"\\\", 10 20>(int)\n", "dir;x/handle.cc", 117);
	known_put_symbol(KNOWN_HASH, "hash", "hash.c", 20);
	known_put_symbol(KNOWN_CAFE, "caf\xe9", "", 0);
	known_put_symbol(KNOWN_CAFE_TOO, "caf\xe9", "", 0);
	known_put_symbol(KNOWN_MAIN, "main", "main.c", 3);
}

static void known_make(const char *path, unsigned requests)
{
	maker_init(&known_maker, path, false);
	maker_must(samples_writer_new(&known_samples, maker_sink, &known_maker));
	maker_session(&known_maker, KNOWN_TICKS_PER_S);
	maker_clock(&known_maker, KNOWN_START, KNOWN_RAW);
	maker_thread(&known_maker, 1, "main");
	maker_thread(&known_maker, 2, "worker");
	maker_site(&known_maker, 1, "accept", "serve", "server.c", 42);
	maker_site(&known_maker, 2, "", "handle_request", "request.c", 117);
	known_put_sampler();
	known_put_modules();
	known_put_symbols();
	known_put_events(requests);
	maker_must(samples_writer_flush(known_samples));
	maker_flush(&known_maker);
	maker_clock(&known_maker, known_at(1000000), KNOWN_RAW + 1000000000);
	maker_end(&known_maker, 0);
	samples_writer_free(known_samples);
	maker_fini(&known_maker);
}

#endif /* TESTS_KNOWN_H */

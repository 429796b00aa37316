/* SPDX-License-Identifier: Apache-2.0 */
/* Traces with loops and callbacks, and what a model tells of loops. */
#ifndef TESTS_MODEL_LOOPS_H
#define TESTS_MODEL_LOOPS_H

#include "model_told.h"
#include "unweave/callback.h"

#define IDLE UNWEAVE_EVENT_IDLE
#define WOKE UNWEAVE_EVENT_WOKE
#define DUE UNWEAVE_EVENT_DUE

/* Sites, and their callbacks. */
enum { LOOP = 1, READ, READ_CALL, TIMER, WORK };
#define CODE(site) ((uint64_t)(site) << 12)

static inline void put_site(uint32_t id, const char *kind, uint32_t flags)
{
	maker_callbacks(&maker, &(struct meta_site){.id = id,
						    .kind = maker_text(kind),
						    .flags = flags,
						    .code = CODE(id),
						    .place = 0x111});
}

static inline void begin_trace(void)
{
	expected.count = 0;
	maker_init(&maker, maker_path(), false);
	maker_session(&maker, 1000000000);
	maker_thread(&maker, 1, "one");
	maker_thread(&maker, 2, "two");
	put_site(LOOP, "loop", UNWEAVE_SITE_LOOP | UNWEAVE_SITE_STANDING);
	put_site(READ, "read", UNWEAVE_SITE_STANDING);
	put_site(READ_CALL, "read", UNWEAVE_SITE_FIRED);
	put_site(TIMER, "timer", 0);
	put_site(WORK, "work", 0);
}

static inline void note_loop(struct told *to, uint64_t task, const char *threads,
			     uint64_t iterations, uint64_t idle, uint64_t busy, uint64_t runs,
			     uint64_t running)
{
	note(to,
	     "loop %" PRIu64 " on %s: %" PRIu64 " iterations, idle %" PRIu64 " busy %" PRIu64
	     " runs %" PRIu64 " for %" PRIu64,
	     task, threads, iterations, idle, busy, runs, running);
}

static inline void note_lag(struct told *to, uint64_t task, uint64_t count, uint64_t sum,
			    uint64_t most)
{
	note(to, "lag %" PRIu64 ": %" PRIu64 " tasks, %" PRIu64 " most %" PRIu64, task, count, sum,
	     most);
}

/* Of iterations that took equally long, the first counts. */
static inline void note_worst(struct told *to, uint64_t loop, uint64_t start, uint64_t ns,
			      uint64_t runs, uint64_t longest, uint64_t ready)
{
	note(to,
	     "worst %" PRIu64 " at %" PRIu64 " for %" PRIu64 " runs %" PRIu64 " longest %" PRIu64
	     " ready %" PRIu64,
	     loop, start, ns, runs, longest, ready);
}

static inline int on_loop(void *data, const struct model_loop *loop)
{
	uint64_t id = loop->task->id;
	char threads[64] = "";

	(void)data;
	for (uint32_t i = 0; i < loop->thread_count; i++)
		snprintf(threads + strlen(threads), sizeof(threads) - strlen(threads), "%s%u",
			 i ? "," : "", loop->threads[i]);
	note_loop(&told, id, threads, loop->iterations, loop->idle, loop->busy, loop->runs,
		  loop->running);
	note_lag(&told, id, loop->lag.count, loop->lag.sum, loop->lag.max);
	CHECK_EQ(loop->iteration.count, loop->iterations);
	CHECK_EQ(loop->iteration.sum, loop->busy);
	CHECK_EQ(loop->iteration.max, loop->worst.ns);
	CHECK_EQ(loop->worst.task != 0, loop->worst.runs != 0);
	note_worst(&told, id, loop->worst.start, loop->worst.ns, loop->worst.runs,
		   loop->worst.run_ns, loop->worst.ready);
	return 0;
}

static const struct model_sink everything = {
	.run = on_run, .wait = on_wait, .task = on_task, .loop = on_loop};

#endif /* TESTS_MODEL_LOOPS_H */

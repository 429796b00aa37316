/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scenario: what a program did, as its trace file tells it.
 *
 *     static void RuntimeAsync_EventSequenceOrder(void)
 *     {
 *             struct scenario scenario;
 *
 *             scenario_begin(UNWEAVE_KEYWORDS_FULL);
 *             …
 *             scenario_end(&scenario);
 *             CHECK(SEQUENCE(&scenario, task, KINDS_LIFE, UNWEAVE_EVENT_CREATE, …));
 *             CHECK(STACK_IS(scenario_nth(&scenario, task, UNWEAVE_EVENT_SUSPEND, 0), a, b));
 *             scenario_forget(&scenario);
 *     }
 *
 *     int main(void)
 *     {
 *             SCENARIO(RuntimeAsync_EventSequenceOrder);
 *             return check_done();
 *     }
 *
 * Tests are named after those of the .NET runtime that they stand for, so their
 * names are printed as they are. Where one fails, all events are printed.
 */
#ifndef SCENARIOS_SCENARIO_H
#define SCENARIOS_SCENARIO_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../unit/check.h"
#include "unweave.h"

/* An event and what it pointed to; `event.stack` and `event.text` are not to be used. */
struct scene {
	struct unweave_event event;
	const struct unweave_frame *frames; /* innermost first; in a row, not linked */
	uint32_t frame_count;
	const char *text; /* "" where there is none */
};

struct scene_thread {
	uint32_t thread;
	uint32_t tid;
	bool ended;
};

/* What the blocks of the file say of themselves, without its events. */
struct scene_blocks {
	uint64_t of_kind[16];   /* by enum block_kind */
	uint64_t event_numbers; /* records that the EVENTS blocks say they cover */
	uint64_t out_of_order;  /* blocks whose number is not that after the block before */
	uint64_t backwards;     /* blocks that end before they begin */
};

struct scenario {
	struct scene *scenes; /* in the order of the reader: by time, and each thread's as it was */
	size_t count;
	struct scene_thread *threads;
	size_t thread_count;
	struct scene_blocks blocks;
	uint64_t faults; /* of the file */
	size_t implied;  /* of the scenes: the first frames of runs, which no event stands for */
	uint64_t lost;
	uint64_t lost_outside; /* of no known thread */
	uint64_t keywords;     /* of the session, as the file last says */
	uint64_t pid;
	uint64_t ticks_per_s;
	bool closed;
};

/* Sets of event kinds, one bit each. */
#define KIND(name) (UINT32_C(1) << UNWEAVE_EVENT_##name)
#define KINDS_LIFE (KIND(CREATE) | KIND(RESUME) | KIND(SUSPEND) | KIND(COMPLETE))
#define KINDS_FRAME (KIND(FRAME_RESUME) | KIND(FRAME_COMPLETE) | KIND(UNWIND))
#define KINDS_ALL UINT32_MAX
/* There whatever the keywords are. */
#define KINDS_ALWAYS (KIND(RESET) | KIND(REPLAY) | KIND(ANCHOR_RESET) | KIND(LOST) | KIND(TASK))

/* Begins to record this program, to a file in a folder of its own; `keywords` 0: all. */
void scenario_begin(uint64_t keywords);
/* The same, with buffers of this size and a policy for when they are full. */
void scenario_begin_with(uint64_t keywords, enum unweave_policy policy, size_t buffer_bytes);
/* Ends the recording and reads the file, which is gone then. A file that cannot be read aborts. */
void scenario_end(struct scenario *ret);
/* Reads what is in the file so far, while it is still written. */
void scenario_peek(struct scenario *ret);
void scenario_fini(struct scenario *scenario);

/* For all that follow: task 0 means of any task. */
size_t scenario_count(const struct scenario *scenario, uint64_t task, enum unweave_event_kind kind);
/* The n-th of a kind, from 0; one that is all zero if there are fewer. */
const struct scene *scenario_nth(const struct scenario *scenario, uint64_t task,
				 enum unweave_event_kind kind, size_t n);
/* The place of an event among all; SIZE_MAX if it is not of this scenario. */
size_t scenario_place(const struct scenario *scenario, const struct scene *scene);
/* Which kinds there are at all, but for the census: a task that is just being made may be in it. */
uint32_t scenario_kinds(const struct scenario *scenario, uint64_t task);
/* Whether the events of these kinds are exactly so many, in this order. Says where they part. */
bool scenario_is_sequence(const struct scenario *scenario, uint64_t task, uint32_t kinds,
			  const enum unweave_event_kind *expected, size_t count);
/* Whether no kind but these, and those that are always there, was recorded. */
bool scenario_has_only(const struct scenario *scenario, uint32_t kinds);
/*
 * Whether the runs of each thread nest: what ends is always the innermost that was
 * resumed or replayed, and at the end nothing is left open. Says what is not so.
 */
bool scenario_nests(const struct scenario *scenario);
/* Whether the file is whole: closed, nothing lost, no fault. */
bool scenario_is_whole(const struct scenario *scenario);
const struct scene_thread *scenario_thread(const struct scenario *scenario, uint32_t thread);

/* Frames of the chain, those included that an omission stands for. */
uint64_t scene_depth(const struct scene *scene);
uint64_t scene_omitted(const struct scene *scene);
bool scene_stack_is(const struct scene *scene, const void *const *codes, size_t count);
bool scene_states_are(const struct scene *scene, const int32_t *states, size_t count);
bool scene_same_stack(const struct scene *left, const struct scene *right);

/*
 * What a reader finds who follows frame events only, from the last stack of the
 * task on: the frames that are left when it has completed, or at the end. A task
 * that is never resumed gives -1; so does a chain that loses more frames than it has.
 */
int64_t scenario_simulated_depth(const struct scenario *scenario, uint64_t task);

/* All events, as comments of TAP. */
void scenario_dump(const struct scenario *scenario);

#define SEQUENCE(scenario, task, kinds, ...)                                                       \
	scenario_is_sequence(scenario, task, kinds,                                                \
			     (const enum unweave_event_kind[]){__VA_ARGS__},                       \
			     sizeof((const enum unweave_event_kind[]){__VA_ARGS__}) /              \
				     sizeof(enum unweave_event_kind))
#define STACK_IS(scene, ...)                                                                       \
	scene_stack_is(scene, (const void *const[]){__VA_ARGS__},                                  \
		       sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *))
#define STATES_ARE(scene, ...)                                                                     \
	scene_states_are(scene, (const int32_t[]){__VA_ARGS__},                                    \
			 sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))
/* A function as a code address. */
#define CODE(function) ((const void *)(uintptr_t)(function))

/* The end of a test: shows the events if one of its checks failed. */
static inline void scenario_forget(struct scenario *scenario)
{
	if (check_failed)
		scenario_dump(scenario);
	scenario_fini(scenario);
}

static inline void scenario_run(void (*test)(void), const char *name)
{
	check_failed = 0;
	test();
	check_failed_tests += check_failed != 0;
	printf("%s %d - %s\n", check_failed ? "not ok" : "ok", ++check_tests, name);
	fflush(stdout);
}

#define SCENARIO(test) scenario_run(test, #test)

#endif /* SCENARIOS_SCENARIO_H */

/* SPDX-License-Identifier: Apache-2.0 */
#include "model/follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unweave.h"
#include "unweave/link.h"
#include "util/map.h"

#define NEST_MOST 65536u
#define DONE_MOST (UINT32_MAX / 4)
#define ENDED_SPARE 4096u /* callbacks that may stay in the table in any case after they ended */

/* A run: its chain as arrays, which stay for the next run of the same depth. */
struct run {
	uint64_t task;
	uint64_t *addresses;
	int32_t *states;
	uint8_t *kinds;
	uint32_t count; /* 0: unknown */
	uint32_t capacity;
	uint32_t done;    /* frames that are over, by events */
	uint32_t resets;  /* how often its anchors started over */
	uint32_t called;  /* of a coroutine: frames that began since, inside of the chain */
	bool returned;    /* the last of its frame events was an end */
	bool replayed;    /* it began earlier: its anchor may be any */
	uint64_t omitted; /* what `addresses[cut]` says in truth, if not 0 */
	uint32_t cut;
	uint64_t code; /* of a callback */
};

struct thread {
	struct run *nest; /* outermost first */
	uint32_t depth;
	uint32_t capacity;
	bool lost;
};

struct follow {
	struct splice_anchors anchors;
	uint64_t keywords;
	struct thread *threads; /* by number, from 1 */
	uint32_t thread_capacity;
	struct map by_tid;
	follow_code code; /* or NULL */
	void *code_data;
	struct map callbacks; /* tasks to their sites; 0: it has ended */
	uint32_t ended;
};

int follow_new(struct follow **ret, struct splice_anchors anchors, uint64_t keywords)
{
	struct follow *follow = calloc(1, sizeof(*follow));

	if (!follow)
		return -ENOMEM;
	follow->anchors = anchors;
	follow->keywords = keywords;
	if (map_init(&follow->by_tid, UINT32_MAX) < 0 ||
	    map_init(&follow->callbacks, UINT32_MAX) < 0) {
		map_fini(&follow->by_tid);
		free(follow);
		return -ENOMEM;
	}
	*ret = follow;
	return 0;
}

static void run_fini(struct run *run)
{
	free(run->addresses);
	free(run->states);
	free(run->kinds);
}

struct follow *follow_free(struct follow *follow)
{
	if (!follow)
		return NULL;
	for (uint32_t i = 0; i < follow->thread_capacity; i++) {
		for (uint32_t j = 0; j < follow->threads[i].capacity; j++)
			run_fini(&follow->threads[i].nest[j]);
		free(follow->threads[i].nest);
	}
	free(follow->threads);
	map_fini(&follow->by_tid);
	map_fini(&follow->callbacks);
	free(follow);
	return NULL;
}

void follow_set_code(struct follow *follow, follow_code code, void *data)
{
	follow->code = code;
	follow->code_data = data;
}

/* Makes an array larger, the new part zeroed; at least `wanted` elements. */
static int grow(void **array, uint32_t *capacity, uint32_t wanted, size_t size)
{
	uint32_t larger = *capacity ? *capacity : 8;
	uint8_t *memory;

	while (larger < wanted)
		larger *= 2;
	memory = reallocarray(*array, larger, size);
	if (!memory)
		return -ENOMEM;
	memset(memory + *capacity * size, 0, (larger - *capacity) * size);
	*array = memory;
	*capacity = larger;
	return 0;
}

static struct thread *thread_get(struct follow *follow, uint32_t number)
{
	if (number >= UINT32_MAX / 2)
		return NULL;
	if (number >= follow->thread_capacity &&
	    grow((void **)&follow->threads, &follow->thread_capacity, number + 1,
		 sizeof(*follow->threads)) < 0)
		return NULL;
	return &follow->threads[number];
}

int follow_thread(struct follow *follow, uint32_t thread, uint32_t tid)
{
	uint32_t *found = map_find(&follow->by_tid, tid);

	if (!found)
		return map_put(&follow->by_tid, tid, thread);
	*found = thread;
	return 0;
}

static const struct thread *thread_of(const struct follow *follow, uint32_t tid)
{
	uint32_t *found = map_find(&follow->by_tid, tid);

	return found && *found < follow->thread_capacity ? &follow->threads[*found] : NULL;
}

/* The arrays of a chain have one capacity, so they grow together. */
static int reserve_chain(struct run *run, uint32_t count)
{
	uint32_t capacity;

	if (count <= run->capacity)
		return 0;
	capacity = run->capacity;
	if (grow((void **)&run->addresses, &capacity, count, sizeof(*run->addresses)) < 0)
		return -ENOMEM;
	capacity = run->capacity;
	if (grow((void **)&run->states, &capacity, count, sizeof(*run->states)) < 0)
		return -ENOMEM;
	capacity = run->capacity;
	if (grow((void **)&run->kinds, &capacity, count, sizeof(*run->kinds)) < 0)
		return -ENOMEM;
	run->capacity = capacity;
	return 0;
}

/* Frames of an event are gone with the next: they are copied. */
static int set_chain(struct run *run, const struct unweave_frame *chain)
{
	uint32_t depth = chain ? chain->depth : 0, count = 0;
	int r = reserve_chain(run, depth);

	run->count = 0;
	run->omitted = 0;
	if (r < 0)
		return r;
	for (; chain && count < depth; chain = chain->awaiter, count++) {
		run->addresses[count] = chain->address;
		run->states[count] = chain->state;
		run->kinds[count] = (uint8_t)chain->kind;
	}
	run->count = count;
	return 0;
}

static int push(struct thread *thread, const struct unweave_event *event)
{
	struct run *run;

	if (thread->depth == thread->capacity) {
		if (thread->depth >= NEST_MOST)
			return 0;
		if (grow((void **)&thread->nest, &thread->capacity, thread->depth + 1,
			 sizeof(*thread->nest)) < 0)
			return -ENOMEM;
	}
	run = &thread->nest[thread->depth++];
	run->task = event->task;
	run->done = 0;
	run->called = 0;
	run->returned = false;
	run->resets = 0;
	run->replayed = event->kind == UNWEAVE_EVENT_REPLAY;
	return set_chain(run, event->stack);
}

static void pop(struct thread *thread, uint64_t task)
{
	if (thread->depth && thread->nest[thread->depth - 1].task == task)
		thread->depth--;
}

/* The run of a task on this thread; the innermost if there are several. NULL: none. */
static struct run *run_of(struct thread *thread, uint64_t task)
{
	for (uint32_t i = thread->depth; i-- > 0;)
		if (thread->nest[i].task == task)
			return &thread->nest[i];
	return NULL;
}

static void advance(struct thread *thread, uint64_t task, uint64_t frames)
{
	struct run *run = run_of(thread, task);
	uint64_t called;

	if (!run)
		return;
	called = frames < run->called ? frames : run->called;
	run->called -= (uint32_t)called;
	frames -= called;
	run->done += frames < DONE_MOST - run->done ? (uint32_t)frames : 0;
	run->returned = true;
}

/* Coroutines: anchors say nothing of how far the run has come. */
static bool is_routine(const struct run *run)
{
	return run->count && UNWEAVE_STATE_IS_LINE(run->states[0]);
}

/* A frame goes on: that after the one that ended, or, of coroutines, one that was called. */
static void go_on(struct thread *thread, uint64_t task)
{
	struct run *run = run_of(thread, task);

	if (!run)
		return;
	if (is_routine(run) && !run->returned && run->called < DONE_MOST)
		run->called++;
	run->returned = false;
}

static void restart_anchors(struct thread *thread, uint64_t task)
{
	struct run *run = run_of(thread, task);

	if (run && run->resets < DONE_MOST / UNWEAVE_ANCHORS)
		run->resets++;
}

/* A chain grows wherever its task runs, which need not be where somebody came to await it. */
static int append(struct follow *follow, const struct unweave_event *event)
{
	if (event->flags & UNWEAVE_EVENT_LATE)
		return 0;
	for (uint32_t i = 0; i < follow->thread_capacity; i++) {
		struct run *run = run_of(&follow->threads[i], event->task);

		if (run && set_chain(run, event->stack) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int note_callback(struct follow *follow, uint64_t task, uint64_t site)
{
	uint32_t *known;

	if (!follow->code || site > UINT32_MAX || !follow->code(follow->code_data, site))
		return 0;
	known = map_find(&follow->callbacks, task);
	if (!known)
		return map_put(&follow->callbacks, task, (uint32_t)site);
	follow->ended -= !*known;
	*known = (uint32_t)site;
	return 0;
}

/* The table without those that have ended. */
static int forget_ended(struct follow *follow)
{
	size_t count = (size_t)1 << (64 - follow->callbacks.shift);
	struct map left;
	int r = map_init(&left, UINT32_MAX);

	for (size_t i = 0; i < count && r == 0; i++) {
		const struct map_slot *slot = &follow->callbacks.slots[i];

		if (slot->epoch == follow->callbacks.epoch && slot->value)
			r = map_put(&left, slot->key, slot->value);
	}
	if (r < 0) {
		map_fini(&left);
		return r;
	}
	map_fini(&follow->callbacks);
	follow->callbacks = left;
	follow->ended = 0;
	return 0;
}

static int end_callback(struct follow *follow, uint64_t task)
{
	uint32_t *site = map_find(&follow->callbacks, task);

	if (!site || !*site)
		return 0;
	*site = 0;
	follow->ended++;
	return follow->ended > ENDED_SPARE + follow->callbacks.count / 2 ? forget_ended(follow) : 0;
}

int follow_event(struct follow *follow, const struct unweave_event *event)
{
	struct thread *thread = thread_get(follow, event->thread);
	int r = 0;

	if (!thread)
		return -ENOMEM;
	if (event->kind == UNWEAVE_EVENT_CREATE || event->kind == UNWEAVE_EVENT_TASK)
		return note_callback(follow, event->task, event->value);
	if (event->kind == UNWEAVE_EVENT_COMPLETE)
		r = end_callback(follow, event->task);
	if (r < 0)
		return r;
	if (event->kind == UNWEAVE_EVENT_APPEND)
		return append(follow, event);
	if (event->flags & UNWEAVE_EVENT_ASIDE)
		return 0;
	switch (event->kind) {
	case UNWEAVE_EVENT_RESUME:
	case UNWEAVE_EVENT_REPLAY:
		return push(thread, event);
	case UNWEAVE_EVENT_SUSPEND:
	case UNWEAVE_EVENT_COMPLETE:
		pop(thread, event->task);
		break;
	case UNWEAVE_EVENT_FRAME_RESUME:
		go_on(thread, event->task);
		break;
	case UNWEAVE_EVENT_FRAME_COMPLETE:
		advance(thread, event->task, 1);
		break;
	case UNWEAVE_EVENT_UNWIND:
		advance(thread, event->task, event->value >> 1);
		break;
	case UNWEAVE_EVENT_ANCHOR_RESET:
		restart_anchors(thread, event->task);
		break;
	case UNWEAVE_EVENT_LOST:
		thread->lost = true;
		thread->depth = 0;
		break;
	case UNWEAVE_EVENT_RESET:
		thread->lost = false;
		thread->depth = 0;
		break;
	}
	return 0;
}

static bool is_anchor(const struct follow *follow, uint64_t address)
{
	return address >= follow->anchors.start && address < follow->anchors.end;
}

/* Where the next anchor is, from `at` on; the count if there is none. */
static uint32_t next_anchor(const struct follow *follow, const struct samples_stack *native,
			    uint32_t at)
{
	while (at < native->count && !is_anchor(follow, native->addresses[at]))
		at++;
	return at;
}

/*
 * The number of the anchor at which each run goes on, innermost first. Returns
 * how many there are: with less than runs nobody can tell whose they are.
 */
static uint32_t read_slots(const struct follow *follow, const struct samples_stack *native,
			   const struct thread *thread, uint32_t runs, uint8_t *slots)
{
	uint32_t at = 0, count = 0;

	for (; count < runs; count++) {
		uint64_t task = thread->nest[thread->depth - 1 - count].task;
		uint32_t slot;

		at = next_anchor(follow, native, at);
		if (at >= native->count)
			break;
		slots[count] = (uint8_t)splice_slot(follow->anchors, native->addresses[at]);
		/* A state machine's run has more of them, down to anchor 0. */
		while ((slot = splice_slot(follow->anchors, native->addresses[at])) > 0 &&
		       task & UNWEAVE_MODEL_MACHINE &&
		       next_anchor(follow, native, at + 1) < native->count)
			at = next_anchor(follow, native, at + 1);
		at++;
	}
	return count;
}

/* Whether the events count every frame that is over. */
static bool counts_frames(const struct follow *follow, uint64_t task)
{
	const uint64_t wanted = UNWEAVE_KEYWORD_FRAME_COMPLETE | UNWEAVE_KEYWORD_UNWIND;
	uint64_t keywords =
		task & UNWEAVE_MODEL_MACHINE ? follow->keywords >> 32 : follow->keywords;

	return (keywords & wanted) == wanted;
}

/*
 * How many frames of the run are over. `slot` is its anchor's, or < 0. False if
 * nobody knows.
 */
static bool count_done(const struct follow *follow, const struct run *run, int slot, uint32_t *ret)
{
	uint32_t off;

	*ret = run->done;
	/* What was called since is in no event. */
	if (is_routine(run))
		return counts_frames(follow, run->task) && !run->replayed && !run->called;
	if (counts_frames(follow, run->task)) {
		if (slot < 0 || run->replayed)
			return true;
		/* The sample and an event may be so close that their clocks do not say. */
		off = ((uint32_t)slot - run->done) % UNWEAVE_ANCHORS;
		if (off == 1)
			++*ret;
		else if (off == UNWEAVE_ANCHORS - 1 && run->done)
			--*ret;
		return true;
	}
	/* Errors are in the number of the anchor already. */
	*ret = run->resets * UNWEAVE_ANCHORS + (uint32_t)(slot < 0 ? 0 : slot);
	return slot >= 0 && !run->replayed;
}

/* Those of an omission that are over are taken off it, until the next time. */
static void cut_omission(struct run *run, uint32_t at, uint32_t done)
{
	run->cut = at;
	run->omitted = run->addresses[at];
	if (run->addresses[at])
		run->addresses[at] -= done;
}

/* What is left of a chain, of which `done` frames are over; its last function at least. */
static void cut_chain(struct run *run, uint32_t done, struct samples_segment *ret)
{
	uint32_t at = 0;

	if (run->omitted)
		run->addresses[run->cut] = run->omitted;
	run->omitted = 0;
	while (done && at + 1 < run->count) {
		if (run->kinds[at] == UNWEAVE_FRAME_OMITTED) {
			/* Some of them may be left; nobody knows where one of no number ends. */
			if (!run->addresses[at] || run->addresses[at] > done) {
				cut_omission(run, at, done);
				break;
			}
			done -= (uint32_t)run->addresses[at];
		} else {
			done--;
		}
		at++;
	}
	ret->chain = (struct samples_stack){.addresses = run->addresses + at,
					    .states = run->states + at,
					    .kinds = run->kinds + at,
					    .count = run->count - at};
}

/* Whether it is a run of a callback, whose chain is known then, and its site. */
static bool set_callback(const struct follow *follow, struct run *run, struct samples_segment *ret)
{
	static const int32_t no_state;
	static const uint8_t kind = UNWEAVE_FRAME_CODE;
	const uint32_t *site = run->count ? NULL : map_find(&follow->callbacks, run->task);

	if (!site || !*site)
		return false;
	run->code = follow->code(follow->code_data, *site);
	ret->site = *site;
	ret->chain = (struct samples_stack){
		.addresses = &run->code, .states = &no_state, .kinds = &kind, .count = 1};
	return true;
}

uint32_t follow_segments(struct follow *follow, uint32_t tid, const struct samples_stack *native,
			 struct samples_segment *ret)
{
	const struct thread *thread = thread_of(follow, tid);
	uint32_t runs = thread ? thread->depth : 0, slots_read;
	uint8_t slots[SAMPLE_SEGMENTS_MAX];

	if (runs > SAMPLE_SEGMENTS_MAX)
		runs = SAMPLE_SEGMENTS_MAX;
	slots_read = runs ? read_slots(follow, native, thread, runs, slots) : 0;
	for (uint32_t i = 0; i < runs; i++) {
		struct run *run = &thread->nest[thread->depth - 1 - i];
		uint32_t done;

		ret[i] = (struct samples_segment){.task = run->task};
		if (!set_callback(follow, run, &ret[i]) && run->count &&
		    count_done(follow, run, slots_read == runs ? slots[i] : -1, &done))
			cut_chain(run, done, &ret[i]);
	}
	return runs;
}

uint32_t follow_expected(const struct follow *follow, uint32_t tid,
			 uint8_t slots[SAMPLE_SEGMENTS_MAX])
{
	const struct thread *thread = thread_of(follow, tid);
	uint32_t runs = thread ? thread->depth : 0;

	if (runs > SAMPLE_SEGMENTS_MAX)
		runs = SAMPLE_SEGMENTS_MAX;
	for (uint32_t i = 0; i < runs; i++) {
		const struct run *run = &thread->nest[thread->depth - 1 - i];
		/* Callbacks go through the first one. */
		bool known =
			(counts_frames(follow, run->task) && !run->replayed && !is_routine(run)) ||
			(!run->count && map_find(&follow->callbacks, run->task));

		slots[i] = (uint8_t)(known ? run->done % UNWEAVE_ANCHORS : UNWEAVE_ANCHORS);
	}
	return runs;
}

bool follow_lost(const struct follow *follow, uint32_t tid)
{
	const struct thread *thread = thread_of(follow, tid);

	return thread && thread->lost;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "routine_oracle.h"

#include <execinfo.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/collect.h"

#define STACK_MOST 512

struct oracle oracle;

static struct expected *expectations;
static size_t expected_count, expected_capacity;
static bool recording;
static uint32_t known; /* with sessions: how often it was known what runs */

uint64_t code_of(const struct co *co)
{
	return 0x10000 + 16 * (uint64_t)co->number;
}

struct task *new_task(struct co *root)
{
	for (uint32_t i = 0; i < TASKS_MOST; i++) {
		struct task *task = &oracle.tasks[i];

		if (task->depth)
			continue;
		*task = (struct task){.chain = {root}, .depth = 1};
		return task;
	}
	abort();
}

struct task *task_of(const struct co *co)
{
	for (uint32_t i = 0; i < TASKS_MOST; i++)
		for (uint32_t j = 0; j < oracle.tasks[i].depth; j++)
			if (oracle.tasks[i].chain[j] == co)
				return &oracle.tasks[i];
	return NULL;
}

uint32_t count_tasks(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < TASKS_MOST; i++)
		count += oracle.tasks[i].depth != 0;
	return count;
}

struct co *innermost(const struct task *task)
{
	return task->chain[task->depth - 1];
}

struct task *find_waiting(uint32_t least_depth, uint32_t start)
{
	for (uint32_t i = 0; i < TASKS_MOST; i++) {
		struct task *task = &oracle.tasks[(start + i) % TASKS_MOST];

		if (task->depth >= least_depth && task->depth && !task->running && task->id)
			return task;
	}
	return NULL;
}

struct place *here(void)
{
	return &oracle.places[oracle.place_count - 1];
}

void leave_place(struct place *place)
{
	place->last = place->task->id;
	place->task = NULL;
}

/* The place that counts: the innermost that runs a task. NULL: none does. */
static struct place *running_place(void)
{
	for (uint32_t i = oracle.place_count; i > 0; i--)
		if (oracle.places[i - 1].task)
			return &oracle.places[i - 1];
	return NULL;
}

uint64_t id_here(void)
{
	const struct place *place = running_place();
	const struct place *last = oracle.place_count ? here() : NULL;

	if (last && !last->task && last->last)
		return last->last;
	return place ? place->task->id : 0;
}

/* The chain as it is to be shown: innermost first. The line of what runs is not known. */
static uint32_t list_chain(const struct task *task, bool runs, uint64_t *addresses, int32_t *states)
{
	for (uint32_t i = 0; i < task->depth; i++) {
		uint32_t at = task->depth - 1 - i;

		addresses[i] = code_of(task->chain[at]);
		states[i] = UNWEAVE_STATE_LINE | (int32_t)(i || !runs ? task->lines[at] : 0);
	}
	return task->depth;
}

struct expected *expect(enum unweave_event_kind kind, uint64_t task)
{
	struct expected *expected;

	if (expected_count == expected_capacity) {
		expected_capacity = expected_capacity * 2 + 64;
		expectations = reallocarray(expectations, expected_capacity, sizeof(*expectations));
	}
	expected = &expectations[expected_count++];
	memset(expected, 0, sizeof(*expected));
	expected->kind = (uint16_t)kind;
	expected->task = task;
	return expected;
}

struct expected *expect_with_chain(enum unweave_event_kind kind, const struct task *task)
{
	struct expected *expected = expect(kind, task->id);

	expected->count = list_chain(task, false, expected->addresses, expected->states);
	return expected;
}

void expect_created(struct task *task, uint64_t parent)
{
	task->id = unweave_routine_task(&task->chain[0]->routine);
	expect_with_chain(UNWEAVE_EVENT_CREATE, task)->other = parent;
}

/* Whether what was found is the chain of something that runs here. */
static bool is_of_a_place(uint64_t task, const uint64_t *addresses, const int32_t *states,
			  uint32_t count)
{
	for (uint32_t i = oracle.place_count; i > 0; i--) {
		const struct place *place = &oracle.places[i - 1];
		uint64_t wanted[CHAIN_MOST];
		int32_t wanted_states[CHAIN_MOST];
		uint32_t skip = place->generator_count;

		if (place->task && place->task->id == task && count >= skip &&
		    list_chain(place->task, true, wanted, wanted_states) == count - skip &&
		    memcmp(addresses + skip, wanted, (count - skip) * sizeof(*wanted)) == 0 &&
		    memcmp(states + skip, wanted_states, (count - skip) * sizeof(*states)) == 0)
			return true;
	}
	return false;
}

/* With sessions that come and go: what is known is so. */
static void check_if_known(void)
{
	uint64_t task, addresses[2 * CHAIN_MOST];
	int32_t states[2 * CHAIN_MOST];
	uint32_t count = unweave_here(&task, addresses, states, 2 * CHAIN_MOST);

	if (recording && count)
		CHECK(is_of_a_place(task, addresses, states, count));
	known += recording && count;
}

void check_here(void)
{
	const struct place *place = running_place();
	uint64_t task, addresses[2 * CHAIN_MOST], wanted[2 * CHAIN_MOST];
	int32_t states[2 * CHAIN_MOST], wanted_states[2 * CHAIN_MOST];
	uint32_t count = 0, got;

	if (oracle.sessions)
		return check_if_known();
	for (uint32_t i = place ? place->generator_count : 0; i > 0; i--, count++) {
		wanted[count] = code_of(place->generators[i - 1]);
		wanted_states[count] = UNWEAVE_STATE_LINE;
	}
	if (place)
		count += list_chain(place->task, true, wanted + count, wanted_states + count);
	got = unweave_here(&task, addresses, states, 2 * CHAIN_MOST);
	CHECK_EQ(task, place ? place->task->id : 0);
	CHECK_EQ(got, count);
	for (uint32_t i = 0; i < count && i < got; i++) {
		CHECK_EQ(addresses[i], wanted[i]);
		CHECK_EQ(states[i], wanted_states[i]);
	}
}

void check_anchors(void)
{
	uint64_t start = (uintptr_t)unweave_anchors();
	uint32_t places = oracle.place_count, left = 0; /* anchors of the last place that was met */
	void *stack[STACK_MOST];
	int depth;

	if (oracle.sessions)
		return;
	depth = backtrace(stack, STACK_MOST);
	for (int i = 0; i < depth; i++) {
		uint64_t offset = (uintptr_t)stack[i] - start;

		if (offset >= UNWEAVE_ANCHORS * UNWEAVE_ANCHOR_BYTES)
			continue;
		while (places && !left)
			left = oracle.places[--places].anchors;
		CHECK_EQ(offset / UNWEAVE_ANCHOR_BYTES, (left - 1) % UNWEAVE_ANCHORS);
		left -= left != 0;
	}
	CHECK(depth == STACK_MOST || (!places && !left));
}

static void check_event(const struct seen *seen, const struct expected *expected)
{
	CHECK_EQ(seen->event.kind, expected->kind);
	CHECK_EQ(seen->event.task, expected->task);
	if (expected->kind != UNWEAVE_EVENT_CREATE)
		CHECK_EQ(seen->event.value, expected->value);
	CHECK_EQ(seen->event.other, expected->other);
	if (!expected->count)
		return;
	CHECK_EQ(seen->frame_count, expected->count);
	for (uint32_t i = 0; i < expected->count && i < seen->frame_count; i++) {
		CHECK_EQ(seen->frames[i].address, expected->addresses[i]);
		CHECK_EQ(seen->frames[i].state, expected->states[i]);
	}
}

static void check_events(void)
{
	size_t at = 0;

	for (size_t i = 0; i < collected.count; i++) {
		uint16_t kind = collected.seen[i].event.kind;

		if (kind == UNWEAVE_EVENT_RESET || kind == UNWEAVE_EVENT_FRAME_RESUME ||
		    kind == UNWEAVE_EVENT_FRAME_COMPLETE || kind == UNWEAVE_EVENT_UNWIND)
			continue;
		if (at < expected_count)
			check_event(&collected.seen[i], &expectations[at]);
		at++;
		if (check_failed)
			break;
	}
	CHECK(check_failed || at == expected_count);
}

void oracle_begin(bool sessions)
{
	memset(&oracle, 0, sizeof(oracle));
	oracle.sessions = sessions;
	expected_count = 0;
	known = 0;
	recording = !sessions;
	if (recording)
		collect_begin(0);
}

void oracle_end(void)
{
	if (recording)
		unweave_stop();
	if (!oracle.sessions)
		return check_events();
	CHECK(known > 0);
	printf("# known %" PRIu32 " times\n", known);
}

void oracle_change_session(uint32_t choice)
{
	static const uint64_t keywords[] = {0, UNWEAVE_KEYWORDS_TASKS,
					    UNWEAVE_KEYWORD_SUSPEND_STACK << 32,
					    UNWEAVE_KEYWORD_RESUME_STACK << 32};

	if (recording)
		unweave_stop();
	else
		collect_begin(keywords[choice % 4]);
	recording = !recording;
}

size_t oracle_count(enum unweave_event_kind kind)
{
	return collect_count(kind);
}

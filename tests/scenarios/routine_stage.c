/* SPDX-License-Identifier: Apache-2.0 */
#include "routine_stage.h"

#include <execinfo.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/collect.h"

#define CHAIN_MOST 64u
#define TASKS_MOST 256u
#define PLACES_MOST 64u

struct co {
	struct unweave_routine routine;
	uint32_t number;
	bool done;
	bool generator;
};

/* What the oracle says of a task. */
struct task {
	struct co *chain[CHAIN_MOST]; /* the root first */
	uint32_t lines[CHAIN_MOST];
	uint32_t depth;
	uint64_t id; /* 0: there is none yet, it runs in its caller's place */
	bool running;
};

/* A place on the stack: an anchor, and maybe others inside of it, that run one task at a time. */
struct place {
	struct task *task; /* NULL: it has left */
	uint64_t last;     /* the id of the one before */
	uint32_t anchors;
	struct co *generators[CHAIN_MOST];
	uint32_t generator_count;
};

struct expected {
	uint16_t kind;
	uint64_t task, other, value;
	uint64_t addresses[CHAIN_MOST];
	int32_t states[CHAIN_MOST];
	uint32_t count; /* 0: not compared */
};

static enum step (*next_step)(uint32_t depth);
static struct task tasks[TASKS_MOST];
static struct place places[PLACES_MOST];
static uint32_t place_count;
static struct expected *expectations;
static size_t expected_count, expected_capacity;
static uint32_t numbers, lines;
static bool sessions; /* that come and go */
static bool recording;
static uint32_t known; /* how often it was known then what runs */

static uint64_t code_of(const struct co *co)
{
	return 0x10000 + 16 * (uint64_t)co->number;
}

static int go(struct unweave_link *link, void *context);

static struct co *new_co(bool generator)
{
	struct co *co = calloc(1, sizeof(*co));

	co->number = numbers++;
	co->generator = generator;
	unweave_routine_init(&co->routine, go, (const void *)(uintptr_t)code_of(co),
			     generator ? UNWEAVE_ROUTINE_GENERATOR : 0);
	return co;
}

/* Whoever looks at a frame that is gone is to fall over it. */
static void free_co(struct co *co)
{
	memset(co, 0xdd, sizeof(*co));
	free(co);
}

static struct task *new_task(struct co *root)
{
	for (uint32_t i = 0; i < TASKS_MOST; i++) {
		struct task *task = &tasks[i];

		if (task->depth)
			continue;
		*task = (struct task){.chain = {root}, .depth = 1};
		return task;
	}
	abort();
}

static struct co *innermost(const struct task *task)
{
	return task->chain[task->depth - 1];
}

/* A task that waits, by chance; NULL if there is none. */
static struct task *some_waiting(uint32_t least_depth)
{
	uint32_t start = numbers % TASKS_MOST;

	for (uint32_t i = 0; i < TASKS_MOST; i++) {
		struct task *task = &tasks[(start + i) % TASKS_MOST];

		if (task->depth >= least_depth && task->depth && !task->running && task->id)
			return task;
	}
	return NULL;
}

static uint32_t count_tasks(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < TASKS_MOST; i++)
		count += tasks[i].depth != 0;
	return count;
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

static struct expected *expect(enum unweave_event_kind kind, uint64_t task)
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

static void expect_with_chain(enum unweave_event_kind kind, const struct task *task)
{
	struct expected *expected = expect(kind, task->id);

	expected->count = list_chain(task, false, expected->addresses, expected->states);
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

/* The place that counts: the innermost that runs a task. NULL: none does. */
static struct place *running_place(void)
{
	for (uint32_t i = place_count; i > 0; i--)
		if (places[i - 1].task)
			return &places[i - 1];
	return NULL;
}

/* Whether what was found is the chain of something that runs here. */
static bool is_of_a_place(uint64_t task, const uint64_t *addresses, const int32_t *states,
			  uint32_t count)
{
	for (uint32_t i = place_count; i > 0; i--) {
		const struct place *place = &places[i - 1];
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

static void check_here(void)
{
	const struct place *place = running_place();
	uint64_t task, addresses[2 * CHAIN_MOST], wanted[2 * CHAIN_MOST];
	int32_t states[2 * CHAIN_MOST], wanted_states[2 * CHAIN_MOST];
	uint32_t count = 0, got;

	if (sessions)
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

/* The numbers of the anchors on the stack: in each place they count from 0. */
static void check_anchors(void)
{
	uint64_t start = (uintptr_t)unweave_anchors();
	uint32_t at = place_count, left = at ? places[at - 1].anchors : 0;
	void *stack[512];
	int depth = sessions ? 0 : backtrace(stack, 512);

	if (sessions)
		return;

	for (int i = 0; i < depth; i++) {
		uint64_t offset = (uintptr_t)stack[i] - start;

		if (offset >= UNWEAVE_ANCHORS * UNWEAVE_ANCHOR_BYTES)
			continue;
		while (at && !left) {
			at--;
			left = at ? places[at - 1].anchors : 0;
		}
		CHECK_EQ(offset / UNWEAVE_ANCHOR_BYTES, (left - 1) % UNWEAVE_ANCHORS);
		left -= left != 0;
	}
	while (at && !left) {
		at--;
		left = at ? places[at - 1].anchors : 0;
	}
	CHECK(depth == 512 || !at);
}

static uint64_t id_here(void)
{
	const struct place *place = running_place();
	const struct place *last = place_count ? &places[place_count - 1] : NULL;

	if (last && !last->task && last->last)
		return last->last;
	return place ? place->task->id : 0;
}

/* A task, as the hooks made it just now: its id is theirs to choose. */
static void note_created(struct task *task, uint64_t parent)
{
	struct expected *expected;

	task->id = unweave_routine_task(&task->chain[0]->routine);
	expect_with_chain(UNWEAVE_EVENT_CREATE, task);
	expected = &expectations[expected_count - 1];
	expected->other = parent;
}

/* The hooks of a step ran between two of these: the order of what it expects is theirs. */
static void leave_place(struct place *place)
{
	place->last = place->task->id;
	place->task = NULL;
}

static struct place *here(void)
{
	return &places[place_count - 1];
}

static uint32_t new_line(void)
{
	return lines++ % 7; /* 0: not known */
}

static struct co *transfer;  /* where control goes next, instead of returning */
static struct co *came_back; /* the one that started a child which is done, and returned to it */

/* A wait that has resumed a child inside of it, and is on the stack. */
static struct start {
	struct start *outer;
	uint32_t child; /* its number */
	const struct place *place;
	uint32_t anchors;
} * innermost_start;

static struct task *task_of(const struct co *co)
{
	for (uint32_t i = 0; i < TASKS_MOST; i++)
		for (uint32_t j = 0; j < tasks[i].depth; j++)
			if (tasks[i].chain[j] == co)
				return &tasks[i];
	return NULL;
}

/* Resumes what is innermost of a task, in a place of its own. The hooks see it first. */
static void run_task(struct task *task)
{
	struct place *place = &places[place_count++];
	struct co *co = innermost(task);

	*place = (struct place){.task = task, .anchors = 1};
	task->running = true;
	if (task->id)
		expect_with_chain(UNWEAVE_EVENT_RESUME, task);
	CHECK_EQ(unweave_routine_run(&co->routine, NULL, 0), 7);
	/* Whoever is left there without a word would be a fault of the stage. */
	CHECK(!place->task);
	place_count--;
	check_here();
}

static void run_fresh(struct co *co)
{
	struct task *task = new_task(co);

	/* Who made it is known when it runs. */
	run_task(task);
}

static void wait_here(struct task *task, uint32_t line)
{
	task->lines[task->depth - 1] = line;
	expect_with_chain(UNWEAVE_EVENT_SUSPEND, task);
	task->running = false;
	leave_place(here());
	unweave_routine_suspend(&innermost(task)->routine, line);
	task->id = unweave_routine_task(&innermost(task)->routine);
	check_here();
}

/* Goes on in this place, which is empty. */
static void enter_place(struct task *task)
{
	expect_with_chain(UNWEAVE_EVENT_RESUME, task);
	task->running = true;
	here()->task = task;
}

static struct co *add_child(struct task *task, uint32_t line)
{
	struct co *child = new_co(false);
	struct co *parent = innermost(task);

	task->lines[task->depth - 1] = line;
	CHECK(unweave_routine_call(&parent->routine, &child->routine, line));
	task->lines[task->depth] = 0;
	task->chain[task->depth++] = child;
	return child;
}

/* Inside of its parent's wait, which is over if the child is done when it comes back. */
static bool start_child(struct task *task)
{
	struct co *parent = innermost(task);
	struct co *child = add_child(task, new_line());
	struct place *place = here();
	struct start start = {innermost_start, child->number, place, ++place->anchors};

	innermost_start = &start;
	CHECK_EQ(unweave_routine_run(&child->routine, NULL, 0), 7);
	place->anchors--;
	innermost_start = start.outer;
	if (came_back != parent)
		return false;
	came_back = NULL;
	check_here();
	unweave_routine_resumed(&parent->routine);
	task->lines[task->depth - 1] = 0;
	return true;
}

static void run_generator(void)
{
	struct place *place = here();
	struct co *generator = new_co(true);

	place->generators[place->generator_count++] = generator;
	place->anchors++;
	unweave_routine_run(&generator->routine, NULL, 0);
	place->anchors--;
	place->generator_count--;
	unweave_routine_drop(&generator->routine);
	free_co(generator);
	check_here();
}

/* In the place of its caller until it waits, on its own or in a child; then it is a task. */
static void run_eager(void)
{
	struct co *co = new_co(false);
	uint32_t line = new_line();
	uint64_t parent = id_here();
	struct task *task;

	check_here();
	if (co->number % 3 == 0) {
		unweave_routine_complete(&co->routine, UNWEAVE_OK);
		unweave_routine_drop(&co->routine);
		free_co(co);
		return;
	}
	task = new_task(co);
	if (co->number % 3 == 1) {
		add_child(task, new_line());
		unweave_routine_switch(&innermost(task)->routine);
		check_here();
	}
	task->lines[task->depth - 1] = line;
	unweave_routine_suspend(&innermost(task)->routine, line);
	note_created(task, parent);
	check_here();
}

static void await_task(struct task *task, struct task *other)
{
	uint32_t line = new_line();
	struct expected *expected;
	struct co *co = innermost(task);

	wait_here(task, line);
	unweave_routine_await(&co->routine, &other->chain[0]->routine);
	expect_with_chain(UNWEAVE_EVENT_AWAIT, task);
	expected = &expectations[expected_count - 1];
	expected->task = other->id;
	expected->other = task->id;
}

/* As destructors do: the innermost first. */
static void drop_until(struct task *task, uint32_t keep)
{
	while (task->depth > keep) {
		struct co *co = task->chain[--task->depth];

		unweave_routine_drop(&co->routine);
		free_co(co);
	}
}

/* All of it, or children whose parent waits on. */
static void drop_task(struct task *task)
{
	struct expected *expected;

	if (task->depth > 1 && numbers % 2)
		return drop_until(task, 1 + numbers / 2 % (task->depth - 1));
	expected = expect(UNWEAVE_EVENT_COMPLETE, task->id);
	expected->value = UNWEAVE_CANCELLED;
	drop_until(task, 0);
}

/* Its children are given up, before it goes on or just then. */
static void leave_children(struct task *task)
{
	struct co *given_up[CHAIN_MOST];
	uint32_t count = 0, keep = 1 + numbers % (task->depth - 1);

	while (task->depth > keep)
		given_up[count++] = task->chain[--task->depth];
	/* In the events the chain is as it was told; what goes on is what counts. */
	task->running = true;
	places[place_count] = (struct place){.task = task, .anchors = 1};
	place_count++;
	expect_with_chain(UNWEAVE_EVENT_RESUME, task);
	unweave_routine_run(&innermost(task)->routine, NULL, 0);
	place_count--;
	for (uint32_t i = 0; i < count; i++) {
		unweave_routine_drop(&given_up[i]->routine);
		free_co(given_up[i]);
	}
	check_here();
}

static void take_off(struct task *task)
{
	task->depth--;
}

/* Its awaiter goes on, or its task is over. */
static void end_here(struct task *task, enum step step)
{
	struct co *co = innermost(task), *awaiter;
	enum unweave_status status = step == STEP_FAIL ? UNWEAVE_ERROR : UNWEAVE_OK;
	struct place *place = here();

	if (task->depth == 1) {
		expect(UNWEAVE_EVENT_COMPLETE, task->id)->value = status;
		leave_place(place);
		task->depth = 0;
		unweave_routine_complete(&co->routine, status);
		unweave_routine_switch(NULL);
		unweave_routine_drop(&co->routine);
		free_co(co);
		check_here();
		return;
	}
	unweave_routine_complete(&co->routine, status);
	/* It still is what runs, until control leaves it. */
	check_here();
	take_off(task);
	awaiter = innermost(task);
	if (step == STEP_END_BACK && innermost_start && innermost_start->child == co->number &&
	    innermost_start->place == place && innermost_start->anchors == place->anchors) {
		came_back = awaiter;
	} else if (step == STEP_END_BY) {
		wait_here(task, task->lines[task->depth - 1]);
	} else if (step == STEP_END_IN) {
		place->anchors++;
		CHECK_EQ(unweave_routine_run(&awaiter->routine, NULL, 0), 7);
		place->anchors--;
	} else {
		unweave_routine_switch(&awaiter->routine);
		transfer = awaiter;
	}
	unweave_routine_drop(&co->routine);
	free_co(co);
}

static void switch_to(struct task *task, struct task *other)
{
	wait_here(task, new_line());
	enter_place(other);
	unweave_routine_switch(&innermost(other)->routine);
	transfer = innermost(other);
}

static void change_session(void)
{
	static const uint64_t keywords[] = {0, UNWEAVE_KEYWORDS_TASKS,
					    UNWEAVE_KEYWORD_SUSPEND_STACK << 32,
					    UNWEAVE_KEYWORD_RESUME_STACK << 32};

	if (recording)
		unweave_stop();
	else
		collect_begin(keywords[numbers % 4]);
	recording = !recording;
}

/* One step of what runs. Returns whether it goes on. */
static bool do_step(struct task *task, enum step step)
{
	struct task *other;
	bool deep = task->depth >= 8 || place_count >= 6 || here()->anchors >= 40;

	if (deep && step != STEP_FAIL && step < STEP_END)
		step = STEP_WAIT;
	switch (step) {
	case STEP_CALL:
		transfer = add_child(task, new_line());
		unweave_routine_switch(&transfer->routine);
		return false;
	case STEP_START:
		return start_child(task);
	case STEP_PUMP:
		wait_here(task, new_line());
		add_child(task, task->lines[task->depth - 1]);
		return false;
	case STEP_POST:
		wait_here(task, new_line());
		run_fresh(new_co(false));
		return false;
	case STEP_RETRY:
		wait_here(task, new_line());
		enter_place(task);
		unweave_routine_resumed(&innermost(task)->routine);
		return true;
	case STEP_SWITCH:
		other = some_waiting(1);
		if (!other)
			break;
		switch_to(task, other);
		return false;
	case STEP_SPAWN:
		run_fresh(new_co(false));
		return true;
	case STEP_RUN:
		other = some_waiting(1);
		if (other)
			run_task(other);
		return true;
	case STEP_NEXT:
		run_generator();
		return true;
	case STEP_EAGER:
		run_eager();
		return true;
	case STEP_AWAIT:
		other = some_waiting(1);
		if (!other)
			break;
		await_task(task, other);
		return false;
	case STEP_DROP:
		other = some_waiting(1);
		if (other)
			drop_task(other);
		return true;
	case STEP_LEAVE:
		other = some_waiting(2);
		if (other)
			leave_children(other);
		return true;
	case STEP_SESSION:
		if (sessions)
			change_session();
		return true;
	case STEP_END:
	case STEP_END_IN:
	case STEP_END_BY:
	case STEP_END_BACK:
	case STEP_FAIL:
		end_here(task, step);
		return false;
	default:
		break;
	}
	wait_here(task, new_line());
	return false;
}

/* The functions of all coroutines: from where one goes on to where control leaves it. */
static __attribute__((noinline)) void body(struct co *co)
{
	struct task *task;

	came_back = NULL;
	if (co->generator) {
		check_here();
		check_anchors();
		if (co->number % 2 && here()->generator_count < 3)
			run_generator();
		return;
	}
	task = task_of(co);
	if (sessions)
		task->id = unweave_routine_task(&co->routine);
	if (!task->id && !sessions) {
		struct place *place = here();
		uint64_t parent;

		/* Its CREATE and RESUME are there by now; what runs around it was its parent. */
		place_count--;
		parent = place_count ? id_here() : 0;
		place_count++;
		place->task = task;
		note_created(task, parent);
		expect_with_chain(UNWEAVE_EVENT_RESUME, task);
	}
	do {
		CHECK(innermost(task) == co);
		check_here();
		check_anchors();
	} while (do_step(task, next_step(place_count)));
}

static int go(struct unweave_link *link, void *context)
{
	struct co *co = (struct co *)link;

	(void)context;
	while (co) {
		transfer = NULL;
		body(co);
		co = transfer;
	}
	return 7;
}

static void play(enum step (*next)(uint32_t depth), uint32_t roots)
{
	struct task *task;

	next_step = next;
	expected_count = 0;
	numbers = 0;
	check_failed = 0;
	memset(tasks, 0, sizeof(tasks));
	for (uint32_t i = 0; i < roots; i++) {
		run_fresh(new_co(false));
		while (count_tasks() > TASKS_MOST / 2)
			run_task(some_waiting(1));
	}
	while ((task = some_waiting(1)))
		run_task(task);
}

int stage_play(enum step (*next)(uint32_t depth), uint32_t roots)
{
	sessions = false;
	collect_begin(0);
	play(next, roots);
	unweave_stop();
	check_events();
	return check_failed;
}

int stage_play_sessions(enum step (*next)(uint32_t depth), uint32_t roots)
{
	sessions = true;
	recording = false;
	known = 0;
	play(next, roots);
	if (recording)
		unweave_stop();
	CHECK(known > 0);
	printf("# known %" PRIu32 " times\n", known);
	return check_failed;
}

size_t stage_count(enum unweave_event_kind kind)
{
	return collect_count(kind);
}

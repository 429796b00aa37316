/* SPDX-License-Identifier: Apache-2.0 */
#include "routine_steps.h"

#include <stdlib.h>
#include <string.h>

#include "../unit/check.h"

struct stage stage;
static uint32_t lines;

/* A wait that has resumed a child inside of it, and is on the stack. */
static struct start {
	struct start *outer;
	uint32_t child; /* its number */
	const struct place *place;
	uint32_t anchors;
} * innermost_start;

static struct co *new_co(bool generator)
{
	struct co *co = calloc(1, sizeof(*co));

	co->number = stage.numbers++;
	co->generator = generator;
	unweave_routine_init(&co->routine, stage_go, (const void *)(uintptr_t)code_of(co),
			     generator ? UNWEAVE_ROUTINE_GENERATOR : 0);
	return co;
}

/* Whoever looks at a frame that is gone is to fall over it. */
static void free_co(struct co *co)
{
	memset(co, 0xdd, sizeof(*co));
	free(co);
}

static uint32_t new_line(void)
{
	return lines++ % 7; /* 0: not known */
}

struct task *some_waiting(uint32_t least_depth)
{
	return find_waiting(least_depth, stage.numbers);
}

void run_task(struct task *task)
{
	struct place *place = &oracle.places[oracle.place_count++];
	struct co *co = innermost(task);

	*place = (struct place){.task = task, .anchors = 1};
	task->running = true;
	if (task->id)
		expect_with_chain(UNWEAVE_EVENT_RESUME, task);
	CHECK_EQ(unweave_routine_run(&co->routine, NULL, 0), STAGE_RETURNS);
	/* Whoever is left there without a word would be a fault of the stage. */
	CHECK(!place->task);
	oracle.place_count--;
	check_here();
}

void run_fresh(void)
{
	run_task(new_task(new_co(false)));
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
	CHECK_EQ(unweave_routine_run(&child->routine, NULL, 0), STAGE_RETURNS);
	place->anchors--;
	innermost_start = start.outer;
	if (stage.came_back != parent)
		return false;
	stage.came_back = NULL;
	check_here();
	unweave_routine_resumed(&parent->routine);
	task->lines[task->depth - 1] = 0;
	return true;
}

void run_generator(void)
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
	expect_created(task, parent);
	check_here();
}

static void await_task(struct task *task, struct task *other)
{
	uint32_t line = new_line();
	struct expected *expected;
	struct co *co = innermost(task);

	wait_here(task, line);
	unweave_routine_await(&co->routine, &other->chain[0]->routine);
	expected = expect_with_chain(UNWEAVE_EVENT_AWAIT, task);
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
	if (task->depth > 1 && stage.numbers % 2)
		return drop_until(task, 1 + stage.numbers / 2 % (task->depth - 1));
	expect(UNWEAVE_EVENT_COMPLETE, task->id)->value = UNWEAVE_CANCELLED;
	drop_until(task, 0);
}

/* Its children are given up, before it goes on or just then. */
static void leave_children(struct task *task)
{
	struct co *given_up[CHAIN_MOST];
	uint32_t count = 0, keep = 1 + stage.numbers % (task->depth - 1);

	while (task->depth > keep)
		given_up[count++] = task->chain[--task->depth];
	/* In the events the chain is as it was told; what goes on is what counts. */
	task->running = true;
	oracle.places[oracle.place_count++] = (struct place){.task = task, .anchors = 1};
	expect_with_chain(UNWEAVE_EVENT_RESUME, task);
	unweave_routine_run(&innermost(task)->routine, NULL, 0);
	oracle.place_count--;
	for (uint32_t i = 0; i < count; i++) {
		unweave_routine_drop(&given_up[i]->routine);
		free_co(given_up[i]);
	}
	check_here();
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
	task->depth--;
	awaiter = innermost(task);
	if (step == STEP_END_BACK && innermost_start && innermost_start->child == co->number &&
	    innermost_start->place == place && innermost_start->anchors == place->anchors) {
		stage.came_back = awaiter;
	} else if (step == STEP_END_BY) {
		wait_here(task, task->lines[task->depth - 1]);
	} else if (step == STEP_END_IN) {
		place->anchors++;
		CHECK_EQ(unweave_routine_run(&awaiter->routine, NULL, 0), STAGE_RETURNS);
		place->anchors--;
	} else {
		unweave_routine_switch(&awaiter->routine);
		stage.transfer = awaiter;
	}
	unweave_routine_drop(&co->routine);
	free_co(co);
}

static void switch_to(struct task *task, struct task *other)
{
	wait_here(task, new_line());
	enter_place(other);
	unweave_routine_switch(&innermost(other)->routine);
	stage.transfer = innermost(other);
}

bool do_step(struct task *task, enum step step)
{
	struct task *other;
	bool deep = task->depth >= 8 || oracle.place_count >= 6 || here()->anchors >= 40;

	if (deep && step != STEP_FAIL && step < STEP_END)
		step = STEP_WAIT;
	switch (step) {
	case STEP_CALL:
		stage.transfer = add_child(task, new_line());
		unweave_routine_switch(&stage.transfer->routine);
		return false;
	case STEP_START:
		return start_child(task);
	case STEP_PUMP:
		wait_here(task, new_line());
		add_child(task, task->lines[task->depth - 1]);
		return false;
	case STEP_POST:
		wait_here(task, new_line());
		run_fresh();
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
		run_fresh();
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
		if (oracle.sessions)
			oracle_change_session(stage.numbers);
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

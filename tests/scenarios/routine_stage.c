/* SPDX-License-Identifier: Apache-2.0 */
#include "routine_stage.h"

#include <stddef.h>

#include "../unit/check.h"
#include "routine_steps.h"

static enum step (*next_step)(uint32_t depth);

static void generate(const struct co *generator)
{
	check_here();
	check_anchors();
	if (generator->number % 2 && here()->generator_count < 3)
		run_generator();
}

/* In its first run: its CREATE and RESUME are there by now. */
static void note_begun(struct task *task)
{
	uint64_t parent;

	/* What runs around it was its parent. */
	oracle.place_count--;
	parent = oracle.place_count ? id_here() : 0;
	oracle.place_count++;
	expect_created(task, parent);
	expect_with_chain(UNWEAVE_EVENT_RESUME, task);
}

/* From where a coroutine goes on to where control leaves it. */
static __attribute__((noinline)) void body(struct co *co)
{
	struct task *task;

	stage.came_back = NULL;
	if (co->generator)
		return generate(co);
	task = task_of(co);
	if (oracle.sessions)
		task->id = unweave_routine_task(&co->routine);
	else if (!task->id)
		note_begun(task);
	do {
		CHECK(innermost(task) == co);
		check_here();
		check_anchors();
	} while (do_step(task, next_step(oracle.place_count)));
}

int stage_go(struct unweave_link *link, void *context)
{
	struct co *co = (struct co *)link;

	(void)context;
	while (co) {
		stage.transfer = NULL;
		body(co);
		co = stage.transfer;
	}
	return STAGE_RETURNS;
}

static void play(enum step (*next)(uint32_t depth), uint32_t roots, bool sessions)
{
	struct task *task;

	next_step = next;
	stage = (struct stage){0};
	oracle_begin(sessions);
	for (uint32_t i = 0; i < roots; i++) {
		run_fresh();
		while (count_tasks() > TASKS_MOST / 2)
			run_task(some_waiting(1));
	}
	while ((task = some_waiting(1)))
		run_task(task);
	oracle_end();
}

void stage_play(enum step (*next)(uint32_t depth), uint32_t roots)
{
	play(next, roots, false);
}

void stage_play_sessions(enum step (*next)(uint32_t depth), uint32_t roots)
{
	play(next, roots, true);
}

size_t stage_count(enum unweave_event_kind kind)
{
	return oracle_count(kind);
}

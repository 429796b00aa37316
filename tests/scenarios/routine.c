/* SPDX-License-Identifier: Apache-2.0 */
/* Coroutines: what known programs and random ones show and record, against an oracle. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/check.h"
#include "routine_stage.h"

static const enum step *script;
static size_t script_at, script_length;

static enum step next_of_script(uint32_t depth)
{
	(void)depth;
	/* Whatever is left ends. */
	return script_at < script_length ? script[script_at++] : STEP_END;
}

static void play(const enum step *steps, size_t length, uint32_t roots)
{
	script = steps;
	script_at = 0;
	script_length = length;
	stage_play(next_of_script, roots);
	CHECK_EQ(script_at, length);
}

#define PLAY(roots, ...)                                                                           \
	play((const enum step[]){__VA_ARGS__},                                                     \
	     sizeof((const enum step[]){__VA_ARGS__}) / sizeof(enum step), roots)

static void a_root_is_a_task_from_its_first_run_to_its_end(void)
{
	PLAY(1, STEP_END);
	PLAY(1, STEP_WAIT, STEP_WAIT, STEP_END);
	PLAY(3, STEP_WAIT, STEP_FAIL, STEP_WAIT, STEP_END, STEP_WAIT);
}

static void a_transfer_to_a_child_and_back_is_the_same_run(void)
{
	PLAY(1, STEP_CALL, STEP_CALL, STEP_END, STEP_END, STEP_END);
	PLAY(1, STEP_CALL, STEP_CALL, STEP_WAIT, STEP_END, STEP_CALL, STEP_WAIT, STEP_FAIL,
	     STEP_WAIT);
	CHECK_EQ(stage_count(UNWEAVE_EVENT_RESUME), 4);
}

static void a_child_that_is_resumed_inside_of_the_wait_takes_the_next_anchor(void)
{
	PLAY(1, STEP_START, STEP_START, STEP_END_BACK, STEP_END_BACK, STEP_END);
	CHECK_EQ(stage_count(UNWEAVE_EVENT_RESUME), 1);
	PLAY(1, STEP_START, STEP_START, STEP_WAIT, STEP_END_IN, STEP_END_IN, STEP_END);
	PLAY(1, STEP_CALL, STEP_START, STEP_CALL, STEP_END, STEP_END, STEP_NEXT, STEP_WAIT);
}

static void a_loop_that_resumes_every_level_makes_a_run_of_each(void)
{
	PLAY(1, STEP_PUMP, STEP_PUMP, STEP_END_BY, STEP_END_BY, STEP_END);
	CHECK_EQ(stage_count(UNWEAVE_EVENT_RESUME), 5);
}

static void a_transfer_to_another_task_is_a_run_of_that_in_the_same_place(void)
{
	PLAY(2, STEP_CALL, STEP_WAIT, STEP_SWITCH, STEP_NEXT, STEP_SWITCH, STEP_END);
}

static void a_wait_that_is_over_at_once_goes_on_in_place(void)
{
	PLAY(1, STEP_RETRY, STEP_CALL, STEP_RETRY, STEP_START, STEP_RETRY, STEP_END_BACK,
	     STEP_WAIT);
}

static void what_begins_inside_of_a_wait_comes_from_who_waits(void)
{
	PLAY(1, STEP_POST, STEP_POST, STEP_SPAWN, STEP_WAIT, STEP_WAIT);
}

static void one_that_begins_in_its_callers_place_is_a_task_when_it_waits(void)
{
	PLAY(1, STEP_EAGER, STEP_EAGER, STEP_EAGER, STEP_CALL, STEP_EAGER, STEP_EAGER, STEP_WAIT);
}

static void one_that_is_destroyed_is_cancelled(void)
{
	PLAY(2, STEP_CALL, STEP_CALL, STEP_WAIT, STEP_DROP, STEP_END);
}

static void one_that_goes_on_without_its_child_gives_it_up(void)
{
	PLAY(2, STEP_CALL, STEP_CALL, STEP_WAIT, STEP_LEAVE, STEP_CALL, STEP_WAIT, STEP_END);
}

static void waiting_for_another_task_is_recorded_as_that(void)
{
	PLAY(2, STEP_CALL, STEP_WAIT, STEP_CALL, STEP_AWAIT);
	CHECK_EQ(stage_count(UNWEAVE_EVENT_AWAIT), 1);
}

/* Each step as likely as others, but waits and ends prevail in the end. */
static uint32_t dice;
static uint32_t steps_left;

static uint32_t roll(uint32_t sides)
{
	dice = dice * 1664525 + 1013904223;
	return (dice >> 12) % sides;
}

static enum step next_by_chance(uint32_t depth)
{
	enum step step = (enum step)roll(STEPS);

	if (steps_left)
		steps_left--;
	if (steps_left && roll(8) >= depth)
		return step;
	return roll(2) ? STEP_END : STEP_WAIT;
}

static void random_programs_show_and_record_what_an_oracle_says(void)
{
	const char *seed = getenv("ROUTINE_SEED");
	uint32_t first = seed ? (uint32_t)atoi(seed) : 1, last = seed ? first : 40;
	uint32_t total = 0;

	for (uint32_t i = first; i <= last && !check_failed; i++) {
		dice = i * 2654435761u;
		steps_left = 2000;
		stage_play(next_by_chance, 200);
		total += 2000 - steps_left;
		if (check_failed)
			printf("# ROUTINE_SEED=%" PRIu32 "\n", i);
	}
	printf("# %u steps\n", total);
}

static enum step next_with_sessions(uint32_t depth)
{
	/* A session takes some ms to come or go. */
	return roll(40) ? next_by_chance(depth) : STEP_SESSION;
}

static void sessions_that_come_and_go_find_what_runs(void)
{
	dice = 4711;
	steps_left = 4000;
	stage_play_sessions(next_with_sessions, 500);
}

/* Forks in the midst of a run; both go on through all that a coroutine may do. */
static int fork_inside(struct unweave_link *link, void *context)
{
	struct unweave_routine *parent = (struct unweave_routine *)link, child;

	*(pid_t *)context = fork();
	unweave_routine_init(&child, fork_inside, NULL, 0);
	unweave_routine_call(parent, &child, 3);
	unweave_routine_switch(&child);
	unweave_routine_suspend(&child, 4);
	unweave_routine_resumed(&child);
	unweave_routine_complete(&child, UNWEAVE_OK);
	unweave_routine_switch(parent);
	unweave_routine_complete(parent, UNWEAVE_OK);
	return 7;
}

static void listen(const struct unweave_event *event, void *data)
{
	(void)event, (void)data;
}

static void a_child_of_fork_goes_on_by_itself(void)
{
	struct unweave_options options;
	struct unweave_routine routine;
	int status = -1;
	pid_t pid = -1;

	unweave_options_init(&options);
	options.listener = listen;
	CHECK_EQ(unweave_start(&options), 0);
	unweave_routine_init(&routine, fork_inside, NULL, 0);
	CHECK_EQ(unweave_routine_run(&routine, &pid, 0), 7);
	if (pid == 0)
		_exit(check_failed != 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	unweave_stop();
}

int main(void)
{
	RUN(a_root_is_a_task_from_its_first_run_to_its_end);
	RUN(a_transfer_to_a_child_and_back_is_the_same_run);
	RUN(a_child_that_is_resumed_inside_of_the_wait_takes_the_next_anchor);
	RUN(a_loop_that_resumes_every_level_makes_a_run_of_each);
	RUN(a_transfer_to_another_task_is_a_run_of_that_in_the_same_place);
	RUN(a_wait_that_is_over_at_once_goes_on_in_place);
	RUN(what_begins_inside_of_a_wait_comes_from_who_waits);
	RUN(one_that_begins_in_its_callers_place_is_a_task_when_it_waits);
	RUN(one_that_is_destroyed_is_cancelled);
	RUN(one_that_goes_on_without_its_child_gives_it_up);
	RUN(waiting_for_another_task_is_recorded_as_that);
	RUN(random_programs_show_and_record_what_an_oracle_says);
	RUN(sessions_that_come_and_go_find_what_runs);
	RUN(a_child_of_fork_goes_on_by_itself);
	return check_done();
}

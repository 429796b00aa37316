/* SPDX-License-Identifier: Apache-2.0 */
/* What random programs and samples found, each as the smallest program that shows it. */
#include "scenario.h"

#include <stdlib.h>

#include "unweave/machine.h"

#define CODE_AT(n) ((const void *)(uintptr_t)(0x1000 + (n)))

static int nothing(struct unweave_link *link, void *context)
{
	(void)link, (void)context;
	return 0;
}

static void init(struct unweave_box *box, unweave_go go, int number)
{
	unweave_box_init(box, go, CODE_AT(number), NULL);
}

/* No task outlives its box. */
static void end(struct unweave_box *box)
{
	if (box->head.task && !box->done)
		unweave_box_complete(box, UNWEAVE_CANCELLED);
}

static void what_awaits_a_second_awaiter_does_not_join_the_chain_of_the_first(void)
{
	struct scenario scenario;
	struct unweave_box child, first, second, outer;

	scenario_begin(UNWEAVE_KEYWORDS_FULL);
	init(&child, nothing, 0);
	init(&first, nothing, 1);
	init(&second, nothing, 2);
	init(&outer, nothing, 3);
	unweave_box_suspend(&child);
	unweave_box_await(&first, &child);
	unweave_box_await(&second, &child);
	unweave_box_await(&outer, &second);
	scenario_end(&scenario);
	end(&child);

	CHECK_EQ(scenario_count(&scenario, child.head.task, UNWEAVE_EVENT_APPEND), 1);
	CHECK(STACK_IS(scenario_nth(&scenario, child.head.task, UNWEAVE_EVENT_APPEND, 0),
		       CODE_AT(0), CODE_AT(1)));
	scenario_forget(&scenario);
}

static void what_is_awaited_after_its_child_completed_does_not_join_that(void)
{
	struct scenario scenario;
	struct unweave_box child, parent, late;

	scenario_begin(UNWEAVE_KEYWORDS_FULL);
	init(&child, nothing, 0);
	init(&parent, nothing, 1);
	init(&late, nothing, 2);
	unweave_box_suspend(&child);
	unweave_box_await(&parent, &child);
	unweave_box_complete(&child, UNWEAVE_CANCELLED);
	unweave_box_await(&late, &parent);
	scenario_end(&scenario);

	CHECK_EQ(scenario_count(&scenario, child.head.task, UNWEAVE_EVENT_APPEND), 1);
	scenario_forget(&scenario);
}

static void a_box_that_becomes_a_task_later_hears_of_who_joins_far_out(void)
{
	struct scenario scenario;
	struct unweave_box child, parent, outer;

	scenario_begin(UNWEAVE_KEYWORDS_FULL);
	init(&child, nothing, 0);
	init(&parent, nothing, 1);
	init(&outer, nothing, 2);
	unweave_box_await(&parent, &child);
	unweave_box_suspend(&child);
	unweave_box_await(&outer, &parent);
	scenario_end(&scenario);
	end(&child);

	CHECK(STACK_IS(scenario_nth(&scenario, child.head.task, UNWEAVE_EVENT_APPEND, 0),
		       CODE_AT(0), CODE_AT(1), CODE_AT(2)));
	scenario_forget(&scenario);
}

/* The box of a run, used again in that run for a call that fails. */
static struct unweave_box reused, awaiting;
static uint64_t reused_task;

static int completes_twice(struct unweave_link *link, void *context)
{
	bool again = reused.head.task != reused_task;

	(void)link, (void)context;
	unweave_box_complete(&reused, again ? UNWEAVE_ERROR : UNWEAVE_OK);
	if (!again)
		unweave_box_continue(&awaiting, &reused);
	return 0;
}

static int uses_it_again(struct unweave_link *link, void *context)
{
	(void)link, (void)context;
	init(&reused, completes_twice, 5);
	unweave_box_await(&reused, &awaiting);
	unweave_box_complete(&awaiting, UNWEAVE_OK);
	unweave_box_continue(&reused, &awaiting);
	return 0;
}

static void a_box_used_again_inside_its_own_run_is_one_function_more_of_it(void)
{
	struct scenario scenario;

	scenario_begin(UNWEAVE_KEYWORDS_FULL);
	init(&reused, completes_twice, 0);
	init(&awaiting, uses_it_again, 1);
	unweave_box_suspend(&reused);
	reused_task = reused.head.task;
	unweave_box_await(&awaiting, &reused);
	unweave_box_run(&reused, 0);
	scenario_end(&scenario);

	CHECK(SEQUENCE(&scenario, reused_task, KINDS_LIFE | KINDS_FRAME, UNWEAVE_EVENT_CREATE,
		       UNWEAVE_EVENT_RESUME, UNWEAVE_EVENT_FRAME_RESUME,
		       UNWEAVE_EVENT_FRAME_COMPLETE, UNWEAVE_EVENT_FRAME_RESUME,
		       UNWEAVE_EVENT_FRAME_COMPLETE, UNWEAVE_EVENT_FRAME_RESUME,
		       UNWEAVE_EVENT_UNWIND, UNWEAVE_EVENT_COMPLETE));
	CHECK_EQ(scenario_nth(&scenario, reused_task, UNWEAVE_EVENT_COMPLETE, 0)->event.value,
		 UNWEAVE_ERROR);
	scenario_forget(&scenario);
}

/* A run whose own function is done, while what awaited it went on elsewhere and is gone. */
static struct unweave_box *left_behind;
static uint32_t frames_after;

/* A child runs, and ends, that a parent awaits: after that, a sample finds no frames. */
static void check_left_behind(unweave_go parent_goes, unweave_go child_goes)
{
	struct unweave_box parent, child;
	struct scenario scenario;

	scenario_begin(UNWEAVE_KEYWORDS_FULL);
	init(&parent, parent_goes, 1);
	init(&child, child_goes, 0);
	left_behind = &parent;
	frames_after = UINT32_MAX;
	unweave_box_suspend(&child);
	unweave_box_await(&parent, &child);
	unweave_box_run(&child, 0);
	scenario_end(&scenario);

	CHECK_EQ(frames_after, 0);
	scenario_forget(&scenario);
}

static int completes_and_lingers(struct unweave_link *link, void *context)
{
	uint64_t task, addresses[4];

	(void)context;
	unweave_box_complete((struct unweave_box *)link, UNWEAVE_OK);
	memset(left_behind, 0xdd, sizeof(*left_behind));
	frames_after = unweave_here(&task, addresses, NULL, 4);
	return 0;
}

static void a_sample_after_a_box_completed_does_not_look_at_its_awaiter(void)
{
	check_left_behind(nothing, completes_and_lingers);
}

static int waits_and_is_gone(struct unweave_link *link, void *context)
{
	uint64_t task, addresses[4];

	(void)context;
	unweave_box_suspend((struct unweave_box *)link);
	end((struct unweave_box *)link);
	memset(link, 0xdd, sizeof(struct unweave_box));
	frames_after = unweave_here(&task, addresses, NULL, 4);
	return 0;
}

static int continues_what_was_left(struct unweave_link *link, void *context)
{
	(void)context;
	unweave_box_complete((struct unweave_box *)link, UNWEAVE_OK);
	unweave_box_continue(left_behind, (struct unweave_box *)link);
	return 0;
}

static void a_sample_after_a_box_left_the_run_of_another_does_not_look_at_it(void)
{
	check_left_behind(waits_and_is_gone, continues_what_was_left);
}

/* Beside a chain, and done with waiting; but it does not know that yet. */
static void a_task_that_is_over_is_not_told_who_joins_what_waited_for_it(void)
{
	struct unweave_box child, first, second, late;
	struct scenario scenario;

	scenario_begin(UNWEAVE_KEYWORDS_FULL);
	init(&child, nothing, 0);
	init(&first, nothing, 1);
	init(&second, nothing, 2);
	init(&late, nothing, 3);
	unweave_box_suspend(&child);
	unweave_box_await(&first, &child);
	unweave_box_await(&second, &child);
	unweave_box_complete(&child, UNWEAVE_OK);
	unweave_box_await(&late, &second);
	scenario_end(&scenario);

	CHECK_EQ(scenario_count(&scenario, child.head.task, UNWEAVE_EVENT_AWAIT), 1);
	scenario_forget(&scenario);
}

static int waits_again(struct unweave_link *link, void *context)
{
	(void)context;
	unweave_box_suspend((struct unweave_box *)link);
	return 0;
}

/* `waited_for` is a task already when the middle one waits for it, or becomes one, or never does.
 */
static void check_joined_after_a_wait(bool task_before, bool task_after)
{
	struct unweave_box waited_for, middle, outer, late;
	struct scenario scenario;

	scenario_begin(UNWEAVE_KEYWORDS_FULL);
	init(&waited_for, nothing, 0);
	init(&middle, waits_again, 1);
	init(&outer, nothing, 2);
	init(&late, nothing, 3);
	unweave_box_suspend(&middle);
	unweave_box_await(&outer, &middle);
	if (task_before)
		unweave_box_suspend(&waited_for);
	unweave_box_await(&middle, &waited_for);
	if (task_after)
		unweave_box_suspend(&waited_for);
	unweave_box_complete(&waited_for, UNWEAVE_OK);
	unweave_box_continue(&middle, &waited_for);
	unweave_box_await(&late, &outer);
	unweave_box_run(&middle, 0);
	scenario_end(&scenario);
	end(&middle);

	CHECK(STACK_IS(scenario_nth(&scenario, middle.head.task, UNWEAVE_EVENT_RESUME, 0),
		       CODE_AT(1), CODE_AT(2)));
	CHECK(STACK_IS(scenario_nth(&scenario, middle.head.task, UNWEAVE_EVENT_RESUME, 1),
		       CODE_AT(1), CODE_AT(2), CODE_AT(3)));
	scenario_forget(&scenario);
}

static void a_task_that_waited_for_a_box_hears_of_who_joins_far_out(void)
{
	check_joined_after_a_wait(true, false);
	check_joined_after_a_wait(false, true);
	check_joined_after_a_wait(false, false);
}

/* Of the two that a box waits for, the one that it awaited first completes last. */
static struct unweave_box awaits_both, joins_last;

static int completes_last(struct unweave_link *link, void *context)
{
	(void)context;
	unweave_box_complete((struct unweave_box *)link, UNWEAVE_OK);
	unweave_box_continue(&awaits_both, (struct unweave_box *)link);
	return 0;
}

static int is_joined_far_out(struct unweave_link *link, void *context)
{
	struct unweave_box *outer = (struct unweave_box *)link->awaiter;

	(void)context;
	unweave_box_await(&joins_last, outer);
	unweave_box_complete((struct unweave_box *)link, UNWEAVE_OK);
	return 0;
}

static void what_goes_on_in_the_run_of_one_of_two_is_in_the_chain_of_that(void)
{
	struct unweave_box one, two, outer;
	struct scenario scenario;

	scenario_begin(UNWEAVE_KEYWORDS_FULL);
	init(&one, completes_last, 0);
	init(&two, nothing, 1);
	init(&awaits_both, is_joined_far_out, 2);
	init(&outer, nothing, 3);
	init(&joins_last, nothing, 4);
	unweave_box_suspend(&one);
	unweave_box_suspend(&two);
	unweave_box_await(&outer, &awaits_both);
	unweave_box_await(&awaits_both, &one);
	unweave_box_await(&awaits_both, &two);
	unweave_box_complete(&two, UNWEAVE_OK);
	unweave_box_run(&one, 0);
	scenario_end(&scenario);

	CHECK_EQ(scenario_count(&scenario, two.head.task, UNWEAVE_EVENT_APPEND), 1);
	CHECK(STACK_IS(scenario_nth(&scenario, one.head.task, UNWEAVE_EVENT_APPEND, 1), CODE_AT(0),
		       CODE_AT(2), CODE_AT(3), CODE_AT(4)));
	scenario_forget(&scenario);
}

int main(void)
{
	RUN(what_awaits_a_second_awaiter_does_not_join_the_chain_of_the_first);
	RUN(what_is_awaited_after_its_child_completed_does_not_join_that);
	RUN(a_box_that_becomes_a_task_later_hears_of_who_joins_far_out);
	RUN(a_box_used_again_inside_its_own_run_is_one_function_more_of_it);
	RUN(a_sample_after_a_box_completed_does_not_look_at_its_awaiter);
	RUN(a_sample_after_a_box_left_the_run_of_another_does_not_look_at_it);
	RUN(a_task_that_is_over_is_not_told_who_joins_what_waited_for_it);
	RUN(a_task_that_waited_for_a_box_hears_of_who_joins_far_out);
	RUN(what_goes_on_in_the_run_of_one_of_two_is_in_the_chain_of_that);
	return check_done();
}

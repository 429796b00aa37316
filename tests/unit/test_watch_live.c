/* SPDX-License-Identifier: Apache-2.0 */
/* What a watch shows of living programs. */
#include "unweave/chain.h"
#include "watched_child.h"

static void a_program_is_seen_as_it_goes_on(void)
{
	static void (*const steps[])(void) = {make_old, make_and_run, wake_and_run_on, end_it,
					      NULL};
	char text[WATCH_TEXT];
	struct watch_task young;
	const struct watch_site *site;

	start_child(steps);
	step(true);
	begin_watch(WATCH_ALL_EVENTS);
	refresh();
	CHECK_EQ(watch_totals(watch)->alive, 1);
	CHECK_EQ(watch_totals(watch)->created, 0);
	CHECK(task(0).before);
	/* It may run, for all that is known. */
	CHECK_EQ(task(0).state, WATCH_UNTOLD);
	CHECK_EQ(task(0).since, WATCH_UNKNOWN);
	CHECK_EQ(task(0).busy, WATCH_UNKNOWN);
	CHECK_EQ(task(0).runs, WATCH_UNKNOWN);
	CHECK_EQ(watch_thread_at(watch, 0)->busy, WATCH_UNKNOWN);
	CHECK_EQ(watch_totals(watch)->silent, 1);
	step(true);
	refresh();
	CHECK_EQ(watch_totals(watch)->silent, 0);
	CHECK(watch_thread_at(watch, 0)->busy != WATCH_UNKNOWN);
	CHECK_EQ(task(0).state, WATCH_UNTOLD);
	young = task(1);
	CHECK_EQ(watch_totals(watch)->alive, 2);
	CHECK_EQ(watch_totals(watch)->created, 1);
	CHECK_EQ(watch_totals(watch)->created_now, 1);
	CHECK_EQ(young.state, WATCH_WAITING);
	CHECK_EQ(young.parent, common->tasks[0]);
	CHECK_EQ(young.waits, UNWEAVE_WAIT_LOCK);
	CHECK_EQ(young.awaits, 0x1234);
	CHECK_EQ(young.runs, 1);
	CHECK(!young.before);
	CHECK(is_between(young.busy, common->inner, common->outer));
	CHECK_EQ(watch_waits(watch, UNWEAVE_WAIT_LOCK)->tasks, 1);
	CHECK_EQ(watch_waits(watch, UNWEAVE_WAIT_LOCK)->on, 0x1234);
	watch_name(watch, &young, text);
	CHECK_STR_EQ(text, "its name");
	watch_site_name(watch, young.site, text);
	CHECK_STR_EQ(text, "young");
	step(true);
	refresh();
	young = task(1);
	CHECK_EQ(young.state, WATCH_RUNNING);
	CHECK_EQ(young.runs, 2);
	CHECK_EQ(young.wakes, 2);
	CHECK_EQ(young.self_wakes, 1);
	CHECK_EQ(watch_thread_count(watch), 1);
	CHECK_EQ(watch_thread_at(watch, 0)->tid, child);
	CHECK_EQ(watch_thread_at(watch, 0)->task, common->tasks[1]);
	CHECK_EQ(young.thread, watch_thread_at(watch, 0)->thread);
	step(true);
	refresh();
	CHECK_EQ(watch_totals(watch)->alive, 1);
	CHECK_EQ(watch_totals(watch)->ended, 1);
	CHECK_EQ(watch_totals(watch)->lost, 0);
	CHECK_EQ(watch_thread_at(watch, 0)->task, 0);
	site = watch_site_find(watch, young.site);
	CHECK_EQ(site->runs, 2);
	CHECK_EQ(site->run->count, 2);
	CHECK_EQ(site->ended_now, 1);
	end_watch();
	end_child();
}

static void who_comes_second_sees_the_table(void)
{
	static void (*const steps[])(void) = {make_old, make_and_run, wake_and_run_on, NULL};
	struct watch *first;
	struct attachment other;
	struct watch_task young;

	start_child(steps);
	step(true);
	find_child();
	CHECK_EQ(find_pid(&other, (uint32_t)child, &diag), 0);
	CHECK_EQ(watch_new(&first, &other, WATCH_FEW_EVENTS, &diag), 0);
	CHECK_EQ(watch_new(&watch, &attachment, WATCH_FEW_EVENTS, &diag), 0);
	CHECK_EQ(watch_totals(watch)->source, WATCH_TABLE);
	CHECK(strstr(watch_note(watch), "record") != NULL);
	step(true);
	refresh();
	young = task(1);
	CHECK_EQ(watch_totals(watch)->alive, 2);
	CHECK_EQ(watch_totals(watch)->created, WATCH_UNKNOWN);
	CHECK_EQ(young.state, WATCH_WAITING);
	CHECK_EQ(young.runs, 1);
	CHECK(is_between(young.busy, common->inner, common->outer));
	CHECK_EQ(young.waited, WATCH_UNKNOWN);
	CHECK_EQ(young.queued, WATCH_UNKNOWN);
	CHECK_EQ(young.wakes, WATCH_UNKNOWN);
	CHECK_EQ(young.created, WATCH_UNKNOWN);
	CHECK_EQ(young.awaits, 0x1234);
	/* Nothing is known of that one, not that it waits. */
	CHECK_EQ(task(0).state, WATCH_UNTOLD);
	CHECK_EQ(task(0).since, WATCH_UNKNOWN);
	CHECK_EQ(watch_site_find(watch, young.site)->waited, WATCH_UNKNOWN);
	step(true);
	refresh();
	CHECK_EQ(task(1).state, WATCH_RUNNING);
	CHECK_EQ(watch_thread_at(watch, 0)->task, common->tasks[1]);
	CHECK_EQ(watch_thread_at(watch, 0)->busy, WATCH_UNKNOWN);
	CHECK_EQ(watch_pass(first) >= 0, 1);
	watch_free(first);
	attach_fini(&other);
	end_watch();
	end_child();
}

static void work_hard(void)
{
	static uint64_t busy[1000];

	for (int i = 0; i < 400000; i++) {
		uint64_t *task = &busy[i % 1000];

		if (*task)
			unweave_task_complete(*task, UNWEAVE_OK);
		*task = unweave_task_new(UNWEAVE_SITE("busy"), UNWEAVE_MODEL_CHAIN, 0, NULL);
		unweave_task_resume(*task);
		unweave_task_suspend(*task);
	}
	for (int i = 10; i < 1000; i++)
		unweave_task_complete(busy[i], UNWEAVE_OK);
}

/* Of more than there is room for, something is lost, and that is said; but not who lives. */
static void tasks_that_ended_in_a_loss_are_not_shown(void)
{
	static void (*const steps[])(void) = {make_old, make_and_run, work_hard, end_it, NULL};

	start_child(steps);
	step(true);
	begin_watch(WATCH_ALL_EVENTS);
	step(true);
	refresh();
	step(true);
	refresh();
	/* Who ended, the table knows. */
	CHECK(watch_totals(watch)->alive >= 2 && watch_totals(watch)->alive <= 12);
	CHECK_EQ(task(1).runs, 1);
	step(true);
	refresh();
	CHECK(watch_totals(watch)->lost > 0);
	/* As soon as it is known that something was lost, all are counted anew. */
	CHECK_EQ(watch_totals(watch)->alive, 11);
	end_watch();
	end_child();
}

/* Some hundred thousand events a second; fewer on a machine that has other things to do. */
static void say_much(void)
{
	common->enough = false;
	while (!common->enough) {
		uint64_t until = clock_raw() + 2000;

		unweave_task_wake(common->tasks[0], UNWEAVE_SOURCE_IO);
		while (clock_raw() < until)
			;
	}
}

static void events_that_are_many_are_not_taken_unasked(void)
{
	static void (*const steps[])(void) = {make_old, say_much, make_and_run, NULL};

	start_child(steps);
	step(true);
	begin_watch(WATCH_FEW_EVENTS);
	watch_set_few(watch, 2000);
	refresh();
	step(false);
	for (int i = 0; i < 50 && watch_totals(watch)->source == WATCH_EVENTS; i++)
		watch_for(300 * MS);
	CHECK_EQ(watch_totals(watch)->source, WATCH_TABLE);
	CHECK(strstr(watch_note(watch), ",000 events a second") != NULL);
	CHECK_EQ(watch_totals(watch)->alive, 1);
	CHECK_EQ(task(0).wakes, WATCH_UNKNOWN);
	/* It can be recorded by somebody else. */
	CHECK_EQ(attach_lock(&attachment, &diag), 0);
	attach_unlock(&attachment);
	/* Who asks for them gets them, however many. */
	CHECK_EQ(watch_listen(watch, WATCH_ALL_EVENTS), 0);
	for (int i = 0; i < 5; i++)
		watch_for(300 * MS);
	CHECK_EQ(watch_totals(watch)->source, WATCH_EVENTS);
	CHECK_STR_EQ(watch_note(watch), "");
	CHECK_EQ(watch_totals(watch)->alive, 1);
	CHECK(task(0).wakes > 1000 && task(0).wakes != WATCH_UNKNOWN);
	common->enough = true;
	step(true);
	refresh();
	CHECK_EQ(watch_totals(watch)->alive, 2);
	CHECK_EQ(task(1).runs, 1);
	CHECK_EQ(watch_listen(watch, WATCH_NO_EVENTS), 0);
	refresh();
	CHECK_EQ(watch_totals(watch)->alive, 2);
	CHECK_EQ(task(1).runs, WATCH_UNKNOWN);
	end_watch();
	end_child();
}

static void who_comes_after_one_that_was_killed_begins_afresh(void)
{
	static void (*const steps[])(void) = {make_old, make_and_run, wake_and_run_on, end_it,
					      NULL};

	start_child(steps);
	step(true);
	fflush(stdout);
	watch_and_die();
	/* With the session still on. */
	step(true);
	begin_watch(WATCH_ALL_EVENTS);
	refresh();
	CHECK_EQ(watch_totals(watch)->lost, 0);
	CHECK_EQ(watch_totals(watch)->alive, 2);
	CHECK(task(1).before);
	step(true);
	refresh();
	CHECK_EQ(watch_totals(watch)->lost, 0);
	CHECK_EQ(watch_totals(watch)->alive, 1);
	CHECK_EQ(watch_totals(watch)->ended, 1);
	end_watch();
	end_child();
}

static void make_only(void)
{
	common->outer = clock_raw();
	common->tasks[1] = unweave_task_new(UNWEAVE_SITE("young"), UNWEAVE_MODEL_CHAIN, 0, NULL);
	common->inner = clock_raw();
}

/* Somebody else recorded it then, and the table has it still. */
static void when_a_task_was_created_in_another_session_is_known(void)
{
	static void (*const steps[])(void) = {make_old, make_only, NULL};

	for (int table = 0; table < 2; table++) {
		start_child(steps);
		step(true);
		fflush(stdout);
		watch_and_die();
		poll(NULL, 0, 20);
		find_child();
		CHECK_EQ(watch_new(&watch, &attachment, table ? WATCH_NO_EVENTS : WATCH_ALL_EVENTS,
				   &diag),
			 0);
		refresh();
		CHECK(!task(1).before);
		CHECK(task(1).created != WATCH_UNKNOWN);
		CHECK(is_between(watch_totals(watch)->now - task(1).created,
				 watch_totals(watch)->now - common->inner,
				 watch_totals(watch)->now - common->outer));
		CHECK(task(0).before);
		end_watch();
		end_child();
	}
}

static struct unweave_chain chains[3];
static struct unweave_link links[3][2];

static int wait_more(struct unweave_link *link, void *chain)
{
	unweave_chain_push(chain, link);
	return UNWEAVE_STEP_SUSPENDED;
}

static int outer_function(struct unweave_link *link, void *chain)
{
	(void)link;
	(void)chain;
	return UNWEAVE_STEP_DONE;
}

static int never_return(struct unweave_link *link, void *chain)
{
	(void)link;
	(void)chain;
	atomic_fetch_add(&common->done, 1);
	for (;;)
		pause();
	return UNWEAVE_STEP_DONE;
}

static void start_chain(int which, unweave_go innermost)
{
	unweave_chain_init(&chains[which]);
	unweave_link_init(&links[which][0], innermost, NULL, 0);
	unweave_link_init(&links[which][1], outer_function, NULL, 0);
	unweave_chain_push(&chains[which], &links[which][0]);
	unweave_chain_push(&chains[which], &links[which][1]);
	unweave_chain_start(&chains[which], UNWEAVE_SITE("chain"), 0);
	common->tasks[which] = chains[which].head.task;
}

static void make_circle(void)
{
	for (int i = 0; i < 3; i++) {
		start_chain(i, wait_more);
		unweave_chain_run(&chains[i], 0);
	}
	for (int i = 0; i < 3; i++)
		unweave_task_waits(common->tasks[i], UNWEAVE_WAIT_TASK, common->tasks[(i + 1) % 2]);
}

static uint64_t circle[4];
static uint32_t circles;

static int note_circle(void *data, const uint64_t *tasks, uint32_t count)
{
	(void)data;
	circles++;
	CHECK_EQ(count, 2);
	memcpy(circle, tasks, count * sizeof(*tasks));
	return 0;
}

static void a_circle_of_tasks_is_found_with_their_chains(void)
{
	static void (*const steps[])(void) = {make_circle, NULL};
	const struct watch_detail *detail;
	struct watch_wait waits[4];

	start_child(steps);
	step(true);
	begin_watch(WATCH_ALL_EVENTS);
	refresh();
	circles = 0;
	CHECK_EQ(watch_cycles(watch, note_circle, NULL), 0);
	CHECK_EQ(circles, 1);
	/* For what, they said; since when, and what else they did, nobody knows. */
	CHECK_EQ(task(0).state, WATCH_WAITING);
	CHECK(task(0).early);
	CHECK_EQ(task(0).runs, WATCH_UNKNOWN);
	CHECK_EQ(watch_waits(watch, UNWEAVE_WAIT_TASK)->longest, WATCH_UNKNOWN);
	CHECK_EQ(circle[0] + circle[1], common->tasks[0] + common->tasks[1]);
	CHECK_EQ(watch_waits_on(watch, UNWEAVE_WAIT_TASK, 4, waits), 2);
	CHECK_EQ(waits[0].on, common->tasks[1]);
	CHECK_EQ(waits[0].tasks, 2);
	CHECK_EQ(watch_choose(watch, common->tasks[2]), 0);
	detail = watch_detail(watch);
	CHECK(detail != NULL);
	if (detail) {
		CHECK(!detail->no_frames);
		CHECK_EQ(detail->frame_count, 2);
		CHECK_EQ(detail->frames[0].address, (uintptr_t)wait_more);
		CHECK_EQ(detail->frames[1].address, (uintptr_t)outer_function);
		CHECK_STR_EQ(detail->frames[1].name, "outer_function");
		CHECK_STR_EQ(detail->row.name, "chain");
	}
	end_watch();
	end_child();
}

static void hang(void)
{
	start_chain(0, never_return);
	unweave_chain_run(&chains[0], 0);
}

static void a_task_that_runs_since_before_is_seen_to_run(void)
{
	static void (*const steps[])(void) = {hang, NULL};

	start_child(steps);
	step(true);
	begin_watch(WATCH_ALL_EVENTS);
	refresh();
	CHECK_EQ(task(0).state, WATCH_RUNNING);
	CHECK_EQ(task(0).since, WATCH_UNKNOWN);
	CHECK_EQ(task(0).runs, WATCH_UNKNOWN);
	CHECK_EQ(watch_totals(watch)->states[WATCH_RUNNING], 1);
	CHECK_EQ(watch_totals(watch)->states[WATCH_WAITING], 0);
	CHECK_EQ(watch_thread_count(watch), 1);
	/* On which thread, nobody noted. */
	CHECK_EQ(task(0).thread, 0);
	end_watch();
	end_child();
}

int main(void)
{
	RUN(a_program_is_seen_as_it_goes_on);
	RUN(who_comes_second_sees_the_table);
	RUN(tasks_that_ended_in_a_loss_are_not_shown);
	RUN(events_that_are_many_are_not_taken_unasked);
	RUN(who_comes_after_one_that_was_killed_begins_afresh);
	RUN(when_a_task_was_created_in_another_session_is_known);
	RUN(a_circle_of_tasks_is_found_with_their_chains);
	RUN(a_task_that_runs_since_before_is_seen_to_run);
	return check_done();
}

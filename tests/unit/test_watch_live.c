/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a watch shows of living programs: a child of the test, which does one thing at a time as it
 * is told and knows itself what it did and when.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena/clock.h"
#include "check.h"
#include "cli/guard.h"
#include "drain/find.h"
#include "emit/emit.h"
#include "unweave/chain.h"
#include "watch/watch.h"

#define MS UINT64_C(1000000)

/* What child and test have in common. */
static struct {
	_Atomic uint32_t asked, done; /* steps */
	_Atomic uint64_t tasks[8];
	/* clock_raw() around what the child does: a run takes at most `outer`, at least `inner`. */
	_Atomic uint64_t outer, inner;
	_Atomic bool enough;
} * common;

static pid_t child;
static struct attachment attachment;
static char arena_path[sizeof(attachment.path)];
static struct watch *watch;
static struct diag diag;

/* The child's part: does one step after the other, and then waits to be killed. */
static void start_child(void (*const *steps)(void))
{
	common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (common == MAP_FAILED)
		exit(1);
	fflush(stdout);
	child = fork();
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (; *steps; steps++) {
		while (atomic_load(&common->asked) <= atomic_load(&common->done))
			poll(NULL, 0, 1);
		(*steps)();
		atomic_fetch_add(&common->done, 1);
	}
	for (;;)
		pause();
}

/* Has the child do its next step; `wait` until it is done. */
static void step(bool wait)
{
	uint32_t wanted = atomic_fetch_add(&common->asked, 1) + 1;

	while (wait && atomic_load(&common->done) < wanted)
		poll(NULL, 0, 1);
}

/* And its arena, which outlives it. */
static void end_child(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	unlink(arena_path);
	munmap(common, sizeof(*common));
}

static void find_child(void)
{
	int r = find_pid(&attachment, (uint32_t)child, &diag);

	if (r < 0) {
		printf("Bail out! %s\n", diag.text);
		exit(1);
	}
	memcpy(arena_path, attachment.path, sizeof(arena_path));
	guard_begin(&attachment);
}

static void begin_watch(enum watch_wish wish)
{
	find_child();
	CHECK_EQ(watch_new(&watch, &attachment, wish, &diag), 0);
	CHECK_EQ(watch_totals(watch)->source, WATCH_EVENTS);
	CHECK_STR_EQ(watch_note(watch), "");
}

static void end_watch(void)
{
	watch = watch_free(watch);
	guard_end();
	attach_fini(&attachment);
}

static void refresh(void)
{
	CHECK_EQ(watch_refresh(watch), 0);
}

static struct watch_task task(int which)
{
	const struct watch_task *found = watch_task_find(watch, common->tasks[which]);

	CHECK(found != NULL);
	return found ? *found : (struct watch_task){0};
}

/* Times of the child are between what it read before and after a hook. */
static bool is_between(uint64_t value, uint64_t least, uint64_t most)
{
	/* The rate of the clock is measured: a per mille, and a little, to either side. */
	return value + value / 1000 + 100000 >= least && value <= most + most / 1000 + 100000;
}

static void make_old(void)
{
	common->tasks[0] = unweave_task_new(UNWEAVE_SITE("old"), UNWEAVE_MODEL_CHAIN, 0, NULL);
}

static void make_and_run(void)
{
	uint64_t before, after;

	common->tasks[1] = unweave_task_new(UNWEAVE_SITE("young"), UNWEAVE_MODEL_CHAIN,
					    common->tasks[0], NULL);
	unweave_task_name(common->tasks[1], "its name");
	before = clock_raw();
	unweave_task_resume(common->tasks[1]);
	after = clock_raw();
	poll(NULL, 0, 30);
	unweave_task_waits(common->tasks[1], UNWEAVE_WAIT_LOCK, 0x1234);
	common->inner = clock_raw() - after;
	unweave_task_suspend(common->tasks[1]);
	common->outer = clock_raw() - before;
}

static void wake_and_run_on(void)
{
	unweave_task_wake(common->tasks[1], UNWEAVE_SOURCE_TIMER);
	unweave_task_resume(common->tasks[1]);
	unweave_task_wake(common->tasks[1], UNWEAVE_SOURCE_TASK);
}

static void end_it(void)
{
	unweave_task_complete(common->tasks[1], UNWEAVE_OK);
}

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

static void watch_for(uint64_t ns)
{
	for (uint64_t end = clock_raw() + ns; clock_raw() < end;) {
		poll(NULL, 0, 5);
		CHECK(watch_pass(watch) >= 0);
	}
	refresh();
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

/* Watches the child, and is killed without a chance to say so. */
static void watch_and_die(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		find_child();
		if (watch_new(&watch, &attachment, WATCH_FEW_EVENTS, &diag) == 0 &&
		    watch_refresh(watch) == 0) {
			step(true);
			watch_refresh(watch);
		}
		kill(getpid(), SIGKILL);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
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

/* Until the watch has noticed, or nobody believes that it will. */
static bool becomes_over(void)
{
	for (int i = 0; i < 10000 && !watch_totals(watch)->over; i++) {
		refresh();
		poll(NULL, 0, 1);
	}
	return watch_totals(watch)->over;
}

static void become_another(void)
{
	execlp("sleep", "sleep", "1000", (char *)NULL);
	_exit(1);
}

static void a_program_that_ends_is_over(void)
{
	static void (*const steps[])(void) = {make_old, make_and_run, NULL};
	struct watch_row row;
	struct watch_found found;

	start_child(steps);
	step(true);
	begin_watch(WATCH_ALL_EVENTS);
	step(true);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(becomes_over());
	CHECK_STR_EQ(watch_note(watch), "the program has ended");
	/* What it had said is still there to be looked at. */
	CHECK_EQ(watch_totals(watch)->alive, 2);
	CHECK_EQ(task(1).runs, 1);
	CHECK_EQ(watch_select(watch, &(struct watch_query){0}, 0, 1, &row, &found), 1);
	CHECK_EQ(watch_choose(watch, common->tasks[1]), 0);
	CHECK_STR_EQ(watch_detail(watch)->no_frames, "the program has ended");
	CHECK_EQ(watch_pass(watch), 0);
	end_watch();
	unlink(arena_path);
	munmap(common, sizeof(*common));
}

static void what_ran_when_the_program_ended_is_still_shown(void)
{
	static void (*const steps[])(void) = {make_old, make_and_run, wake_and_run_on, NULL};
	const struct watch_thread *thread;
	uint64_t shown;

	start_child(steps);
	step(true);
	begin_watch(WATCH_ALL_EVENTS);
	refresh();
	step(true);
	step(true);
	watch_for(50 * MS);
	shown = watch_totals(watch)->now;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(becomes_over());
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(watch_totals(watch)->now, shown);
		CHECK_EQ(watch_totals(watch)->threads, 1);
		CHECK_EQ(task(1).state, WATCH_RUNNING);
		CHECK_EQ(watch_thread_count(watch), 1);
		thread = watch_thread_at(watch, 0);
		CHECK(!thread->ended);
		CHECK_EQ(thread->task, common->tasks[1]);
		CHECK(thread->task_ns >= 50 * MS && thread->task_ns != WATCH_UNKNOWN);
		CHECK(thread->busy > 0 && thread->busy != WATCH_UNKNOWN);
		refresh();
	}
	end_watch();
	unlink(arena_path);
	munmap(common, sizeof(*common));
}

/* Nothing was ever recorded of it: the table has its tasks and threads, and no times. */
static void of_a_program_that_has_ended_before_there_is_the_table(void)
{
	static void (*const steps[])(void) = {make_old, make_and_run, NULL};

	start_child(steps);
	step(true);
	step(true);
	find_child();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK_EQ(watch_new(&watch, &attachment, WATCH_FEW_EVENTS, &diag), 0);
	refresh();
	refresh();
	CHECK(watch_totals(watch)->over);
	CHECK_STR_EQ(watch_note(watch), "the program has ended");
	CHECK_EQ(watch_totals(watch)->source, WATCH_TABLE);
	CHECK_EQ(watch_totals(watch)->alive, 2);
	CHECK_EQ(watch_totals(watch)->threads, 1);
	CHECK_EQ(task(1).created, WATCH_UNKNOWN);
	CHECK_EQ(task(1).since, WATCH_UNKNOWN);
	CHECK_EQ(task(1).busy, WATCH_UNKNOWN);
	end_watch();
	unlink(arena_path);
	munmap(common, sizeof(*common));
}

/* The program and who watched it were killed at once: what lasted did so until then. */
static void times_of_a_program_that_has_ended_end_with_it(void)
{
	static void (*const steps[])(void) = {make_old, make_and_run, NULL};

	start_child(steps);
	step(true);
	fflush(stdout);
	watch_and_die();
	find_child();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	poll(NULL, 0, 100);
	CHECK_EQ(watch_new(&watch, &attachment, WATCH_FEW_EVENTS, &diag), 0);
	refresh();
	CHECK_EQ(task(1).state, WATCH_WAITING);
	CHECK_EQ(task(1).runs, 1);
	CHECK(is_between(task(1).busy, common->inner, common->outer));
	CHECK(watch_totals(watch)->now - task(1).since < 50 * MS);
	end_watch();
	unlink(arena_path);
	munmap(common, sizeof(*common));
}

static void a_program_that_becomes_another_is_over(void)
{
	static void (*const steps[])(void) = {make_old, become_another, NULL};

	start_child(steps);
	step(true);
	begin_watch(WATCH_ALL_EVENTS);
	refresh();
	step(false);
	CHECK(becomes_over());
	CHECK_STR_EQ(watch_note(watch), "the program has become another, by exec");
	end_watch();
	end_child();
}

static void an_arena_that_is_cut_ends_it(void)
{
	static void (*const steps[])(void) = {make_old, NULL};

	start_child(steps);
	step(true);
	begin_watch(WATCH_ALL_EVENTS);
	refresh();
	/* As if the program did it. */
	CHECK_EQ(truncate(attachment.path, 4096), 0);
	CHECK(becomes_over());
	CHECK_STR_EQ(watch_note(watch),
		     "the program has cut its arena: what it does now is not known");
	/* What was known before still is. */
	refresh();
	CHECK_EQ(watch_totals(watch)->alive, 1);
	end_watch();
	end_child();
}

/* Anything at all where threads, sites, tasks and records are. */
static void scribble(void)
{
	struct arena_control *control = emit_process.control;
	uint64_t *words = (uint64_t *)((char *)control + ARENA_LINES_AT);
	uint64_t *tasks = (uint64_t *)((char *)control + control->tasks_at);
	uint64_t seed = 20261115;

	for (int i = 0; i < 100000; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		words[(seed >> 33) % (1u << 17)] = seed >> (seed & 63);
		tasks[(seed >> 33) % 2048] = seed >> (seed & 31);
	}
}

static void look_at_all(void)
{
	static struct watch_row rows[64];
	struct watch_found found;
	struct watch_wait waits[8];

	for (unsigned i = 0; i < 2 * WATCH_COLUMNS; i++) {
		struct watch_query query = {.order = i / 2, .ascending = i % 2, .group = i % 3};

		CHECK(watch_select(watch, &query, 0, 64, rows, &found) >= 0);
	}
	for (uint32_t i = 0; i < WATCH_KINDS; i++)
		CHECK(watch_waits_on(watch, i, 8, waits) >= 0);
	watch_cycles(watch, note_circle, NULL);
	if (watch_task_count(watch)) {
		watch_choose(watch, watch_task_at(watch, 0)->id);
		watch_detail(watch);
	}
}

static void an_arena_full_of_nonsense_is_survived(void)
{
	static void (*const steps[])(void) = {make_old, make_and_run, scribble, scribble, NULL};

	for (int table = 0; table < 2; table++) {
		start_child(steps);
		step(true);
		find_child();
		CHECK_EQ(watch_new(&watch, &attachment, table ? WATCH_NO_EVENTS : WATCH_FEW_EVENTS,
				   &diag),
			 0);
		step(true);
		refresh();
		for (int i = 0; i < 2; i++) {
			step(true);
			CHECK_EQ(watch_refresh(watch), 0);
			look_at_all();
		}
		end_watch();
		end_child();
	}
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
	RUN(a_program_that_ends_is_over);
	RUN(what_ran_when_the_program_ended_is_still_shown);
	RUN(of_a_program_that_has_ended_before_there_is_the_table);
	RUN(times_of_a_program_that_has_ended_end_with_it);
	RUN(a_program_that_becomes_another_is_over);
	RUN(an_arena_that_is_cut_ends_it);
	RUN(an_arena_full_of_nonsense_is_survived);
	return check_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a watch shows of programs that end, become others, or break their arena. */
#include "watched_child.h"

/* Until the watch has noticed, or nobody believes that it will. */
static bool becomes_over(void)
{
	for (int i = 0; i < 10000 && !watch_totals(watch)->over; i++) {
		refresh();
		poll(NULL, 0, 1);
	}
	return watch_totals(watch)->over;
}

static void kill_child(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* It has ended, and so has the watch. */
static void forget_child(void)
{
	end_watch();
	unlink(arena_path);
	munmap(common, sizeof(*common));
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
	kill_child();
	CHECK(becomes_over());
	CHECK_STR_EQ(watch_note(watch), "the program has ended");
	/* What it had said is still there to be looked at. */
	CHECK_EQ(watch_totals(watch)->alive, 2);
	CHECK_EQ(task(1).runs, 1);
	CHECK_EQ(watch_select(watch, &(struct watch_query){0}, 0, 1, &row, &found), 1);
	CHECK_EQ(watch_choose(watch, common->tasks[1]), 0);
	CHECK_STR_EQ(watch_detail(watch)->no_frames, "the program has ended");
	CHECK_EQ(watch_pass(watch), 0);
	forget_child();
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
	kill_child();
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
	forget_child();
}

/* Nothing was ever recorded of it: the table has its tasks and threads, and no times. */
static void of_a_program_that_has_ended_before_there_is_the_table(void)
{
	static void (*const steps[])(void) = {make_old, make_and_run, NULL};

	start_child(steps);
	step(true);
	step(true);
	find_child();
	kill_child();
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
	forget_child();
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
	kill_child();
	poll(NULL, 0, 100);
	CHECK_EQ(watch_new(&watch, &attachment, WATCH_FEW_EVENTS, &diag), 0);
	refresh();
	CHECK_EQ(task(1).state, WATCH_WAITING);
	CHECK_EQ(task(1).runs, 1);
	CHECK(is_between(task(1).busy, common->inner, common->outer));
	CHECK(watch_totals(watch)->now - task(1).since < 50 * MS);
	forget_child();
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

static int pass_over(void *data, const uint64_t *tasks, uint32_t count)
{
	(void)data;
	(void)tasks;
	(void)count;
	return 0;
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
	watch_cycles(watch, pass_over, NULL);
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
	RUN(a_program_that_ends_is_over);
	RUN(what_ran_when_the_program_ended_is_still_shown);
	RUN(of_a_program_that_has_ended_before_there_is_the_table);
	RUN(times_of_a_program_that_has_ended_end_with_it);
	RUN(a_program_that_becomes_another_is_over);
	RUN(an_arena_that_is_cut_ends_it);
	RUN(an_arena_full_of_nonsense_is_survived);
	return check_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What still waits at the end of a trace, and what follows from that: traces made by hand. */
#include "view/lints.h"

#include <stdlib.h>
#include <time.h>

#include "survey_trace.h"

#define MS UINT64_C(1000000)
#define END (5000 * MS)

static struct encoder *one;

static void put(uint16_t kind, uint64_t time, uint64_t task, uint64_t other, uint64_t value)
{
	struct unweave_event event = {
		.kind = kind, .time = time, .task = task, .other = other, .value = value};

	if (kind == UNWEAVE_EVENT_SUSPEND)
		event.stack = stacks_push(maker.stacks, NULL, 0x1000 * task, 0, UNWEAVE_FRAME_CODE);
	maker_put(one, event);
}

static void begin_trace(void)
{
	maker_init(&maker, maker_path(), false);
	maker_session(&maker, 1000000000);
	maker_thread(&maker, 1, "one");
	maker_site(&maker, 1, "some", "create_some", "some.c", 10);
	one = maker_stream(&maker, 1, false, 0);
	put(UNWEAVE_EVENT_RESET, 1, 0, 0, 0);
}

/* A task is created, runs once, and waits. */
static void suspend_new(uint64_t task, uint64_t time)
{
	put(UNWEAVE_EVENT_CREATE, time, task, 0, 1);
	put(UNWEAVE_EVENT_RESUME, time, task, 0, 0);
	put(UNWEAVE_EVENT_SUSPEND, time + 1, task, 0, 0);
}

/* What they wait for, as pairs of a task and another. */
static void put_waits(const uint64_t (*pairs)[2], unsigned count, enum unweave_wait kind)
{
	buffer_put_varint(&maker.buffer, 10 * END); /* CLOCK_MONOTONIC */
	buffer_put_varint(&maker.buffer, 0);
	buffer_put_varint(&maker.buffer, count);
	for (unsigned i = 0; i < count; i++)
		meta_wait_encode(
			&maker.buffer,
			&(struct meta_wait){.task = pairs[i][0], .kind = kind, .on = pairs[i][1]});
	maker_flush(&maker);
	maker_block(&maker, BLOCK_WAITS, END);
}

static void read_until(uint64_t to)
{
	struct lint_limits limits;

	lint_limits_init(&limits);
	open_survey((struct survey_options){.limits = &limits, .to = to});
}

static void read_all(void)
{
	read_until(0);
}

static const struct lint_warning *warning(uint32_t index)
{
	static const struct lint_warning none = {.kind = LINT_KINDS};

	return index < survey->lints.count ? &survey->lints.at[index] : &none;
}

static void a_circle_is_told_once_in_the_order_in_which_they_wait(void)
{
	/* 18 and 20 lead to the circle; 30 waits for itself. */
	static const uint64_t pairs[][2] = {{10, 14}, {12, 10}, {14, 12},
					    {18, 10}, {20, 18}, {30, 30}};

	begin_trace();
	for (unsigned i = 0; i < 6; i++)
		suspend_new(pairs[i][0], 100 + 10 * i);
	put_waits(pairs, 6, UNWEAVE_WAIT_TASK);
	read_all();
	CHECK_EQ(survey->lints.count, 2);
	CHECK_EQ(warning(0)->kind, LINT_DEADLOCK);
	CHECK_EQ(warning(0)->count, 3);
	CHECK_EQ(warning(0)->tasks[0], 10);
	CHECK_EQ(warning(0)->tasks[1], 14);
	CHECK_EQ(warning(0)->tasks[2], 12);
	/* Since the last of them waits. */
	CHECK_EQ(warning(0)->worst, END - 121);
	CHECK_EQ(warning(1)->kind, LINT_DEADLOCK);
	CHECK_EQ(warning(1)->count, 1);
	CHECK_EQ(warning(1)->tasks[0], 30);
	close_survey();
}

#define GRAPH 40u

/* How many tasks are in the circle that `from` is in; 0: it is in none. By trying all ways. */
static unsigned steps_back(const uint64_t (*pairs)[2], unsigned count, uint64_t from)
{
	uint64_t at = from;

	for (unsigned steps = 1; steps <= count; steps++) {
		unsigned i = 0;

		while (i < count && pairs[i][0] != at)
			i++;
		if (i == count)
			return 0;
		at = pairs[i][1];
		if (at == from)
			return steps;
	}
	return 0;
}

static void try_graph(unsigned *seed)
{
	uint64_t pairs[GRAPH][2];
	unsigned count = 1 + (unsigned)rand_r(seed) % GRAPH, in_circles = 0, told = 0;

	begin_trace();
	for (unsigned i = 0; i < count; i++) {
		pairs[i][0] = 10 + 2 * i;
		/* Also for some that there are not. */
		pairs[i][1] = 10 + 2 * ((uint64_t)rand_r(seed) % (count + 2));
		suspend_new(pairs[i][0], 100 + 10 * i);
	}
	put_waits((const uint64_t(*)[2])pairs, count, UNWEAVE_WAIT_TASK);
	read_all();
	for (unsigned i = 0; i < count; i++)
		in_circles += steps_back((const uint64_t(*)[2])pairs, count, pairs[i][0]) > 0;
	for (uint32_t i = 0; i < survey->lints.count; i++) {
		CHECK_EQ(warning(i)->kind, LINT_DEADLOCK);
		CHECK_EQ(warning(i)->count,
			 steps_back((const uint64_t(*)[2])pairs, count, warning(i)->tasks[0]));
		told += (unsigned)warning(i)->count;
	}
	CHECK_EQ(told, in_circles);
	close_survey();
}

static void circles_of_any_graph_are_those_that_there_are(void)
{
	unsigned seed = 7;

	for (int i = 0; i < 300; i++)
		try_graph(&seed);
}

/* Each of very many leads to all that come after it, and to a circle that is too young. */
static void a_long_queue_is_walked_once(void)
{
	enum { LONG = 30000 };
	uint64_t(*pairs)[2] = calloc(LONG, sizeof(*pairs));
	clock_t start;

	begin_trace();
	for (unsigned i = 0; i < LONG; i++) {
		pairs[i][0] = 10 + 2 * i;
		pairs[i][1] = i + 1 < LONG ? pairs[i][0] + 2 : pairs[i - 1][0];
		suspend_new(pairs[i][0], i + 1 < LONG ? 100 + 10 * i : END - 10 * MS);
	}
	put_waits((const uint64_t(*)[2])pairs, LONG, UNWEAVE_WAIT_TASK);
	start = clock();
	read_all();
	/* As many as a block holds. That takes a tenth of a second; to walk from each to the end,
	 * 10 s. */
	CHECK((clock() - start) / CLOCKS_PER_SEC < 3);
	CHECK_EQ(survey->lints.waits->count, LONG);
	CHECK(survey->lints.waiting[0].waits && survey->lints.waiting[LONG - 1].waits);
	CHECK_EQ(survey->lints.count, 0);
	close_survey();
	free(pairs);
}

static void one_that_was_woken_is_in_no_circle(void)
{
	static const uint64_t pairs[][2] = {{10, 12}, {12, 10}};

	begin_trace();
	suspend_new(10, 100);
	suspend_new(12, 110);
	put(UNWEAVE_EVENT_WAKE, 200, 12, 0, UNWEAVE_SOURCE_IO);
	put_waits(pairs, 2, UNWEAVE_WAIT_TASK);
	read_all();
	CHECK_EQ(survey->lints.count, 0);
	close_survey();
}

static void nor_is_one_that_has_not_waited_for_long(void)
{
	static const uint64_t pairs[][2] = {{10, 12}, {12, 10}};

	begin_trace();
	suspend_new(10, 100);
	suspend_new(12, END - 900 * MS);
	put_waits(pairs, 2, UNWEAVE_WAIT_TASK);
	read_all();
	CHECK_EQ(survey->lints.count, 0);
	close_survey();
}

/* `how` it ends: 0 it does not, 1 it does, 2 it does while something is lost. */
static void lose_wake(int how)
{
	static const uint64_t pairs[][2] = {{10, 12}};

	begin_trace();
	suspend_new(12, 100);
	suspend_new(10, 110);
	if (how)
		put(UNWEAVE_EVENT_COMPLETE, 200, 12, 0, UNWEAVE_OK);
	if (how == 2)
		put(UNWEAVE_EVENT_LOST, 300, 0, UNWEAVE_LOSS_FULL, 1);
	put_waits(pairs, 1, UNWEAVE_WAIT_TASK);
}

static void a_wake_is_lost_if_the_task_has_ended(void)
{
	lose_wake(1);
	read_all();
	CHECK_EQ(survey->lints.count, 1);
	CHECK_EQ(warning(0)->kind, LINT_LOST_WAKE);
	CHECK_EQ(warning(0)->tasks[0], 10);
	CHECK_EQ(warning(0)->site, 1);
	close_survey();
}

static void but_not_if_it_lives_or_nobody_knows(void)
{
	static const uint64_t before[][2] = {{10, 12}};

	for (int how = 0; how <= 2; how += 2) {
		lose_wake(how);
		read_all();
		CHECK_EQ(survey->lints.count, 0);
		close_survey();
	}
	/* What is asked for is not the end. */
	lose_wake(1);
	read_until(150);
	CHECK_EQ(survey->lints.count, 0);
	close_survey();
	/* It waited before the trace began, and may have waited for something else since. */
	begin_trace();
	put(UNWEAVE_EVENT_TASK, 100, 10, 0, 1);
	put(UNWEAVE_EVENT_TASK, 100, 12, 0, 1);
	put(UNWEAVE_EVENT_COMPLETE, 200, 12, 0, UNWEAVE_OK);
	put_waits(before, 1, UNWEAVE_WAIT_TASK);
	read_all();
	CHECK_EQ(survey->lints.count, 0);
	close_survey();
}

/*
 * It waits for a moment that was 2 s before the end. The thread begins to wait for work at `idle`,
 * and goes on at `woke`; 0: it does not.
 */
static void miss_timer(uint64_t idle, uint64_t woke)
{
	static const uint64_t pairs[][2] = {{10, 10 * END - 2000 * MS}};

	begin_trace();
	suspend_new(10, 100);
	put(UNWEAVE_EVENT_IDLE, idle, 0, 0, 0);
	if (woke)
		suspend_new(12, woke);
	put_waits(pairs, 1, UNWEAVE_WAIT_TIMER);
	read_all();
}

static void a_timer_is_lost_if_a_thread_slept_instead(void)
{
	/* It began to after that moment. */
	miss_timer(END - 1900 * MS, END - 1890 * MS);
	CHECK_EQ(warning(0)->kind, LINT_LOST_WAKE);
	CHECK_EQ(warning(0)->worst, 2000 * MS);
	close_survey();
	/* Or before, and went on sleeping; to the end, too. */
	miss_timer(END - 2100 * MS, END - 1400 * MS);
	CHECK_EQ(warning(0)->kind, LINT_LOST_WAKE);
	close_survey();
	miss_timer(END - 2100 * MS, 0);
	CHECK_EQ(warning(0)->kind, LINT_LOST_WAKE);
	close_survey();
}

static void but_not_if_it_was_busy_since(void)
{
	miss_timer(END - 2100 * MS, END - 1990 * MS);
	CHECK_EQ(survey->lints.count, 0);
	close_survey();
	miss_timer(END - 2100 * MS, END - 2050 * MS);
	CHECK_EQ(survey->lints.count, 0);
	close_survey();
}

/* The run is cut by a loss, or by the end of the trace. */
static void run_on(bool loss)
{
	begin_trace();
	suspend_new(10, 100);
	put(UNWEAVE_EVENT_RESUME, 200 * MS, 10, 0, 0);
	put(UNWEAVE_EVENT_NAME, 210 * MS, 10, 0, 0);
	if (loss)
		put(UNWEAVE_EVENT_LOST, 220 * MS, 0, UNWEAVE_LOSS_FULL, 1);
	put_waits(NULL, 0, 0);
	read_all();
}

static void a_run_goes_on_after_the_last_event(void)
{
	run_on(false);
	CHECK_EQ(survey->lints.count, 1);
	CHECK_EQ(warning(0)->kind, LINT_ENDLESS);
	CHECK_EQ(warning(0)->worst, END - 200 * MS);
	close_survey();
	run_on(true);
	CHECK_EQ(survey->lints.count, 0);
	close_survey();
}

static void a_run_is_not_charged_with_waiting_for_work_nor_with_runs_inside(void)
{
	begin_trace();
	suspend_new(10, 100);
	put(UNWEAVE_EVENT_RESUME, 200 * MS, 10, 0, 0);
	put(UNWEAVE_EVENT_IDLE, 240 * MS, 0, 0, 0);
	put(UNWEAVE_EVENT_CREATE, 400 * MS, 12, 0, 1);
	put(UNWEAVE_EVENT_RESUME, 400 * MS, 12, 0, 0);
	put(UNWEAVE_EVENT_SUSPEND, 490 * MS, 12, 0, 0);
	put(UNWEAVE_EVENT_SUSPEND, 499 * MS, 10, 0, 0);
	put_waits(NULL, 0, 0);
	read_all();
	CHECK_EQ(survey->lints.count, 0);
	close_survey();
}

/* `does`: what the task does in each of its runs, besides waking itself. */
static void spin(uint16_t does)
{
	begin_trace();
	suspend_new(10, 100);
	put(UNWEAVE_EVENT_WAKE, 102, 10, 10, UNWEAVE_SOURCE_TASK);
	for (uint64_t i = 0; i < 2000; i++) {
		uint64_t time = 1000 + 1000 * i;

		put(UNWEAVE_EVENT_RESUME, time, 10, 0, 0);
		if (does)
			put(does, time + 1, 12 + 2 * i, 0, 1);
		put(UNWEAVE_EVENT_WAKE, time + 2, 10, 10, UNWEAVE_SOURCE_TASK);
		put(UNWEAVE_EVENT_SUSPEND, time + 3, 10, 0, 0);
	}
	put_waits(NULL, 0, 0);
	read_all();
}

static void runs_that_tell_something_are_not_empty(void)
{
	spin(0);
	CHECK_EQ(warning(0)->kind, LINT_EMPTY);
	CHECK_EQ(warning(0)->worst, 2000);
	CHECK_STR_EQ(warning(0)->label, "some");
	close_survey();
	spin(UNWEAVE_EVENT_CREATE);
	CHECK_EQ(warning(0)->kind, LINT_SELF_WAKES);
	CHECK_EQ(warning(0)->worst, 100);
	close_survey();
}

static void note_worst(struct lints *lints, const struct reader_site *site, uint64_t worst)
{
	struct lints_subject subject = {.site = site, .task = site->id, .label = site->name};
	struct lint_warning *told;

	maker_must(lints_note(lints, LINT_RUN, &subject, worst, &told));
}

static void what_is_put_in_order_can_go_on(void)
{
	struct reader_site first = {.id = 1, .name = "one"}, second = {.id = 2, .name = "two"};
	struct lint_limits limits;
	struct lints lints;

	lint_limits_init(&limits);
	maker_must(lints_init(&lints, &limits, NULL, NULL));
	note_worst(&lints, &first, 1);
	note_worst(&lints, &second, 2);
	maker_must(lints_order(&lints));
	CHECK_EQ(lints.at[0].site, 2);
	note_worst(&lints, &first, 3);
	maker_must(lints_order(&lints));
	CHECK_EQ(lints.count, 2);
	CHECK_EQ(lints.at[0].site, 1);
	CHECK_EQ(lints.at[0].count, 2);
	CHECK_STR_EQ(lints.at[0].label, "one");
	CHECK_EQ(lints.at[1].count, 1);
	/* What was not seen since then is forgotten, and so is what is to be judged anew. */
	lints.now = 9;
	note_worst(&lints, &second, 1);
	maker_must(lints_renew(&lints, LINT_RUN, 5));
	CHECK_EQ(lints.count, 1);
	note_worst(&lints, &second, 1);
	CHECK_EQ(lints.count, 1);
	CHECK_EQ(lints.at[0].count, 3);
	maker_must(lints_renew(&lints, LINT_LEAK, 0));
	CHECK_EQ(lints.count, 0);
	lints_fini(&lints);
}

int main(void)
{
	RUN(a_circle_is_told_once_in_the_order_in_which_they_wait);
	RUN(circles_of_any_graph_are_those_that_there_are);
	RUN(a_long_queue_is_walked_once);
	RUN(one_that_was_woken_is_in_no_circle);
	RUN(nor_is_one_that_has_not_waited_for_long);
	RUN(a_wake_is_lost_if_the_task_has_ended);
	RUN(but_not_if_it_lives_or_nobody_knows);
	RUN(a_timer_is_lost_if_a_thread_slept_instead);
	RUN(but_not_if_it_was_busy_since);
	RUN(a_run_goes_on_after_the_last_event);
	RUN(a_run_is_not_charged_with_waiting_for_work_nor_with_runs_inside);
	RUN(runs_that_tell_something_are_not_empty);
	RUN(what_is_put_in_order_can_go_on);
	return check_done();
}

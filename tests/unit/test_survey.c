/* SPDX-License-Identifier: Apache-2.0 */
/* What a report is made of. */
#include "view/survey.h"

#include <errno.h>

#include "survey_trace.h"
#include "unweave/callback.h"

static struct encoder *one, *two;

static void begin_trace(void)
{
	maker_init(&maker, maker_path(), false);
	maker_session(&maker, 1000000000);
	maker_thread(&maker, 1, "one");
	maker_thread(&maker, 2, "two");
	maker_site(&maker, 1, "accept", "serve", "server.c", 42);
	maker_site(&maker, 2, "", "handle", "server.c", 50);
	one = maker_stream(&maker, 1, false, 0);
	two = maker_stream(&maker, 2, false, 0);
}

static void create(struct encoder *to, uint64_t time, uint64_t task, uint64_t parent, uint64_t site)
{
	maker_put(to, (struct unweave_event){.kind = UNWEAVE_EVENT_CREATE,
					     .time = time,
					     .task = task,
					     .other = parent,
					     .value = site});
}

static void put(struct encoder *to, uint16_t kind, uint64_t time, uint64_t task, uint64_t leaf)
{
	struct unweave_event event = {.kind = kind, .time = time, .task = task};

	if (leaf)
		event.stack = stacks_push(maker.stacks, NULL, leaf, 0, UNWEAVE_FRAME_CODE);
	maker_put(to, event);
}

static void name(struct encoder *to, uint64_t time, uint64_t task, const char *text)
{
	maker_put(to,
		  (struct unweave_event){
			  .kind = UNWEAVE_EVENT_NAME, .time = time, .task = task, .text = text});
}

/* A run of `task`, that ends it if `last`. */
static void run(struct encoder *to, uint64_t start, uint64_t end, uint64_t task, uint64_t leaf,
		bool last)
{
	put(to, UNWEAVE_EVENT_RESUME, start, task, 0);
	put(to, last ? UNWEAVE_EVENT_COMPLETE : UNWEAVE_EVENT_SUSPEND, end, task, last ? 0 : leaf);
}

/* All activities as "parent/label tasks;". */
static const char *told_activities(void)
{
	static char text[2048];
	size_t length = 0;

	text[0] = 0;
	for (uint32_t i = 0; i < survey->activities.count; i++) {
		const struct activity *at = &survey->activities.at[i];
		const struct activity *parent =
			at->parent ? &survey->activities.at[at->parent - 1] : NULL;

		length += (size_t)snprintf(
			text + length, sizeof(text) - length, "%s/%s %u;",
			parent ? texts_get(survey->activities.texts, parent->label) : "",
			texts_get(survey->activities.texts, at->label), (unsigned)at->sums.tasks);
	}
	return text;
}

static void activities_are_below_what_created_them(void)
{
	begin_trace();
	create(one, 100, 2, 0, 1);
	for (uint64_t i = 0; i < 3; i++) {
		create(one, 110 + i, 10 + 4 * i, 2, 2);
		/* It has its name only later, and its child outlives it. */
		create(one, 110 + i, 12 + 4 * i, 10 + 4 * i, 0);
		name(one, 120 + i, 10 + 4 * i, i == 2 ? "odd" : "even");
		put(one, UNWEAVE_EVENT_COMPLETE, 130 + i, 10 + 4 * i, 0);
	}
	for (uint64_t i = 0; i < 3; i++)
		put(one, UNWEAVE_EVENT_COMPLETE, 140 + i, 12 + 4 * i, 0);
	open_survey((struct survey_options){0});
	CHECK_STR_EQ(told_activities(), "/accept 1;accept/even 2;accept/odd 1;"
					"even/(unnamed) 2;odd/(unnamed) 1;");
	CHECK_EQ(survey->activities.at[0].sums.incomplete, 1);
	CHECK_EQ(survey->activities.at[1].sums.first, 110);
	CHECK_EQ(survey->activities.at[1].sums.last, 131);
	CHECK_EQ(survey->activities.at[1].sums.longest, 20);
	CHECK_EQ(survey->activities.site_count, 2);
	CHECK_STR_EQ(survey->activities.sites[0].label, "task in handle");
	CHECK_EQ(survey->activities.sites[0].sums.tasks, 3);
	close_survey();
}

static void what_creates_its_own_kind_is_one_activity(void)
{
	begin_trace();
	create(one, 100, 2, 0, 1);
	for (uint64_t task = 4; task < 2000; task += 2) {
		create(one, 100 + task, task, task - 2, task % 4 ? 1 : 2);
		put(one, UNWEAVE_EVENT_COMPLETE, 101 + task, task - 2, 0);
	}
	open_survey((struct survey_options){0});
	CHECK_STR_EQ(told_activities(), "/accept 500;accept/task in handle 499;");
	close_survey();
}

static void a_line_of_names_is_not_as_deep_as_it_is_long(void)
{
	uint32_t deepest = 0;
	char text[16];

	begin_trace();
	for (uint64_t task = 2; task < 200; task += 2) {
		create(one, 100 + task, task, task > 2 ? task - 2 : 0, 1);
		snprintf(text, sizeof(text), "task %u", (unsigned)task);
		name(one, 100 + task, task, text);
		if (task > 2)
			put(one, UNWEAVE_EVENT_COMPLETE, 101 + task, task - 2, 0);
	}
	open_survey((struct survey_options){0});
	CHECK_EQ(survey->activities.count, 99);
	for (uint32_t i = 0; i < survey->activities.count; i++)
		if (survey->activities.at[i].depth > deepest)
			deepest = survey->activities.at[i].depth;
	CHECK_EQ(deepest, 15);
	close_survey();
}

static void tasks_that_name_each_other_as_parents_do_not_hang(void)
{
	begin_trace();
	create(one, 100, 2, 4, 1);
	create(one, 101, 4, 2, 2);
	create(one, 102, 6, 6, 2);
	put(one, UNWEAVE_EVENT_COMPLETE, 110, 2, 0);
	put(one, UNWEAVE_EVENT_COMPLETE, 111, 4, 0);
	open_survey((struct survey_options){0});
	CHECK_EQ(survey->totals->tasks, 3);
	close_survey();
}

static void only_the_longest_runs_are_kept(void)
{
	begin_trace();
	for (uint64_t i = 0; i < 500; i++)
		run(one, 1000 * i, 1000 * i + i * 7 % 500, 2, 0x1000, false);
	open_survey((struct survey_options){.runs_most = 5});
	CHECK_EQ(survey->run_count, 5);
	for (uint32_t i = 0; i < survey->run_count; i++)
		CHECK_EQ(survey->runs[i].run.end - survey->runs[i].run.start, 499 - i);
	CHECK_EQ(survey->runs[0].task, 2);
	CHECK_EQ(survey->run_counts[8], 244); /* of 256 to 499 ns */
	CHECK_EQ(survey->run_counts[0], 2);   /* of 0 and 1 */
	close_survey();
}

static void tasks_are_kept_by_what_is_asked_for(void)
{
	begin_trace();
	for (uint64_t task = 2; task < 200; task += 2) {
		create(one, 1000 * task, task, 0, task % 10 ? 1 : 2);
		run(one, 1000 * task + 1, 1000 * task + 300 - task, task, 0, true);
	}
	open_survey((struct survey_options){
		.tasks_most = 3, .order = SURVEY_BY_RUNNING, .filter = "HANDLE"});
	CHECK_EQ(survey->task_count, 3);
	CHECK_EQ(survey->tasks[0].task.id, 10);
	CHECK_EQ(survey->tasks[1].task.id, 20);
	CHECK_STR_EQ(survey->tasks[2].task.label, "task in handle");
	close_survey();
}

static void waits_of_one_chain_are_one(void)
{
	begin_trace();
	run(one, 100, 110, 2, 0x1000, false);
	run(one, 150, 160, 2, 0x1000, false);
	run(one, 160, 170, 2, 0x2000, false);
	put(one, UNWEAVE_EVENT_WAKE, 180, 2, 0);
	run(two, 200, 210, 2, 0x1000, false);
	put(two, UNWEAVE_EVENT_IDLE, 300, 0, 0);
	open_survey((struct survey_options){0});
	CHECK_EQ(survey->wait_count, 2);
	CHECK_EQ(survey->waits[0].count, 3);
	CHECK_EQ(survey->waits[0].pending, 40 + 0 + 90);
	CHECK_EQ(survey->waits[0].longest, 90);
	CHECK_EQ(survey->waits[0].unended, 1);
	CHECK_EQ(survey->waits[1].pending, 10);
	CHECK_EQ(survey->waits[1].queued, 20);
	CHECK_STR_EQ(profile_name(survey->profile,
				  profile_at(survey->profile, survey->waits[1].node)->name)
			     ->function,
		     "0x2000");
	close_survey();
}

static void threads_know_their_tasks_and_their_idle_time(void)
{
	begin_trace();
	run(one, 100, 110, 2, 0, false);
	run(one, 110, 120, 4, 0, false);
	run(one, 120, 130, 2, 0, false);
	put(one, UNWEAVE_EVENT_IDLE, 130, 0, 0);
	run(two, 150, 160, 2, 0, false);
	run(one, 170, 180, 4, 0, false);
	open_survey((struct survey_options){0});
	CHECK_EQ(survey->thread_count, 2);
	CHECK_EQ(survey->threads[0].runs, 4);
	CHECK_EQ(survey->threads[0].tasks, 2);
	CHECK_EQ(survey->threads[0].busy, 40);
	CHECK_EQ(survey->threads[0].idle, 40);
	CHECK_EQ(survey->threads[1].tasks, 1);
	close_survey();
}

static void tasks_before_the_window_count_only_as_parents(void)
{
	begin_trace();
	create(one, 100, 2, 0, 1);
	create(one, 110, 4, 2, 2);
	put(one, UNWEAVE_EVENT_COMPLETE, 120, 2, 0);
	run(one, 300, 310, 4, 0, true);
	open_survey((struct survey_options){.from = 200, .to = 305});
	CHECK_STR_EQ(told_activities(), "/accept 0;accept/task in handle 1;");
	CHECK_EQ(survey->totals->runs, 1);
	CHECK_EQ(survey->totals->busy, 5);
	close_survey();
}

static void callback_site(uint32_t id, const char *kind, uint64_t code, uint32_t under,
			  uint32_t flags)
{
	maker_callbacks(&maker, &(struct meta_site){.id = id,
						    .kind = maker_text(kind),
						    .code = code,
						    .place = 0x2001,
						    .under = under,
						    .flags = flags});
}

/* A listener, whose two calls make a reader each; those are called thrice and write once. */
static void put_callbacks(void)
{
	begin_trace();
	callback_site(11, "listen", 0x1000, 0, UNWEAVE_SITE_STANDING);
	callback_site(12, "listen", 0x1000, 0, UNWEAVE_SITE_FIRED);
	callback_site(13, "read", 0x3000, 12, UNWEAVE_SITE_STANDING);
	callback_site(14, "read", 0x3000, 12, UNWEAVE_SITE_FIRED);
	callback_site(15, "write", 0x4000, 14, 0);
	callback_site(16, "loop", 0x5000, 0, UNWEAVE_SITE_STANDING | UNWEAVE_SITE_LOOP);
	create(one, 100, 2, 0, 16);
	create(one, 100, 4, 0, 11);
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t task = 100 * (i + 1), at = 1000 * (i + 1);

		create(one, at, task, 4, 12);
		put(one, UNWEAVE_EVENT_RESUME, at, task, 0);
		create(one, at + 1, task + 2, task, 13);
		put(one, UNWEAVE_EVENT_COMPLETE, at + 2, task, 0);
		for (uint64_t k = 0; k < 3; k++) {
			create(one, at + 10 + k, task + 10 + 2 * k, task + 2, 14);
			put(one, UNWEAVE_EVENT_RESUME, at + 10 + k, task + 10 + 2 * k, 0);
			if (k == 2)
				create(one, at + 12, task + 20, task + 14, 15);
			put(one, UNWEAVE_EVENT_COMPLETE, at + 11 + k, task + 10 + 2 * k, 0);
		}
	}
	put(one, UNWEAVE_EVENT_COMPLETE, 3000, 102, 0);
	put(one, UNWEAVE_EVENT_COMPLETE, 3000, 120, 0);
}

static void what_stands_is_apart_from_its_calls(void)
{
	const struct activity *at;

	put_callbacks();
	open_survey((struct survey_options){0});
	CHECK_STR_EQ(told_activities(), "/listen 0x1000 1;listen 0x1000/listen 0x1000 2;"
					"listen 0x1000/read 0x3000 2;read 0x3000/read 0x3000 6;"
					"read 0x3000/write 0x4000 2;/loop in 0x2000 1;");
	at = survey->activities.at;
	CHECK_EQ(at[0].role, NAMING_STANDING);
	CHECK_EQ(at[1].role, NAMING_TASK);
	CHECK_EQ(at[2].role, NAMING_STANDING);
	CHECK_EQ(at[5].role, NAMING_LOOP);
	CHECK_STR_EQ(at[3].kind, "read");
	close_survey();
}

static void what_stands_is_not_incomplete(void)
{
	put_callbacks();
	open_survey((struct survey_options){.tasks_most = 10, .incomplete = true});
	CHECK_EQ(survey->activities.at[2].sums.incomplete, 0);
	CHECK_EQ(survey->activities.at[2].sums.open, 1);
	CHECK_EQ(survey->activities.at[4].sums.incomplete, 1);
	CHECK_EQ(survey->standing, 4);
	CHECK_EQ(survey->open, 3);
	CHECK_EQ(survey->task_count, 1);
	CHECK_EQ(survey->tasks[0].task.id, 220);
	close_survey();
}

static void loop_event(uint16_t kind, uint64_t time)
{
	maker_put(one, (struct unweave_event){.kind = kind, .time = time, .task = 2});
}

/*
 * Three iterations of a loop: one call of 5; one of 70, which two of 1 have to wait for; two of 1,
 * the first of which was due in the one of 70.
 */
static void put_loop(void)
{
	begin_trace();
	callback_site(14, "read", 0x3000, 0, UNWEAVE_SITE_FIRED);
	callback_site(16, "loop", 0x5000, 0, UNWEAVE_SITE_STANDING | UNWEAVE_SITE_LOOP);
	create(one, 100, 2, 0, 16);
	loop_event(UNWEAVE_EVENT_IDLE, 100);
	loop_event(UNWEAVE_EVENT_WOKE, 200);
	create(one, 200, 10, 0, 14);
	run(one, 200, 205, 10, 0, true);
	loop_event(UNWEAVE_EVENT_IDLE, 210);
	loop_event(UNWEAVE_EVENT_WOKE, 300);
	create(one, 300, 12, 0, 14);
	run(one, 300, 370, 12, 0, true);
	for (uint64_t i = 0; i < 2; i++) {
		create(one, 370 + i, 14 + 2 * i, 0, 14);
		run(one, 370 + i, 371 + i, 14 + 2 * i, 0, true);
	}
	loop_event(UNWEAVE_EVENT_IDLE, 380);
	loop_event(UNWEAVE_EVENT_WOKE, 400);
	maker_put(one, (struct unweave_event){.kind = UNWEAVE_EVENT_DUE, .time = 400, .value = 31});
	for (uint64_t i = 0; i < 2; i++) {
		create(one, 400 + i, 18 + 2 * i, 0, 14);
		run(one, 400 + i, 401 + i, 18 + 2 * i, 0, true);
	}
	loop_event(UNWEAVE_EVENT_IDLE, 402);
	loop_event(UNWEAVE_EVENT_WOKE, 500);
	put(one, UNWEAVE_EVENT_COMPLETE, 500, 2, 0);
}

static void loops_are_told_with_what_kept_them(void)
{
	const struct loops_loop *loop;

	put_loop();
	open_survey((struct survey_options){.runs_most = 5});
	CHECK_EQ(survey->loops.count, 1);
	loop = &survey->loops.at[0];
	CHECK_STR_EQ(loop->label, "loop in 0x2000");
	CHECK_EQ(loop->thread, 1);
	CHECK_EQ(loop->runs, 6);
	CHECK_EQ(loop->idle, 100 + 90 + 20 + 98);
	CHECK_EQ(loop->busy, 10 + 80 + 2);
	CHECK_EQ(loop->iteration.longest, 80);
	CHECK_EQ(loop->lag.count, 6);
	CHECK_EQ(loop->lag.longest, 71);
	CHECK_EQ(loop->worst.iteration.task, 12);
	CHECK_EQ(loop->worst.iteration.run_ns, 70);
	CHECK_EQ(loop->worst.iteration.runs, 3);
	CHECK_EQ(loop->worst.iteration.ready, 3);
	CHECK_STR_EQ(loop->worst.label, "read 0x3000");
	close_survey();
}

static void a_trace_without_loops_has_none(void)
{
	put_callbacks();
	open_survey((struct survey_options){0});
	/* One that never says that it waits did nothing that is known. */
	CHECK_EQ(survey->loops.count, 0);
	close_survey();
}

int main(void)
{
	RUN(loops_are_told_with_what_kept_them);
	RUN(a_trace_without_loops_has_none);
	RUN(what_stands_is_apart_from_its_calls);
	RUN(what_stands_is_not_incomplete);
	RUN(activities_are_below_what_created_them);
	RUN(what_creates_its_own_kind_is_one_activity);
	RUN(a_line_of_names_is_not_as_deep_as_it_is_long);
	RUN(tasks_that_name_each_other_as_parents_do_not_hang);
	RUN(only_the_longest_runs_are_kept);
	RUN(tasks_are_kept_by_what_is_asked_for);
	RUN(waits_of_one_chain_are_one);
	RUN(threads_know_their_tasks_and_their_idle_time);
	RUN(tasks_before_the_window_count_only_as_parents);
	return check_done();
}

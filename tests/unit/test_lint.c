/* SPDX-License-Identifier: Apache-2.0 */
/* When each warning is told, and when not. */
#include "view/lint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)

static struct lint_limits usual(void)
{
	struct lint_limits limits;

	lint_limits_init(&limits);
	return limits;
}

static int set(struct lint_limits *limits, const char *text, struct diag *diag)
{
	*limits = usual();
	*diag = (struct diag){0};
	return lint_limits_set(limits, text, diag);
}

static void limits_are_set_by_name(void)
{
	struct lint_limits limits;
	struct diag diag;

	CHECK_EQ(set(&limits, "run=10ms,queue=none,self-wakes=80%,leak=7", &diag), 0);
	CHECK_EQ(limits.at[LINT_RUN], 10 * MS);
	CHECK_EQ(limits.at[LINT_QUEUE], LINT_OFF);
	CHECK_EQ(limits.at[LINT_SELF_WAKES], 80);
	CHECK_EQ(limits.at[LINT_LEAK], 7);
	CHECK(limits.set[LINT_RUN] && !limits.set[LINT_WAIT]);
	CHECK_EQ(limits.at[LINT_WAIT], lint_rule(LINT_WAIT)->limit);
	CHECK_EQ(set(&limits, "none,wait=2s", &diag), 0);
	for (int i = 0; i < LINT_KINDS; i++)
		CHECK_EQ(limits.at[i], i == LINT_WAIT ? 2 * S : LINT_OFF);
}

static void a_slip_gets_a_sentence(void)
{
	static const char *const bad[] = {
		"",        "ruin=1s", "run",     "run=",           "run=x",
		"run=1s,", "leak=1s", "leak=1 ", "self-wakes=101", "run=-1"};
	struct lint_limits limits;
	struct diag diag;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_EQ(set(&limits, bad[i], &diag), -EINVAL);
		CHECK(diag.text[0] && diag.hint[0]);
	}
}

static void limits_can_be_shown(void)
{
	CHECK_STR_EQ(lint_limit_text(LINT_RUN, 100 * MS).text, "100 ms");
	CHECK_STR_EQ(lint_limit_text(LINT_SELF_WAKES, 50).text, "50 %");
	CHECK_STR_EQ(lint_limit_text(LINT_LEAK, 100).text, "100");
	CHECK_STR_EQ(lint_limit_text(LINT_LEAK, LINT_OFF).text, "none");
}

static void a_run_is_long_or_has_no_end(void)
{
	struct lint_limits limits = usual();

	CHECK_EQ(lint_judge_run(&limits, 100 * MS - 1, true), LINT_KINDS);
	CHECK_EQ(lint_judge_run(&limits, 100 * MS, true), LINT_RUN);
	CHECK_EQ(lint_judge_run(&limits, 5 * S, true), LINT_RUN);
	CHECK_EQ(lint_judge_run(&limits, S - 1, false), LINT_RUN);
	CHECK_EQ(lint_judge_run(&limits, S, false), LINT_ENDLESS);
	limits.at[LINT_RUN] = limits.at[LINT_ENDLESS] = LINT_OFF;
	CHECK_EQ(lint_judge_run(&limits, 100 * S, false), LINT_KINDS);
}

static enum lint_kind judge_wait(struct lint_waiting waiting)
{
	struct lint_limits limits = usual();

	return lint_judge_wait(&limits, &waiting);
}

static void a_wake_is_lost_only_if_what_was_waited_for_has_happened(void)
{
	struct lint_waiting task = {.ns = S, .waits = UNWEAVE_WAIT_TASK, .gone = true};
	struct lint_waiting timer = {
		.ns = 9 * S, .waits = UNWEAVE_WAIT_TIMER, .overdue = S, .idled = true};

	CHECK_EQ(judge_wait(task), LINT_LOST_WAKE);
	task.gone = false;
	task.ns = 1000 * S;
	CHECK_EQ(judge_wait(task), LINT_KINDS);
	task.gone = true;
	task.ns = S - 1;
	CHECK_EQ(judge_wait(task), LINT_KINDS);
	CHECK_EQ(judge_wait(timer), LINT_LOST_WAKE);
	timer.idled = false;
	CHECK_EQ(judge_wait(timer), LINT_KINDS);
	timer.idled = timer.kept = true;
	CHECK_EQ(judge_wait(timer), LINT_KINDS);
	timer.kept = false;
	timer.overdue = S - 1;
	CHECK_EQ(judge_wait(timer), LINT_KINDS);
}

static void of_long_waits_only_those_for_locks_are_told_unless_asked_for(void)
{
	struct lint_limits limits = usual();
	struct lint_waiting waiting = {.ns = 10 * S, .waits = UNWEAVE_WAIT_LOCK};

	CHECK_EQ(judge_wait(waiting), LINT_WAIT);
	for (int kind = UNWEAVE_WAIT_NONE; kind <= UNWEAVE_WAIT_OTHER; kind++) {
		waiting.waits = (enum unweave_wait)kind;
		limits.set[LINT_WAIT] = false;
		CHECK_EQ(lint_judge_wait(&limits, &waiting),
			 kind == UNWEAVE_WAIT_LOCK ? LINT_WAIT : LINT_KINDS);
		limits.set[LINT_WAIT] = true;
		CHECK_EQ(lint_judge_wait(&limits, &waiting),
			 kind == UNWEAVE_WAIT_TIMER ? LINT_KINDS : LINT_WAIT);
	}
}

static enum lint_kind judge_queue(uint64_t waits, uint64_t late, uint64_t episodes, uint64_t worst)
{
	struct lint_limits limits = usual();

	return lint_judge_queue(&limits, &(struct lint_queueing){waits, late, episodes, worst});
}

static void one_stall_is_no_queue(void)
{
	CHECK_EQ(judge_queue(100, 5, 5, 150 * MS), LINT_QUEUE);
	CHECK_EQ(judge_queue(100, 90, 4, 150 * MS), LINT_KINDS);
	CHECK_EQ(judge_queue(1000, 9, 9, 150 * MS), LINT_KINDS);
	CHECK_EQ(judge_queue(100000, 1, 1, S), LINT_QUEUE);
	CHECK_EQ(judge_queue(100, 0, 0, 0), LINT_KINDS);
}

static enum lint_kind judge_wakes(struct lint_waking waking)
{
	struct lint_limits limits = usual();

	return lint_judge_wakes(&limits, &waking);
}

static void a_task_that_yields_while_it_works_may_wake_itself(void)
{
	struct lint_waking waking = {.wakes = 200, .self_wakes = 100, .runs = 200, .busy = 2 * MS};

	CHECK_EQ(judge_wakes(waking), LINT_SELF_WAKES);
	CHECK_EQ(lint_self_percent(&waking), 50);
	waking.self_wakes = 99;
	CHECK_EQ(judge_wakes(waking), LINT_KINDS);
	waking.self_wakes = 200;
	waking.busy = 20 * MS;
	CHECK_EQ(judge_wakes(waking), LINT_KINDS);
	waking = (struct lint_waking){.wakes = 99, .self_wakes = 99, .runs = 99};
	CHECK_EQ(judge_wakes(waking), LINT_KINDS);
}

static void runs_are_empty_if_nearly_all_are(void)
{
	struct lint_waking waking = {.wakes = 1100,
				     .self_wakes = 1100,
				     .runs = 1100,
				     .empty_runs = 1000,
				     .busy = 1100 * 1000};

	CHECK_EQ(judge_wakes(waking), LINT_EMPTY);
	waking.empty_runs = 999;
	CHECK_EQ(judge_wakes(waking), LINT_SELF_WAKES);
	waking.empty_runs = 1000;
	waking.runs = 1200;
	CHECK_EQ(judge_wakes(waking), LINT_SELF_WAKES);
}

/* For so many ms, each of which creates `made` tasks and ends `gone` of them in a hundred. */
static struct lint_growth grow_for(uint64_t ms, uint64_t from, uint64_t to, uint64_t gone)
{
	struct lint_growth growth = {0};

	for (uint64_t now = 0; now < ms; now++) {
		lint_growth_until(&growth, (now + 1) * MS);
		if (now < from || now >= to)
			continue;
		growth.created++;
		if (now % 100 >= gone)
			growth.live++;
	}
	lint_growth_until(&growth, (ms + 1) * MS);
	return growth;
}

static enum lint_kind judge_growth(struct lint_growth growth)
{
	struct lint_limits limits = usual();

	return lint_judge_growth(&limits, &growth);
}

static void a_site_leaks_if_it_grows_all_the_time_and_few_end(void)
{
	CHECK_EQ(judge_growth(grow_for(2100, 0, UINT64_MAX, 0)), LINT_LEAK);
	CHECK_EQ(judge_growth(grow_for(60000, 0, UINT64_MAX, 5)), LINT_LEAK);
	/* A fifth of them end. */
	CHECK_EQ(judge_growth(grow_for(60000, 0, UINT64_MAX, 20)), LINT_KINDS);
	/* It has grown, and has stopped doing so. */
	CHECK_EQ(judge_growth(grow_for(60000, 0, 30000, 0)), LINT_KINDS);
	/* It began to grow only now. */
	CHECK_EQ(judge_growth(grow_for(60000, 50000, UINT64_MAX, 0)), LINT_KINDS);
	CHECK_EQ(judge_growth(grow_for(1900, 0, UINT64_MAX, 0)), LINT_KINDS);
	CHECK_EQ(judge_growth((struct lint_growth){0}), LINT_KINDS);
}

static void tasks_that_are_found_late_are_no_growth(void)
{
	struct lint_growth growth = {0};

	for (uint64_t now = 1; now < 5000; now++) {
		lint_growth_until(&growth, now * MS);
		lint_growth_before(&growth);
	}
	CHECK_EQ(growth.live, 4999);
	CHECK_EQ(judge_growth(growth), LINT_KINDS);
}

static void growth_goes_on_for_years_and_over_gaps(void)
{
	struct lint_growth growth = {0};

	lint_growth_until(&growth, 1);
	growth.live = growth.created = 1000;
	lint_growth_until(&growth, UINT64_MAX);
	CHECK(growth.parts >= LINT_PARTS / 2 && growth.parts <= LINT_PARTS);
	CHECK_EQ(growth.live_at[growth.parts - 1], 1000);
	CHECK_EQ(judge_growth(growth), LINT_KINDS);
	/* Time that goes back is no time. */
	lint_growth_until(&growth, 5);
	CHECK(growth.parts <= LINT_PARTS);
}

static void each_kind_has_its_words(void)
{
	for (int kind = 0; kind < LINT_KINDS; kind++) {
		struct lint_warning warning = {.kind = (enum lint_kind)kind,
					       .label = "some task",
					       .worst = 5 * S,
					       .count = 3,
					       .of = 9,
					       .tasks = {1},
					       .names = {"some task"},
					       .task_count = 1,
					       .function = "here"};
		const struct lint_rule *rule = lint_rule((enum lint_kind)kind);
		char *text = NULL;
		size_t length;
		FILE *to = open_memstream(&text, &length);

		lint_say(to, &warning);
		fclose(to);
		CHECK(strstr(text, "some task") && text[length - 1] == '.');
		CHECK(rule->name && rule->title && rule->meaning[strlen(rule->meaning) - 1] == '.');
		free(text);
		/* Nothing is known but that it is so. */
		text = NULL;
		to = open_memstream(&text, &length);
		lint_say(to, &(struct lint_warning){.kind = (enum lint_kind)kind});
		fclose(to);
		CHECK(length > 10);
		free(text);
	}
}

static void a_circle_of_tasks_without_names_has_words(void)
{
	struct lint_warning warning = {
		.kind = LINT_DEADLOCK, .count = 2, .task_count = 2, .names = {"", "bob"}};
	char *text = NULL;
	size_t length;
	FILE *to = open_memstream(&text, &length);

	lint_say(to, &warning);
	fclose(to);
	CHECK(strstr(text, "an unnamed task waits for bob, which waits for the first one: "));
	free(text);
}

int main(void)
{
	RUN(limits_are_set_by_name);
	RUN(a_slip_gets_a_sentence);
	RUN(limits_can_be_shown);
	RUN(a_run_is_long_or_has_no_end);
	RUN(a_wake_is_lost_only_if_what_was_waited_for_has_happened);
	RUN(of_long_waits_only_those_for_locks_are_told_unless_asked_for);
	RUN(one_stall_is_no_queue);
	RUN(a_task_that_yields_while_it_works_may_wake_itself);
	RUN(runs_are_empty_if_nearly_all_are);
	RUN(a_site_leaks_if_it_grows_all_the_time_and_few_end);
	RUN(tasks_that_are_found_late_are_no_growth);
	RUN(growth_goes_on_for_years_and_over_gaps);
	RUN(each_kind_has_its_words);
	RUN(a_circle_of_tasks_without_names_has_words);
	return check_done();
}

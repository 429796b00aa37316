/* SPDX-License-Identifier: Apache-2.0 */
/* Each hook, as a listener in the same process sees it. */
#include <errno.h>
#include <pthread.h>

#include "collect.h"

#define CHAIN UNWEAVE_MODEL_CHAIN
#define MACHINE UNWEAVE_MODEL_MACHINE
#define KEYWORDS 14

/* Expects the next event, from `*at` on, and returns it. */
static const struct seen *expect(size_t *at, enum unweave_event_kind kind, uint64_t task,
				 uint64_t other, uint64_t value)
{
	static const struct seen nothing;
	const struct seen *seen = &nothing;

	if (*at < collected.count)
		seen = &collected.seen[(*at)++];
	CHECK_EQ(seen->event.kind, kind);
	CHECK_EQ(seen->event.task, task);
	CHECK_EQ(seen->event.other, other);
	CHECK_EQ(seen->event.value, value);
	return seen;
}

static void check_frames(const struct seen *seen, const uint64_t *addresses, const int32_t *states,
			 uint32_t count)
{
	CHECK_EQ(seen->frame_count, count);
	for (uint32_t i = 0; i < count && i < seen->frame_count; i++) {
		CHECK_EQ(seen->frames[i].kind, UNWEAVE_FRAME_CODE);
		CHECK_EQ(seen->frames[i].address, addresses[i]);
		CHECK_EQ(seen->frames[i].state, states ? states[i] : 0);
		CHECK_EQ(seen->frames[i].depth, count - i);
	}
}

static void every_hook_arrives_with_all_it_was_given_in(enum unweave_model model)
{
	const uint64_t addresses[] = {0x401000, 0x402000, UINT64_MAX};
	const int32_t states[] = {-1, 7, INT32_MAX};
	const struct unweave_stack plain = {.addresses = addresses, .count = 3};
	const struct unweave_stack stated = {addresses, states, 3, 0};
	struct unweave_site *site = UNWEAVE_SITE("a site");
	uint64_t first, second;
	size_t at = 0;

	collect_begin(0);
	first = unweave_task_new(site, model, 0, NULL);
	unweave_task_resume(first);
	second = unweave_task_new(NULL, model, UNWEAVE_PARENT_CURRENT, &stated);
	unweave_task_name(second, "the second");
	unweave_task_resume_stack(second, &plain);
	unweave_frame_resume(second);
	unweave_frame_complete(second);
	unweave_frame_unwind(second, 3, 1);
	unweave_frame_unwind(second, 70000, 0);
	unweave_anchor_reset(second);
	unweave_task_wake(first, UNWEAVE_SOURCE_TASK);
	unweave_task_wake(first, UNWEAVE_SOURCE_TIMER);
	unweave_task_wake(first, UNWEAVE_SOURCE_IO);
	unweave_task_wake(first, UNWEAVE_SOURCE_SIGNAL);
	unweave_task_wake(first, UNWEAVE_SOURCE_OTHER);
	unweave_task_suspend_stack(second, &stated);
	unweave_task_append(second, &plain);
	unweave_task_suspend(first);
	unweave_thread_idle();
	unweave_task_complete(first, UNWEAVE_CANCELLED);
	unweave_task_resume(second);
	unweave_task_complete(second, UNWEAVE_ERROR);
	unweave_stop();

	CHECK(first && second && first != second);
	CHECK_EQ(first & 1, model);
	expect(&at, UNWEAVE_EVENT_RESET, 0, 0, UNWEAVE_RESET_START);
	/* Ids are given at the first use: it is enough that there is one. */
	CHECK(collect_nth(UNWEAVE_EVENT_CREATE, 0)->event.value == site->id && site->id);
	expect(&at, UNWEAVE_EVENT_CREATE, first, 0, site->id);
	expect(&at, UNWEAVE_EVENT_RESUME, first, 0, 0);
	check_frames(expect(&at, UNWEAVE_EVENT_CREATE, second, first, 0), addresses, states, 3);
	CHECK_STR_EQ(expect(&at, UNWEAVE_EVENT_NAME, second, 0, 0)->text, "the second");
	check_frames(expect(&at, UNWEAVE_EVENT_RESUME, second, 0, 0), addresses, NULL, 3);
	expect(&at, UNWEAVE_EVENT_FRAME_RESUME, second, 0, 0);
	expect(&at, UNWEAVE_EVENT_FRAME_COMPLETE, second, 0, 0);
	expect(&at, UNWEAVE_EVENT_UNWIND, second, 0, 3 << 1 | 1);
	expect(&at, UNWEAVE_EVENT_UNWIND, second, 0, 70000 << 1);
	expect(&at, UNWEAVE_EVENT_ANCHOR_RESET, second, 0, 0);
	expect(&at, UNWEAVE_EVENT_WAKE, first, second, UNWEAVE_SOURCE_TASK);
	expect(&at, UNWEAVE_EVENT_WAKE, first, second, UNWEAVE_SOURCE_TIMER);
	expect(&at, UNWEAVE_EVENT_WAKE, first, second, UNWEAVE_SOURCE_IO);
	expect(&at, UNWEAVE_EVENT_WAKE, first, second, UNWEAVE_SOURCE_SIGNAL);
	expect(&at, UNWEAVE_EVENT_WAKE, first, second, UNWEAVE_SOURCE_OTHER);
	check_frames(expect(&at, UNWEAVE_EVENT_SUSPEND, second, 0, 0), addresses, states, 3);
	CHECK_EQ(expect(&at, UNWEAVE_EVENT_APPEND, second, 0, 0)->frame_count, 6);
	expect(&at, UNWEAVE_EVENT_SUSPEND, first, 0, 0);
	expect(&at, UNWEAVE_EVENT_IDLE, 0, 0, 0);
	expect(&at, UNWEAVE_EVENT_COMPLETE, first, 0, UNWEAVE_CANCELLED);
	expect(&at, UNWEAVE_EVENT_RESUME, second, 0, 0);
	expect(&at, UNWEAVE_EVENT_COMPLETE, second, 0, UNWEAVE_ERROR);
	CHECK_EQ(at, collected.count);
	for (size_t i = 0; i < collected.count; i++) {
		CHECK_EQ(collected.seen[i].event.thread, collected.seen[0].event.thread);
		CHECK_EQ(collected.seen[i].event.flags, 0);
		CHECK(i == 0 || collected.seen[i].event.time >= collected.seen[i - 1].event.time);
	}
}

/* The first session of the process: a thread's first event is a reset that says so. */
static void *on_a_thread_of_its_own(void *model)
{
	every_hook_arrives_with_all_it_was_given_in((enum unweave_model)(uintptr_t)model);
	return NULL;
}

static void run_on_new_thread(void *(*function)(void *), void *data)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, function, data), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void every_hook_arrives_with_all_it_was_given_in_the_chain_model(void)
{
	run_on_new_thread(on_a_thread_of_its_own, (void *)(uintptr_t)CHAIN);
}

static void every_hook_arrives_with_all_it_was_given_in_the_machine_model(void)
{
	run_on_new_thread(on_a_thread_of_its_own, (void *)(uintptr_t)MACHINE);
}

/* Calls every hook once, for one task of each model. */
static void call_every_hook(void)
{
	const uint64_t addresses[] = {1, 2};
	const struct unweave_stack stack = {.addresses = addresses, .count = 2};

	for (int model = 0; model < 2; model++) {
		uint64_t task = unweave_task_new(NULL, (enum unweave_model)model, 0, &stack);

		unweave_task_name(task, "name");
		unweave_task_wake(task, UNWEAVE_SOURCE_IO);
		unweave_task_resume_stack(task, &stack);
		unweave_frame_resume(task);
		unweave_frame_complete(task);
		unweave_frame_unwind(task, 1, 0);
		unweave_task_append(task, &stack);
		unweave_task_suspend_stack(task, &stack);
		unweave_thread_idle();
		unweave_task_complete(task, UNWEAVE_OK);
	}
}

/* What may come through for a keyword, by its bit; 0: there is no such keyword. */
static uint16_t kind_of_keyword(unsigned bit)
{
	static const uint16_t kinds[] = {
		UNWEAVE_EVENT_CREATE,       UNWEAVE_EVENT_RESUME,
		UNWEAVE_EVENT_SUSPEND,      UNWEAVE_EVENT_COMPLETE,
		UNWEAVE_EVENT_WAKE,         UNWEAVE_EVENT_NAME,
		UNWEAVE_EVENT_IDLE,         0,
		UNWEAVE_EVENT_CREATE,       UNWEAVE_EVENT_RESUME,
		UNWEAVE_EVENT_SUSPEND,      UNWEAVE_EVENT_APPEND,
		UNWEAVE_EVENT_FRAME_RESUME, UNWEAVE_EVENT_FRAME_COMPLETE,
		UNWEAVE_EVENT_UNWIND,
	};

	return bit < sizeof(kinds) / sizeof(kinds[0]) ? kinds[bit] : 0;
}

/* Whether the event could be told apart by model, and is of the wrong one. */
static bool is_of_other_model(const struct unweave_event *event, unsigned model)
{
	return event->task && (event->task & 1) != model;
}

static void check_only(uint64_t keyword, uint16_t kind, unsigned model, bool with_stack)
{
	/* Idle is no task's, and so is of the low half: it comes twice, or not at all. */
	size_t expected = kind == UNWEAVE_EVENT_IDLE ? (model ? 0 : 2) : kind != 0;
	size_t found = 0;

	for (size_t i = 0; i < collected.count; i++) {
		const struct unweave_event *event = &collected.seen[i].event;

		if (event->kind == UNWEAVE_EVENT_RESET)
			continue;
		if (event->kind != kind || is_of_other_model(event, model))
			printf("# keyword %#" PRIx64 " lets through kind %u\n", keyword,
			       event->kind);
		CHECK_EQ(event->kind, kind);
		CHECK(!is_of_other_model(event, model));
		CHECK_EQ(collected.seen[i].frame_count > 0, with_stack);
		found++;
	}
	if (found != expected)
		printf("# keyword %#" PRIx64 " lets through %zu\n", keyword, found);
	CHECK_EQ(found, expected);
}

static void each_keyword_alone_lets_only_its_event_through(void)
{
	int tried = 0;

	for (unsigned model = 0; model < 2; model++)
		for (unsigned bit = 0; bit < 32; bit++) {
			uint64_t keyword = UINT64_C(1) << (bit + 32 * model);

			if (!(keyword & UNWEAVE_KEYWORDS_FULL))
				continue;
			collect_begin(keyword);
			call_every_hook();
			unweave_stop();
			/* Bits 8 to 11: three stacks, which bring their events, and `append`. */
			check_only(keyword, kind_of_keyword(bit), model, bit >= 8 && bit <= 11);
			tried++;
		}
	CHECK_EQ(tried, 2 * KEYWORDS);
}

static void a_stack_comes_with_the_event_that_carries_it(void)
{
	static const struct {
		uint64_t event, stack;
		enum unweave_event_kind kind;
	} pairs[] = {
		{UNWEAVE_KEYWORD_CREATE, UNWEAVE_KEYWORD_CREATE_STACK, UNWEAVE_EVENT_CREATE},
		{UNWEAVE_KEYWORD_RESUME, UNWEAVE_KEYWORD_RESUME_STACK, UNWEAVE_EVENT_RESUME},
		{UNWEAVE_KEYWORD_SUSPEND, UNWEAVE_KEYWORD_SUSPEND_STACK, UNWEAVE_EVENT_SUSPEND},
	};

	for (unsigned model = 0; model < 2; model++)
		for (unsigned i = 0; i < 3; i++) {
			collect_begin((pairs[i].event | pairs[i].stack) << (32 * model));
			call_every_hook();
			unweave_stop();
			CHECK_EQ(collect_count_hooks(), 1);
			CHECK_EQ(collect_nth(pairs[i].kind, 0)->frame_count, 2);
		}
}

/* Of what a reader cannot know, it must not be told something else. */
static void a_waker_is_unknown_where_not_every_run_is_recorded(void)
{
	uint64_t runner, sleeper;

	collect_begin(UNWEAVE_KEYWORDS_BOTH(UNWEAVE_KEYWORD_RESUME | UNWEAVE_KEYWORD_WAKE));
	runner = unweave_task_new(NULL, CHAIN, 0, NULL);
	sleeper = unweave_task_new(NULL, CHAIN, 0, NULL);
	unweave_task_resume(runner);
	unweave_task_suspend(runner);
	unweave_task_wake(sleeper, UNWEAVE_SOURCE_TASK);
	unweave_stop();
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_WAKE, 0)->event.task, sleeper);
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_WAKE, 0)->event.other, 0);
}

static void a_null_site_name_or_stack_is_none(void)
{
	const struct unweave_stack empty = {0};
	char longest[300];
	uint64_t task;

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	collect_begin(0);
	task = unweave_task_new(NULL, CHAIN, 0, &empty);
	unweave_task_name(task, NULL);
	unweave_task_name(task, "");
	unweave_task_name(task, longest);
	unweave_task_resume_stack(task, NULL);
	unweave_task_suspend_stack(task, NULL);
	unweave_task_resume_stack(task, &empty);
	unweave_task_suspend_stack(task, &empty);
	unweave_task_resume(task);
	unweave_task_leave(task, &empty);
	unweave_task_append(task, NULL);
	unweave_task_append(task, &empty);
	unweave_task_complete(task, UNWEAVE_OK);
	unweave_stop();

	CHECK_EQ(collect_nth(UNWEAVE_EVENT_CREATE, 0)->event.value, 0);
	CHECK_STR_EQ(collect_nth(UNWEAVE_EVENT_NAME, 0)->text, "");
	CHECK(collect_nth(UNWEAVE_EVENT_NAME, 0)->event.text);
	CHECK_EQ(strlen(collect_nth(UNWEAVE_EVENT_NAME, 2)->text), 255);
	CHECK_EQ(collect_count(UNWEAVE_EVENT_RESUME), 3);
	CHECK_EQ(collect_count(UNWEAVE_EVENT_SUSPEND), 3);
	CHECK_EQ(collect_count(UNWEAVE_EVENT_APPEND), 1);
	for (size_t i = 0; i < collected.count; i++)
		CHECK_EQ(collected.seen[i].frame_count, 0);
	CHECK_EQ(collect_lost(), 0);
}

static void a_status_or_source_out_of_range_does_no_harm(void)
{
	uint64_t task;

	collect_begin(0);
	task = unweave_task_new(NULL, CHAIN, 0, NULL);
	unweave_task_wake(task, (enum unweave_source)77);
	unweave_task_resume(task);
	unweave_task_complete(task, (enum unweave_status)77);
	unweave_stop();
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_COMPLETE, 0)->event.task, task);
	CHECK(collect_nth(UNWEAVE_EVENT_COMPLETE, 0)->event.value <= UNWEAVE_CANCELLED);
	CHECK_EQ(collect_count(UNWEAVE_EVENT_WAKE), 1);
}

static void leave_takes_its_time_from_the_next_event(void)
{
	uint64_t first, second;

	collect_begin(0);
	first = unweave_task_new(NULL, CHAIN, 0, NULL);
	second = unweave_task_new(NULL, CHAIN, 0, NULL);
	unweave_task_resume(first);
	unweave_task_leave(first, NULL);
	unweave_task_resume(second);
	unweave_task_leave(second, NULL);
	CHECK_EQ(unweave_flush(), 0);
	/* Nothing says yet when the second ended. */
	CHECK_EQ(collect_count(UNWEAVE_EVENT_SUSPEND), 1);
	unweave_thread_idle();
	CHECK_EQ(unweave_flush(), 0);
	CHECK_EQ(collect_count(UNWEAVE_EVENT_SUSPEND), 2);
	unweave_stop();

	CHECK_EQ(collect_nth(UNWEAVE_EVENT_SUSPEND, 0)->event.task, first);
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_SUSPEND, 0)->event.time,
		 collect_nth(UNWEAVE_EVENT_RESUME, 1)->event.time);
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_SUSPEND, 1)->event.task, second);
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_SUSPEND, 1)->event.time,
		 collect_nth(UNWEAVE_EVENT_IDLE, 0)->event.time);
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_SUSPEND, 1)->event.flags, 0);
	CHECK_EQ(collected.seen[collected.count - 1].event.kind, UNWEAVE_EVENT_IDLE);
}

static void a_leave_that_nothing_follows_says_that_its_time_is_unknown(void)
{
	uint64_t task;

	collect_begin(0);
	task = unweave_task_new(NULL, CHAIN, 0, NULL);
	unweave_task_resume(task);
	unweave_task_leave(task, NULL);
	unweave_stop();
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_SUSPEND, 0)->event.task, task);
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_SUSPEND, 0)->event.flags, UNWEAVE_EVENT_TIME_UNKNOWN);
}

static void runs_may_be_nested_a_hundred_deep(void)
{
	enum { DEEP = 100 };
	uint64_t tasks[DEEP];
	size_t at = 1 + DEEP;

	collect_begin(0);
	for (int i = 0; i < DEEP; i++)
		tasks[i] = unweave_task_new(NULL, i % 2 ? CHAIN : MACHINE, 0, NULL);
	for (int i = 0; i < DEEP; i++) {
		unweave_task_resume(tasks[i]);
		unweave_frame_resume(tasks[i]);
		unweave_task_wake(tasks[0], UNWEAVE_SOURCE_TASK);
	}
	for (int i = DEEP; i-- > 0;) {
		unweave_frame_complete(tasks[i]);
		if (i % 3 == 0)
			unweave_task_suspend(tasks[i]);
		else if (i % 3 == 1)
			unweave_task_leave(tasks[i], NULL);
		else
			unweave_task_complete(tasks[i], UNWEAVE_OK);
	}
	unweave_thread_idle();
	unweave_stop();

	for (int i = 0; i < DEEP; i++) {
		expect(&at, UNWEAVE_EVENT_RESUME, tasks[i], 0, 0);
		expect(&at, UNWEAVE_EVENT_FRAME_RESUME, tasks[i], 0, 0);
		expect(&at, UNWEAVE_EVENT_WAKE, tasks[0], tasks[i], UNWEAVE_SOURCE_TASK);
	}
	for (int i = DEEP; i-- > 0;) {
		expect(&at, UNWEAVE_EVENT_FRAME_COMPLETE, tasks[i], 0, 0);
		expect(&at, i % 3 == 2 ? UNWEAVE_EVENT_COMPLETE : UNWEAVE_EVENT_SUSPEND, tasks[i],
		       0, 0);
	}
	expect(&at, UNWEAVE_EVENT_IDLE, 0, 0, 0);
	CHECK_EQ(at, collected.count);
}

static void an_end_of_a_task_that_is_not_the_innermost_says_of_which(void)
{
	uint64_t outer, inner, waiting;

	collect_begin(0);
	outer = unweave_task_new(NULL, CHAIN, 0, NULL);
	inner = unweave_task_new(NULL, CHAIN, 0, NULL);
	waiting = unweave_task_new(NULL, MACHINE, 0, NULL);
	unweave_task_resume(outer);
	unweave_task_resume(inner);
	unweave_task_complete(waiting, UNWEAVE_CANCELLED);
	unweave_task_suspend(outer);
	unweave_task_wake(waiting, UNWEAVE_SOURCE_TASK);
	unweave_task_suspend(inner);
	unweave_stop();
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_COMPLETE, 0)->event.task, waiting);
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_COMPLETE, 0)->event.value, UNWEAVE_CANCELLED);
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_SUSPEND, 0)->event.task, outer);
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_WAKE, 0)->event.other, inner);
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_SUSPEND, 1)->event.task, inner);
}

#define THREADS 8
#define TASKS 5000

static void *make_tasks(void *data)
{
	uint64_t *tasks = data;

	for (int i = 0; i < TASKS; i++)
		tasks[i] = unweave_task_new(NULL, i % 2 ? MACHINE : CHAIN, 0, NULL);
	return NULL;
}

static int compare_tasks(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void task_ids_are_unique_over_threads_recorded_or_not(void)
{
	uint64_t *tasks = calloc(2 * THREADS * TASKS, sizeof(*tasks));
	pthread_t threads[THREADS];
	size_t same = 0;

	for (int round = 0; round < 2; round++) {
		if (round == 1)
			collect_begin(0);
		for (int i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, make_tasks,
				       tasks + (round * THREADS + i) * TASKS);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	unweave_stop();
	CHECK_EQ(collect_count(UNWEAVE_EVENT_CREATE), THREADS * TASKS);
	qsort(tasks, 2 * THREADS * TASKS, sizeof(*tasks), compare_tasks);
	for (size_t i = 1; i < 2 * THREADS * TASKS; i++)
		same += tasks[i] == tasks[i - 1];
	CHECK_EQ(same, 0);
	CHECK(tasks[0] > 1);
	free(tasks);
}

static void *two_events(void *data)
{
	(void)data;
	unweave_thread_idle();
	unweave_thread_idle();
	return NULL;
}

static void each_thread_has_a_number_of_its_own(void)
{
	uint32_t numbers[THREADS];

	collect_begin(0);
	for (int i = 0; i < THREADS; i++)
		run_on_new_thread(two_events, NULL);
	unweave_stop();
	CHECK_EQ(collect_count(UNWEAVE_EVENT_IDLE), 2 * THREADS);
	for (size_t i = 0; i < THREADS; i++) {
		numbers[i] = collect_nth(UNWEAVE_EVENT_IDLE, 2 * i)->event.thread;
		CHECK(numbers[i]);
		for (size_t j = 0; j < i; j++)
			CHECK(numbers[i] != numbers[j]);
	}
}

/* In a room where nothing else sets it. */
static void errno_stays_as_it_was(void)
{
	for (int on = 0; on < 2; on++) {
		if (on)
			collect_begin(0);
		errno = 4711;
		call_every_hook();
		CHECK_EQ(errno, 4711);
		unweave_stop();
		CHECK_EQ(errno, 4711);
	}
	errno = 0;
}

int main(void)
{
	RUN(every_hook_arrives_with_all_it_was_given_in_the_chain_model);
	RUN(every_hook_arrives_with_all_it_was_given_in_the_machine_model);
	RUN(each_keyword_alone_lets_only_its_event_through);
	RUN(a_stack_comes_with_the_event_that_carries_it);
	RUN(a_waker_is_unknown_where_not_every_run_is_recorded);
	RUN(a_null_site_name_or_stack_is_none);
	RUN(a_status_or_source_out_of_range_does_no_harm);
	RUN(leave_takes_its_time_from_the_next_event);
	RUN(a_leave_that_nothing_follows_says_that_its_time_is_unknown);
	RUN(runs_may_be_nested_a_hundred_deep);
	RUN(an_end_of_a_task_that_is_not_the_innermost_says_of_which);
	RUN(task_ids_are_unique_over_threads_recorded_or_not);
	RUN(each_thread_has_a_number_of_its_own);
	RUN(errno_stays_as_it_was);
	collect_forget();
	return check_done();
}

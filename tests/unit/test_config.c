/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that begin, change and end under a program that runs on. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "collect.h"

#define CHAIN UNWEAVE_MODEL_CHAIN
#define MACHINE UNWEAVE_MODEL_MACHINE
#define FULL UNWEAVE_KEYWORDS_FULL
#define ONLY_UNWIND UNWEAVE_KEYWORDS_BOTH(UNWEAVE_KEYWORD_UNWIND)

static const struct unweave_event *event_at(size_t i)
{
	static const struct unweave_event nothing;

	return i < collected.count ? &collected.seen[i].event : &nothing;
}

static void check_event(size_t at, enum unweave_event_kind kind, uint64_t task, uint64_t value)
{
	CHECK_EQ(event_at(at)->kind, kind);
	CHECK_EQ(event_at(at)->task, task);
	CHECK_EQ(event_at(at)->value, value);
}

static void a_second_start_is_refused_and_changes_nothing(void)
{
	struct unweave_options options;
	uint64_t task;

	collect_begin(0);
	task = unweave_task_new(NULL, CHAIN, 0, NULL);
	unweave_options_init(&options);
	options.listener = collect;
	CHECK_EQ(unweave_start(&options), -EALREADY);
	unweave_task_complete(task, UNWEAVE_OK);
	unweave_stop();
	CHECK_EQ(collect_count(UNWEAVE_EVENT_RESET), 1);
	CHECK_EQ(collect_count(UNWEAVE_EVENT_CREATE), 1);
	CHECK_EQ(collect_count(UNWEAVE_EVENT_COMPLETE), 1);
}

static void enabling_the_same_keywords_again_resets_and_replays(void)
{
	uint64_t outer, inner;
	size_t at;

	collect_begin(FULL);
	outer = unweave_task_new(NULL, CHAIN, 0, NULL);
	inner = unweave_task_new(NULL, MACHINE, 0, NULL);
	unweave_task_resume(outer);
	unweave_task_resume(inner);
	CHECK_EQ(unweave_flush(), 0);
	at = collected.count;
	CHECK_EQ(unweave_set_keywords(FULL), 0);
	unweave_frame_resume(inner);
	CHECK_EQ(unweave_set_keywords(FULL), 0);
	unweave_task_suspend(inner);
	unweave_task_suspend(outer);
	unweave_stop();

	/* Oldest first, each time before the event that noticed. */
	check_event(at++, UNWEAVE_EVENT_RESET, 0, UNWEAVE_RESET_CONFIG);
	check_event(at++, UNWEAVE_EVENT_REPLAY, outer, 0);
	check_event(at++, UNWEAVE_EVENT_REPLAY, inner, 0);
	check_event(at++, UNWEAVE_EVENT_FRAME_RESUME, inner, 0);
	check_event(at++, UNWEAVE_EVENT_RESET, 0, UNWEAVE_RESET_CONFIG);
	check_event(at++, UNWEAVE_EVENT_REPLAY, outer, 0);
	check_event(at++, UNWEAVE_EVENT_REPLAY, inner, 0);
	check_event(at++, UNWEAVE_EVENT_SUSPEND, inner, 0);
	check_event(at++, UNWEAVE_EVENT_SUSPEND, outer, 0);
	CHECK_EQ(at, collected.count);
}

static void narrowing_the_keywords_takes_effect_at_the_next_hook(void)
{
	uint64_t task;
	size_t at;

	collect_begin(FULL);
	task = unweave_task_new(NULL, CHAIN, 0, NULL);
	unweave_task_resume(task);
	CHECK_EQ(unweave_flush(), 0);
	at = collected.count;
	CHECK_EQ(unweave_set_keywords(UNWEAVE_KEYWORD_SUSPEND), 0);
	unweave_frame_resume(task);
	unweave_task_wake(task, UNWEAVE_SOURCE_IO);
	unweave_task_suspend(task);
	unweave_task_resume(task);
	/* Wider again, in a run that was not recorded. */
	CHECK_EQ(unweave_set_keywords(FULL), 0);
	unweave_task_wake(task, UNWEAVE_SOURCE_TASK);
	unweave_task_suspend(task);
	unweave_stop();

	check_event(at++, UNWEAVE_EVENT_RESET, 0, UNWEAVE_RESET_CONFIG);
	check_event(at++, UNWEAVE_EVENT_REPLAY, task, 0);
	check_event(at++, UNWEAVE_EVENT_SUSPEND, task, 0);
	check_event(at++, UNWEAVE_EVENT_RESET, 0, UNWEAVE_RESET_CONFIG);
	check_event(at++, UNWEAVE_EVENT_REPLAY, task, 0);
	CHECK_EQ(event_at(at)->other, task);
	check_event(at++, UNWEAVE_EVENT_WAKE, task, UNWEAVE_SOURCE_TASK);
	check_event(at++, UNWEAVE_EVENT_SUSPEND, task, 0);
	CHECK_EQ(at, collected.count);
}

/* No keywords is detail `samples`: no events, but a thread's runs are kept. */
static void runs_begun_at_detail_samples_are_replayed_when_events_come(void)
{
	uint64_t tasks[3];
	size_t at;

	collect_begin(FULL);
	for (int i = 0; i < 3; i++)
		tasks[i] = unweave_task_new(NULL, i % 2 ? CHAIN : MACHINE, 0, NULL);
	unweave_task_resume(tasks[0]);
	CHECK_EQ(unweave_set_keywords(0), 0);
	at = collected.count;
	unweave_task_resume(tasks[1]);
	unweave_task_resume_stack(tasks[2], NULL);
	unweave_task_wake(tasks[2], UNWEAVE_SOURCE_TASK);
	unweave_task_suspend(tasks[2]);
	unweave_task_resume(tasks[2]);
	CHECK_EQ(unweave_flush(), 0);
	CHECK_EQ(collected.count, at);
	CHECK_EQ(unweave_set_keywords(FULL), 0);
	unweave_thread_idle();
	for (int i = 3; i-- > 0;)
		unweave_task_suspend(tasks[i]);
	unweave_stop();

	check_event(at++, UNWEAVE_EVENT_RESET, 0, UNWEAVE_RESET_CONFIG);
	for (int i = 0; i < 3; i++)
		check_event(at++, UNWEAVE_EVENT_REPLAY, tasks[i], 0);
	check_event(at++, UNWEAVE_EVENT_IDLE, 0, 0);
	for (int i = 3; i-- > 0;)
		check_event(at++, UNWEAVE_EVENT_SUSPEND, tasks[i], 0);
	CHECK_EQ(at, collected.count);
}

static void a_session_of_detail_samples_alone_has_no_events(void)
{
	struct unweave_options options;
	uint64_t task;

	collect_forget();
	unweave_options_init(&options);
	options.listener = collect;
	options.listener_data = &collected;
	options.detail = UNWEAVE_DETAIL_SAMPLES;
	CHECK_EQ(unweave_start(&options), 0);
	task = unweave_task_new(NULL, CHAIN, 0, NULL);
	unweave_task_resume(task);
	unweave_task_complete(task, UNWEAVE_OK);
	unweave_stop();
	CHECK_EQ(collected.count, 0);
}

static void detail_tasks_has_lifecycles_and_no_stacks(void)
{
	const uint64_t address = 1;
	const struct unweave_stack stack = {.addresses = &address, .count = 1};
	struct unweave_options options;
	uint64_t task;

	collect_forget();
	unweave_options_init(&options);
	options.listener = collect;
	options.listener_data = &collected;
	options.detail = UNWEAVE_DETAIL_TASKS;
	CHECK_EQ(unweave_start(&options), 0);
	task = unweave_task_new(NULL, CHAIN, 0, &stack);
	unweave_task_resume_stack(task, &stack);
	unweave_frame_resume(task);
	unweave_task_append(task, &stack);
	unweave_task_suspend_stack(task, &stack);
	unweave_stop();
	CHECK_EQ(collect_count_hooks(), 3);
	for (size_t i = 0; i < collected.count; i++)
		CHECK_EQ(collected.seen[i].frame_count, 0);
}

static void a_run_from_before_an_off_period_is_not_replayed(void)
{
	uint64_t stale, fresh;

	collect_begin(FULL);
	stale = unweave_task_new(NULL, CHAIN, 0, NULL);
	unweave_task_resume(stale);
	unweave_stop();
	/* It may have ended and begun elsewhere by now: nobody knows. */
	unweave_task_suspend(stale);

	collect_begin(FULL);
	fresh = unweave_task_new(NULL, CHAIN, UNWEAVE_PARENT_CURRENT, NULL);
	unweave_task_resume(fresh);
	unweave_task_suspend(fresh);
	unweave_stop();
	check_event(0, UNWEAVE_EVENT_RESET, 0, UNWEAVE_RESET_CONFIG);
	check_event(1, UNWEAVE_EVENT_CREATE, fresh, 0);
	CHECK_EQ(event_at(1)->other, 0);
	check_event(2, UNWEAVE_EVENT_RESUME, fresh, 0);
	check_event(3, UNWEAVE_EVENT_SUSPEND, fresh, 0);
	CHECK_EQ(collected.count, 4);
}

static void nothing_is_emitted_while_off(void)
{
	for (int i = 0; i < 3; i++) {
		uint64_t task;

		collect_begin(FULL);
		task = unweave_task_new(NULL, CHAIN, 0, NULL);
		unweave_stop();
		CHECK_EQ(collected.count, 2);
		CHECK_EQ(collect_nth(UNWEAVE_EVENT_CREATE, 0)->event.task, task);
		for (int j = 0; j < 1000; j++) {
			unweave_task_new(NULL, CHAIN, 0, NULL);
			unweave_task_resume(task);
			unweave_task_leave(task, NULL);
			unweave_thread_idle();
		}
		CHECK_EQ(collected.count, 2);
	}
}

static void changes_of_nothing_are_refused(void)
{
	unweave_stop();
	CHECK_EQ(unweave_set_keywords(FULL), -ENOENT);
	CHECK_EQ(unweave_flush(), -ENOENT);
}

/*
 * The load: threads that resume and suspend at random, and say after each step
 * by an unwind event which step it was. Unwinds are part of every set of
 * keywords, so that none may be missing.
 */
#define LOADERS 4
#define STEPS 20000
#define DEEPEST 6
#define CHANGES 1000

struct snapshot {
	uint64_t nest[DEEPEST + 1]; /* outermost first, ended by 0 */
};

struct loader {
	struct snapshot *steps;
	uint32_t index;
	uint32_t random;
	/* Of the listener. */
	uint32_t next; /* step that must come next */
	uint32_t thread;
	bool resetting;
	unsigned replayed;
	uint64_t replays[DEEPEST + 1];
	unsigned wrong;
};

static struct loader loaders[LOADERS];
static atomic_bool stop_loading;
static atomic_uint steps_begun, steps_done;
static atomic_uint loaders_done;

static void *load(void *data)
{
	struct loader *loader = data;
	struct timespec pause = {.tv_nsec = 20000};
	uint64_t nest[DEEPEST + 1] = {0};
	unsigned depth = 0;
	uint32_t step = 0;

	while (step < STEPS && !atomic_load(&stop_loading)) {
		atomic_fetch_add_explicit(&steps_begun, 1, memory_order_relaxed);
		loader->random = loader->random * 1103515245 + 12345;
		if (depth < DEEPEST && (depth == 0 || loader->random >> 16 & 1)) {
			nest[depth] = unweave_task_new(NULL, loader->random >> 17 & 1, 0, NULL);
			unweave_task_resume(nest[depth++]);
		} else if (loader->random >> 17 & 1) {
			unweave_task_suspend(nest[--depth]);
		} else {
			unweave_task_complete(nest[--depth], UNWEAVE_OK);
		}
		nest[depth] = 0;
		memcpy(loader->steps[step].nest, nest, sizeof(nest));
		unweave_frame_unwind(depth ? nest[depth - 1] : 0, step * LOADERS + loader->index,
				     0);
		if (++step % 50 == 0)
			nanosleep(&pause, NULL);
	}
	atomic_fetch_add(&steps_done, step);
	atomic_fetch_add(&loaders_done, 1);
	return NULL;
}

static bool is_nest(const struct loader *loader, int64_t step)
{
	static const struct snapshot none;
	const struct snapshot *snapshot = step < 0 ? &none : &loader->steps[step];
	unsigned depth = 0;

	while (snapshot->nest[depth])
		depth++;
	return depth == loader->replayed &&
	       memcmp(loader->replays, snapshot->nest, depth * sizeof(uint64_t)) == 0;
}

/* A step has arrived: it is the next one, in the right run, and replays before it were right. */
static void check_step(struct loader *loader, const struct unweave_event *event, uint32_t step)
{
	const struct snapshot *snapshot = &loader->steps[step];
	unsigned depth = 0;

	while (snapshot->nest[depth])
		depth++;
	loader->wrong += step != loader->next;
	loader->next = step + 1;
	if (event->task)
		loader->wrong += !depth || event->task != snapshot->nest[depth - 1];
	/* The reset stands before the step itself, or before what led to it. */
	if (loader->resetting)
		loader->wrong += !is_nest(loader, step) && !is_nest(loader, (int64_t)step - 1);
	loader->resetting = false;
}

static struct loader *loader_of(uint32_t thread)
{
	for (int i = 0; i < LOADERS; i++)
		if (loaders[i].thread == thread)
			return &loaders[i];
	return NULL;
}

static uint64_t lost;

static void check_load(const struct unweave_event *event, void *data)
{
	struct loader *loader = loader_of(event->thread);

	(void)data;
	if (event->kind == UNWEAVE_EVENT_LOST)
		lost += event->value;
	if (event->kind == UNWEAVE_EVENT_UNWIND) {
		uint32_t number = (uint32_t)(event->value >> 1);

		if (!loader) {
			loader = &loaders[number % LOADERS];
			loader->wrong += loader->thread != 0;
			loader->thread = event->thread;
		}
		loader->wrong += loader->index != number % LOADERS;
		check_step(loader, event, number / LOADERS);
	} else if (loader && event->kind == UNWEAVE_EVENT_RESET) {
		loader->resetting = true;
		loader->replayed = 0;
	} else if (loader && event->kind == UNWEAVE_EVENT_REPLAY) {
		if (loader->replayed < DEEPEST)
			loader->replays[loader->replayed++] = event->task;
		else
			loader->wrong++;
	}
}

static void start_check(void)
{
	struct unweave_options options;

	unweave_options_init(&options);
	options.listener = check_load;
	options.policy = UNWEAVE_POLICY_BLOCK;
	CHECK_EQ(unweave_start(&options), 0);
}

static void a_thousand_changes_under_load_lose_and_confuse_nothing(void)
{
	static const uint64_t sets[] = {FULL, ONLY_UNWIND, ONLY_UNWIND | UNWEAVE_KEYWORD_RESUME,
					ONLY_UNWIND | UNWEAVE_KEYWORDS_TASKS,
					ONLY_UNWIND |
						UNWEAVE_KEYWORDS_BOTH(UNWEAVE_KEYWORD_SUSPEND)};
	pthread_t threads[LOADERS];
	uint32_t received = 0;

	for (uint32_t i = 0; i < LOADERS; i++) {
		loaders[i] = (struct loader){.index = i, .random = i + 1};
		loaders[i].steps = calloc(STEPS, sizeof(struct snapshot));
	}
	start_check();
	for (uint32_t i = 0; i < LOADERS; i++)
		pthread_create(&threads[i], NULL, load, &loaders[i]);
	for (int i = 0; i < CHANGES; i++) {
		unsigned begun = atomic_load(&steps_begun);

		CHECK_EQ(unweave_set_keywords(sets[i % 5]), 0);
		/* However busy the machine is, something happens between two changes. */
		while (atomic_load(&steps_begun) == begun && !atomic_load(&loaders_done))
			sched_yield();
	}
	atomic_store(&stop_loading, true);
	for (int i = 0; i < LOADERS; i++)
		pthread_join(threads[i], NULL);
	unweave_stop();
	CHECK_EQ(lost, 0);
	for (int i = 0; i < LOADERS; i++) {
		CHECK_EQ(loaders[i].wrong, 0);
		CHECK(loaders[i].next > 0);
		received += loaders[i].next;
		free(loaders[i].steps);
	}
	CHECK_EQ(received, atomic_load(&steps_done));
	CHECK(received >= CHANGES);
}

int main(void)
{
	RUN(a_second_start_is_refused_and_changes_nothing);
	RUN(enabling_the_same_keywords_again_resets_and_replays);
	RUN(narrowing_the_keywords_takes_effect_at_the_next_hook);
	RUN(runs_begun_at_detail_samples_are_replayed_when_events_come);
	RUN(a_session_of_detail_samples_alone_has_no_events);
	RUN(detail_tasks_has_lifecycles_and_no_stacks);
	RUN(a_run_from_before_an_off_period_is_not_replayed);
	RUN(nothing_is_emitted_while_off);
	RUN(changes_of_nothing_are_refused);
	RUN(a_thousand_changes_under_load_lose_and_confuse_nothing);
	collect_forget();
	return check_done();
}

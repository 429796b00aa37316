/* SPDX-License-Identifier: Apache-2.0 */
/* Listeners, and what they may do. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collect.h"
#include "emit/emit.h"

#define CHAIN UNWEAVE_MODEL_CHAIN
#define THREADS 4
#define EVENTS 20000

static void pause_ms(long ms)
{
	struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

static int start(unweave_listener listener, void *data)
{
	struct unweave_options options;

	unweave_options_init(&options);
	options.listener = listener;
	options.listener_data = data;
	return unweave_start(&options);
}

static _Thread_local bool emitting;
static atomic_uint told_on_emitter;
static _Atomic uint64_t drain_thread_id;

struct order {
	uint32_t next;
	uint32_t thread;
};

/* Which thread it is follows from the number: they are multiples of THREADS. */
static struct order orders[THREADS];
static unsigned out_of_order;

static void check_order(const struct unweave_event *event, void *data)
{
	uint32_t number = (uint32_t)(event->value >> 1);
	struct order *order = &orders[number % THREADS];

	(void)data;
	atomic_fetch_add(&told_on_emitter, emitting);
	atomic_store(&drain_thread_id, (uint64_t)gettid());
	if (event->kind != UNWEAVE_EVENT_UNWIND)
		return;
	if (!order->thread)
		order->thread = event->thread;
	out_of_order += number / THREADS != order->next || event->thread != order->thread;
	order->next = number / THREADS + 1;
}

static void *emit_numbers(void *data)
{
	uint32_t index = (uint32_t)(uintptr_t)data;

	emitting = true;
	for (uint32_t i = 0; i < EVENTS; i++) {
		unweave_frame_unwind(0, i * THREADS + index, 0);
		if (i % 1000 == 0)
			pause_ms(1);
	}
	return NULL;
}

static void a_listener_is_told_everything_in_order_for_each_thread(void)
{
	pthread_t threads[THREADS];

	CHECK_EQ(start(check_order, NULL), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, emit_numbers, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	unweave_stop();
	CHECK_EQ(out_of_order, 0);
	CHECK_EQ(atomic_load(&told_on_emitter), 0);
	CHECK(atomic_load(&drain_thread_id) != (uint64_t)gettid());
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(orders[i].next, EVENTS);
}

static _Atomic uint64_t told;
static atomic_uint flush_result, keywords_result, start_result;

/* Calls everything there is, and has the lock of the emitting thread meanwhile. */
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

static void do_everything(const struct unweave_event *event, void *data)
{
	const uint64_t addresses[] = {1, 2};
	const struct unweave_stack stack = {.addresses = addresses, .count = 2};
	struct unweave_site *site = UNWEAVE_SITE("of the listener");
	uint64_t task;

	(void)event;
	(void)data;
	atomic_fetch_add(&told, 1);
	pthread_mutex_lock(&shared_lock);
	task = unweave_task_new(site, CHAIN, UNWEAVE_PARENT_CURRENT, &stack);
	CHECK(task);
	unweave_task_name(task, "recursion");
	unweave_task_resume(task);
	unweave_task_append(task, &stack);
	unweave_task_suspend_stack(task, &stack);
	unweave_task_complete(task, UNWEAVE_OK);
	unweave_thread_idle();
	pthread_mutex_unlock(&shared_lock);
	atomic_store(&flush_result, (unsigned)-unweave_flush());
	atomic_store(&keywords_result, (unsigned)-unweave_set_keywords(1));
	atomic_store(&start_result, (unsigned)-start(do_everything, NULL));
}

static uint32_t muted(void)
{
	return atomic_load(&emit_process.control->muted);
}

static void hooks_in_a_listener_do_nothing_and_are_counted(void)
{
	uint32_t muted_before;
	uint64_t orphans_before, events = 101;

	CHECK_EQ(start(do_everything, NULL), 0);
	muted_before = muted();
	orphans_before = atomic_load(&emit_process.control->orphans);
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&shared_lock);
		unweave_thread_idle();
		pthread_mutex_unlock(&shared_lock);
	}
	CHECK_EQ(unweave_flush(), 0);
	unweave_stop();
	/* With the reset; and no more, though each of them called seven hooks. */
	CHECK_EQ(atomic_load(&told), events);
	CHECK_EQ(muted() - muted_before, 7 * events);
	/* A hook that was never meant to be recorded is no loss. */
	CHECK_EQ(atomic_load(&emit_process.control->orphans), orphans_before);
	CHECK_EQ(atomic_load(&flush_result), EDEADLK);
	CHECK_EQ(atomic_load(&keywords_result), EDEADLK);
	CHECK_EQ(atomic_load(&start_result), EALREADY);
}

static void stop_in_it(const struct unweave_event *event, void *data)
{
	(void)event;
	(void)data;
	unweave_stop();
	unweave_stop();
	atomic_fetch_add(&told, 1);
}

static void a_listener_may_stop_the_session(void)
{
	for (int round = 0; round < 10; round++) {
		atomic_store(&told, 0);
		CHECK_EQ(start(stop_in_it, NULL), 0);
		unweave_thread_idle();
		/* Whatever comes next, in a state that may be any of several. */
		switch (round % 5) {
		case 0:
			while (!atomic_load(&told))
				pause_ms(1);
			pause_ms(10);
			CHECK_EQ(unweave_flush(), -ENOENT);
			break;
		case 1:
			unweave_flush();
			break;
		case 2:
			while (!atomic_load(&told))
				pause_ms(1);
			unweave_flush();
			unweave_set_keywords(1);
			break;
		case 3:
			while (!atomic_load(&told))
				pause_ms(1);
			break; /* the next start sweeps up */
		}
		if (round % 5 != 3)
			unweave_stop();
	}
	unweave_stop();
	CHECK(atomic_load(&told));
}

static void sleep_in_it(const struct unweave_event *event, void *data)
{
	(void)event;
	(void)data;
	pause_ms(200);
	atomic_fetch_add(&told, 1);
}

static void a_listener_that_sleeps_holds_up_no_hook(void)
{
	struct timespec from, to;
	int64_t took;

	atomic_store(&told, 0);
	CHECK_EQ(start(sleep_in_it, NULL), 0);
	unweave_thread_idle();
	pause_ms(50);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < 3; i++)
		unweave_thread_idle();
	clock_gettime(CLOCK_MONOTONIC, &to);
	took = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
	CHECK(took < 100);
	unweave_stop();
	CHECK_EQ(atomic_load(&told), 5);
}

static void *flush_in_it(void *data)
{
	(void)data;
	return (void *)(intptr_t)unweave_flush();
}

/* No lock of ours is held: another thread may use the interface while the listener waits for it. */
static void wait_for_others(const struct unweave_event *event, void *data)
{
	pthread_t thread;
	void *result;

	(void)event;
	(void)data;
	if (atomic_fetch_add(&told, 1))
		return;
	pthread_create(&thread, NULL, (void *(*)(void *))(void *)unweave_status, NULL);
	pthread_join(thread, &result);
	CHECK(result);
}

static void no_lock_is_held_while_a_listener_runs(void)
{
	pthread_t flusher;
	void *result;

	atomic_store(&told, 0);
	CHECK_EQ(start(wait_for_others, NULL), 0);
	unweave_thread_idle();
	pthread_create(&flusher, NULL, flush_in_it, NULL);
	pthread_join(flusher, &result);
	CHECK_EQ((intptr_t)result, 0);
	unweave_stop();
	CHECK_EQ(atomic_load(&told), 2);
}

static void count_them(const struct unweave_event *event, void *data)
{
	(void)data;
	if (event->kind == UNWEAVE_EVENT_IDLE)
		atomic_fetch_add(&told, 1);
}

/* Often enough to meet a pass that began before the event. */
static void flush_returns_only_after_delivery(void)
{
	unsigned early = 0;

	atomic_store(&told, 0);
	CHECK_EQ(start(count_them, NULL), 0);
	for (uint64_t i = 1; i <= 500; i++) {
		unweave_thread_idle();
		CHECK_EQ(unweave_flush(), 0);
		early += atomic_load(&told) != i;
	}
	unweave_stop();
	CHECK_EQ(early, 0);
}

static void linger(const struct unweave_event *event, void *data)
{
	(void)data;
	if (event->kind != UNWEAVE_EVENT_IDLE)
		return;
	pause_ms(2);
	atomic_fetch_add(&told, 1);
}

static void flush_waits_for_a_pass_that_began_after_it(void)
{
	pthread_t flusher;

	atomic_store(&told, 0);
	CHECK_EQ(start(linger, NULL), 0);
	for (uint64_t i = 0; i < 50; i++) {
		uint64_t before = atomic_load(&told);

		/* One flush makes a pass begin; the next must not be content with its end. */
		unweave_thread_idle();
		pthread_create(&flusher, NULL, flush_in_it, NULL);
		pause_ms(1);
		unweave_thread_idle();
		CHECK_EQ(unweave_flush(), 0);
		CHECK_EQ(atomic_load(&told), before + 2);
		pthread_join(flusher, NULL);
	}
	unweave_stop();
}

static struct {
	struct arena_stream *_Atomic stream; /* NULL: nobody meddles */
	_Atomic uint64_t start;
} meddling;

/* As another thread of a broken program could at this moment. */
static void put_records_back(const struct unweave_event *event, void *data)
{
	struct arena_stream *stream = meddling.stream;

	(void)event;
	(void)data;
	if (stream)
		atomic_store(&stream->taken, meddling.start);
}

static void a_pass_ends_though_its_records_come_back(void)
{
	struct unweave_options options;

	unweave_options_init(&options);
	options.listener = put_records_back;
	CHECK_EQ(unweave_start(&options), 0);
	for (int i = 0; i < 100; i++)
		unweave_thread_idle();
	meddling.start = atomic_load(&emit_self()->main.shared->start);
	meddling.stream = emit_self()->main.shared;
	unweave_flush();
	meddling.stream = NULL;
	unweave_stop();
}

static void options_of_a_newer_size_are_fine_if_nothing_new_is_set(void)
{
	/* At the end of a page that nothing may be read beyond. */
	long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t size = sizeof(struct unweave_options) + 24;
	struct unweave_options *options = (struct unweave_options *)(pages + page - size);

	mprotect(pages + page, (size_t)page, PROT_NONE);
	unweave_options_init(options);
	options->size = size;
	options->listener = count_them;
	CHECK_EQ(unweave_start(options), 0);
	unweave_stop();
	pages[page - 1] = 1;
	CHECK_EQ(unweave_start(options), -EINVAL);
	pages[page - 1] = 0;
	options->size = sizeof(struct unweave_options) - 1;
	CHECK_EQ(unweave_start(options), -EINVAL);
	munmap(pages, 2 * (size_t)page);
}

static void options_that_make_no_sense_are_refused(void)
{
	struct unweave_options options;

	CHECK_EQ(unweave_start(NULL), -EINVAL);
	unweave_options_init(&options);
	CHECK_EQ(unweave_start(&options), -EINVAL);
	options.listener = count_them;
	options.policy = (enum unweave_policy)7;
	CHECK_EQ(unweave_start(&options), -EINVAL);
	options.policy = UNWEAVE_POLICY_DROP;
	options.detail = (enum unweave_detail)9;
	CHECK_EQ(unweave_start(&options), -EINVAL);
	options.detail = UNWEAVE_DETAIL_DEFAULT;
	options.path = "/nonexistent/folder/trace.unw";
	CHECK_EQ(unweave_start(&options), -ENOENT);
	options.path = "/";
	CHECK(unweave_start(&options) < 0);
	/* And nothing is left of it. */
	CHECK_EQ(unweave_flush(), -ENOENT);
	CHECK_EQ(start(count_them, NULL), 0);
	unweave_stop();
}

static void stop_may_be_called_any_time(void)
{
	unweave_stop();
	CHECK_EQ(start(count_them, NULL), 0);
	unweave_stop();
	unweave_stop();
	for (int i = 0; i < 50; i++) {
		CHECK_EQ(start(count_them, NULL), 0);
		unweave_thread_idle();
		unweave_stop();
	}
}

static atomic_uint unexpected;

static void *start_and_stop(void *data)
{
	(void)data;
	for (int i = 0; i < 50; i++) {
		int r = start(count_them, NULL);

		if (r != 0 && r != -EALREADY)
			atomic_fetch_add(&unexpected, 1);
		unweave_thread_idle();
		unweave_flush();
		unweave_set_keywords(UNWEAVE_KEYWORDS_FULL);
		unweave_stop();
	}
	return NULL;
}

static void threads_may_start_and_stop_at_the_same_time(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, start_and_stop, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(atomic_load(&unexpected), 0);
	/* All is as if nothing had been. */
	CHECK_EQ(unweave_flush(), -ENOENT);
	CHECK_EQ(start(count_them, NULL), 0);
	atomic_store(&told, 0);
	unweave_thread_idle();
	unweave_stop();
	CHECK_EQ(atomic_load(&told), 1);
}

int main(void)
{
	RUN(a_listener_is_told_everything_in_order_for_each_thread);
	RUN(hooks_in_a_listener_do_nothing_and_are_counted);
	RUN(a_listener_may_stop_the_session);
	RUN(a_listener_that_sleeps_holds_up_no_hook);
	RUN(no_lock_is_held_while_a_listener_runs);
	RUN(flush_returns_only_after_delivery);
	RUN(flush_waits_for_a_pass_that_began_after_it);
	RUN(a_pass_ends_though_its_records_come_back);
	RUN(options_of_a_newer_size_are_fine_if_nothing_new_is_set);
	RUN(options_that_make_no_sense_are_refused);
	RUN(stop_may_be_called_any_time);
	RUN(threads_may_start_and_stop_at_the_same_time);
	return check_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A program that writes its own trace, and what a reader finds in it, also while it runs on. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arena/clock.h"
#include "collect.h"
#include "emit/emit.h"
#include "trace/reader.h"
#include "unweave/link.h"

#define CHAIN UNWEAVE_MODEL_CHAIN
#define MACHINE UNWEAVE_MODEL_MACHINE
#define SECOND UINT64_C(1000000000)

static char trace[64];

static void pause_ms(long ms)
{
	struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

/* One that loses nothing, however slow the machine is. */
static int start(void)
{
	struct unweave_options options;

	unweave_options_init(&options);
	options.path = trace;
	options.policy = UNWEAVE_POLICY_BLOCK;
	return unweave_start(&options);
}

/* Reads all there is in the file into `collected`; the reader stays, for the names. */
static struct reader *read_trace(void)
{
	struct reader *reader = NULL;
	struct unweave_event event;
	struct diag diag = {0};
	int r;

	collect_forget();
	r = reader_open(&reader, trace, NULL, NULL, &diag);
	if (r < 0) {
		printf("# %s: %s\n", trace, diag.text);
		CHECK_EQ(r, 0);
		return NULL;
	}
	while ((r = reader_next(reader, &event, &diag)) == 0)
		collect(&event, &collected);
	CHECK_EQ(r, READER_END);
	return reader;
}

static void emit_one_of_each(enum unweave_model model, struct unweave_site *site, uint64_t *ret)
{
	const uint64_t addresses[] = {0x401000, 0x402000};
	const int32_t states[] = {-1, 7};
	const struct unweave_stack stated = {addresses, states, 2, 0};

	ret[0] = unweave_task_new(site, model, 0, NULL);
	unweave_task_resume(ret[0]);
	ret[1] = unweave_task_new(NULL, model, UNWEAVE_PARENT_CURRENT, &stated);
	unweave_task_name(ret[1], "the second, na\xc3\xafve");
	unweave_task_resume(ret[1]);
	unweave_frame_resume(ret[1]);
	unweave_frame_complete(ret[1]);
	unweave_frame_unwind(ret[1], 3, 1);
	unweave_anchor_reset(ret[1]);
	unweave_task_wake(ret[0], UNWEAVE_SOURCE_TASK);
	unweave_task_wake(ret[0], UNWEAVE_SOURCE_SIGNAL);
	unweave_task_suspend_stack(ret[1], &stated);
	unweave_task_append(ret[1], &stated);
	unweave_task_suspend(ret[0]);
	unweave_thread_idle();
	unweave_task_complete(ret[0], UNWEAVE_CANCELLED);
	unweave_task_complete(ret[1], UNWEAVE_ERROR);
}

static void check_one_of_each(const uint64_t *tasks, uint32_t site)
{
	const struct {
		uint16_t kind;
		uint64_t task, other, value;
		uint32_t frames;
	} expected[] = {
		{UNWEAVE_EVENT_CREATE, tasks[0], 0, site, 0},
		{UNWEAVE_EVENT_RESUME, tasks[0], 0, 0, 0},
		{UNWEAVE_EVENT_CREATE, tasks[1], tasks[0], 0, 2},
		{UNWEAVE_EVENT_NAME, tasks[1], 0, 0, 0},
		{UNWEAVE_EVENT_RESUME, tasks[1], 0, 0, 2},
		{UNWEAVE_EVENT_FRAME_RESUME, tasks[1], 0, 0, 0},
		{UNWEAVE_EVENT_FRAME_COMPLETE, tasks[1], 0, 0, 0},
		{UNWEAVE_EVENT_UNWIND, tasks[1], 0, 7, 0},
		{UNWEAVE_EVENT_ANCHOR_RESET, tasks[1], 0, 0, 0},
		{UNWEAVE_EVENT_WAKE, tasks[0], tasks[1], UNWEAVE_SOURCE_TASK, 0},
		{UNWEAVE_EVENT_WAKE, tasks[0], tasks[1], UNWEAVE_SOURCE_SIGNAL, 0},
		{UNWEAVE_EVENT_SUSPEND, tasks[1], 0, 0, 2},
		{UNWEAVE_EVENT_APPEND, tasks[1], 0, 0, 4},
		{UNWEAVE_EVENT_SUSPEND, tasks[0], 0, 0, 0},
		{UNWEAVE_EVENT_IDLE, 0, 0, 0, 0},
		{UNWEAVE_EVENT_COMPLETE, tasks[0], 0, UNWEAVE_CANCELLED, 0},
		{UNWEAVE_EVENT_COMPLETE, tasks[1], 0, UNWEAVE_ERROR, 0},
	};
	size_t at = 0;

	for (size_t i = 0; i < collected.count; i++) {
		const struct seen *seen = &collected.seen[i];

		if (!is_of_a_hook(seen->event.kind))
			continue;
		if (at == sizeof(expected) / sizeof(expected[0]))
			break;
		CHECK_EQ(seen->event.kind, expected[at].kind);
		CHECK_EQ(seen->event.task, expected[at].task);
		CHECK_EQ(seen->event.other, expected[at].other);
		CHECK_EQ(seen->event.value, expected[at].value);
		CHECK_EQ(seen->frame_count, expected[at].frames);
		if (seen->frame_count >= 2) {
			CHECK_EQ(seen->frames[0].address, 0x401000);
			CHECK_EQ(seen->frames[0].state, -1);
			CHECK_EQ(seen->frames[1].address, 0x402000);
			CHECK_EQ(seen->frames[1].state, 7);
		}
		at++;
	}
	CHECK_EQ(at, sizeof(expected) / sizeof(expected[0]));
	CHECK_STR_EQ(collect_nth(UNWEAVE_EVENT_NAME, 0)->text, "the second, na\xc3\xafve");
}

static void all_that_was_emitted_is_in_the_file(void)
{
	for (int model = 0; model < 2; model++) {
		struct unweave_site *site = UNWEAVE_SITE_KIND("request", "a site");
		const struct reader_thread *thread;
		const struct reader_site *known;
		uint64_t before, after, tasks[2];
		struct reader *reader;

		before = clock_raw();
		CHECK_EQ(start(), 0);
		emit_one_of_each((enum unweave_model)model, site, tasks);
		unweave_stop();
		after = clock_raw();
		reader = read_trace();
		if (!reader)
			return;
		check_one_of_each(tasks, site->id);
		known = reader_site(reader, site->id);
		CHECK_STR_EQ(known ? known->name : NULL, "a site");
		CHECK_STR_EQ(known ? known->kind : NULL, "request");
		CHECK_STR_EQ(known ? known->function : NULL, __func__);
		CHECK_STR_EQ(known ? known->file : NULL, __FILE__);
		CHECK(known && known->line > 100);
		thread = reader_thread(reader, collected.seen[0].event.thread);
		CHECK_EQ(thread ? thread->tid : 0, (uint32_t)gettid());
		CHECK_STR_EQ(thread ? thread->name : NULL, "test_records");
		CHECK(reader_summary(reader)->closed);
		CHECK_EQ(reader_summary(reader)->faults, 0);
		CHECK_EQ(reader_summary(reader)->session.pid, (uint32_t)getpid());
		for (size_t i = 0; i < collected.count; i++) {
			CHECK(collected.seen[i].event.time + SECOND / 1000 >= before);
			CHECK(collected.seen[i].event.time <= after + SECOND / 1000);
			CHECK(!i ||
			      collected.seen[i].event.time >= collected.seen[i - 1].event.time);
		}
		reader_free(reader);
	}
}

#define THREADS 6
#define STEPS 20000

static void *emit_runs(void *data)
{
	uint32_t index = (uint32_t)(uintptr_t)data;
	const uint64_t addresses[] = {index, 2, 3};
	const struct unweave_stack stack = {.addresses = addresses, .count = 3};
	char name[16];

	snprintf(name, sizeof(name), "worker %u", index);
	pthread_setname_np(pthread_self(), name);
	for (uint32_t i = 0; i < STEPS; i++) {
		uint64_t task = unweave_task_new(NULL, i & 1, 0, NULL);

		unweave_task_resume(task);
		unweave_frame_unwind(task, i, 0);
		unweave_task_suspend_stack(task, &stack);
		if (i % 500 == 0)
			pause_ms(1);
	}
	return NULL;
}

static void the_file_is_in_time_order_over_all_threads(void)
{
	uint32_t next[64] = {0}, threads_seen = 0;
	pthread_t threads[THREADS];
	struct reader *reader;
	uint64_t last = 0;

	CHECK_EQ(start(), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, emit_runs, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	unweave_stop();
	reader = read_trace();
	if (!reader)
		return;
	CHECK_EQ(collect_lost(), 0);
	CHECK_EQ(collect_count_hooks(), 4 * THREADS * STEPS);
	for (size_t i = 0; i < collected.count; i++) {
		const struct unweave_event *event = &collected.seen[i].event;

		CHECK(event->time >= last);
		last = event->time;
		if (event->kind == UNWEAVE_EVENT_UNWIND)
			CHECK_EQ(event->value >> 1, next[event->thread % 64]++);
		if (event->kind == UNWEAVE_EVENT_SUSPEND)
			CHECK_EQ(collected.seen[i].frame_count, 3);
	}
	for (uint32_t i = 0; i < reader_thread_count(reader); i++) {
		const struct reader_thread *thread = reader_thread_at(reader, i);

		threads_seen += strncmp(thread->name, "worker ", 7) == 0 && thread->ended;
	}
	CHECK_EQ(threads_seen, THREADS);
	reader_free(reader);
}

/* Waits until the file shows `count` idle events; returns how long that took. */
static uint64_t await_idles(size_t count)
{
	uint64_t from = clock_monotonic();

	while (clock_monotonic() - from < 3 * SECOND) {
		reader_free(read_trace());
		if (collect_count(UNWEAVE_EVENT_IDLE) >= count)
			break;
		pause_ms(10);
	}
	return clock_monotonic() - from;
}

static atomic_bool be_slow;
static _Atomic size_t slow_events;

static void *emit_slowly_and_steadily(void *data)
{
	(void)data;
	while (atomic_load(&be_slow)) {
		unweave_thread_idle();
		atomic_fetch_add(&slow_events, 1);
		pause_ms(100);
	}
	return NULL;
}

static void a_slow_thread_is_delivered_within_a_second(void)
{
	pthread_t thread;

	CHECK_EQ(start(), 0);
	atomic_store(&be_slow, true);
	pthread_create(&thread, NULL, emit_slowly_and_steadily, NULL);
	pause_ms(300);
	for (int i = 0; i < 3; i++) {
		size_t emitted = atomic_load(&slow_events);

		CHECK(emitted);
		CHECK(await_idles(emitted) < SECOND);
	}
	atomic_store(&be_slow, false);
	pthread_join(thread, NULL);
	unweave_stop();
}

static atomic_bool be_idle;

static void *emit_once(void *data)
{
	unweave_thread_idle();
	while (data && atomic_load(&be_idle))
		pause_ms(1);
	return NULL;
}

static void an_idle_thread_is_delivered_within_a_second(void)
{
	pthread_t thread;

	CHECK_EQ(start(), 0);
	atomic_store(&be_idle, true);
	pthread_create(&thread, NULL, emit_once, "and wait");
	CHECK(await_idles(1) < SECOND);
	atomic_store(&be_idle, false);
	pthread_join(thread, NULL);
	unweave_stop();
}

static uint32_t lines_in_use(void)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < ARENA_LINES; i++)
		used += atomic_load(&arena_lines(emit_process.control)[i].state) != ARENA_LINE_FREE;
	return used;
}

static uint32_t chunks_in_use(void)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < atomic_load(&emit_process.control->config.chunks); i++)
		used += atomic_load(&emit_process.pool[i].owner) != 0;
	return used;
}

static void a_dead_thread_is_delivered_and_reclaimed_at_the_next_pass(void)
{
	uint32_t lines, chunks;
	pthread_t thread;

	CHECK_EQ(start(), 0);
	unweave_thread_idle();
	CHECK_EQ(unweave_flush(), 0);
	lines = lines_in_use();
	chunks = chunks_in_use();
	for (int i = 0; i < 10; i++) {
		pthread_create(&thread, NULL, emit_once, NULL);
		pthread_join(thread, NULL);
		CHECK(lines_in_use() <= lines + 1);
		CHECK_EQ(unweave_flush(), 0);
		CHECK_EQ(lines_in_use(), lines);
		CHECK_EQ(chunks_in_use(), chunks);
	}
	unweave_stop();
	reader_free(read_trace());
	CHECK_EQ(collect_count(UNWEAVE_EVENT_IDLE), 11);
}

/* One that was let to die without a word, which the sanitizers do not stand. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

#ifndef SANITIZED
static void *emit_and_vanish(void *data)
{
	(void)data;
	unweave_thread_idle();
	syscall(SYS_exit, 0);
	return NULL;
}

static void a_thread_that_vanishes_is_noticed_within_two_seconds(void)
{
	uint32_t lines;
	pthread_t thread;

	CHECK_EQ(start(), 0);
	CHECK_EQ(unweave_flush(), 0);
	lines = lines_in_use();
	pthread_create(&thread, NULL, emit_and_vanish, NULL);
	pthread_join(thread, NULL);
	for (int i = 0; i < 200 && lines_in_use() != lines; i++)
		pause_ms(10);
	CHECK_EQ(lines_in_use(), lines);
	unweave_stop();
	reader_free(read_trace());
	CHECK_EQ(collect_count(UNWEAVE_EVENT_IDLE), 1);
}
#endif

static void losses_are_in_the_file_too(void)
{
	struct unweave_options options;
	uint32_t tried = 0;
	struct reader *reader;

	unweave_options_init(&options);
	options.path = trace;
	options.buffer_bytes = 2 * ARENA_CHUNK_BYTES;
	CHECK_EQ(unweave_start(&options), 0);
	while (tried < 3000000)
		unweave_frame_unwind(0, tried++, 0);
	unweave_stop();
	reader = read_trace();
	CHECK(collect_lost() > 0);
	CHECK_EQ(collect_count(UNWEAVE_EVENT_UNWIND) + collect_lost(), tried);
	reader_free(reader);
}

static void the_path_may_have_the_process_id_in_it(void)
{
	struct unweave_options options;
	char path[64];
	struct stat st;

	unweave_options_init(&options);
	options.path = "/tmp/unweave-test-%p-%p.unw";
	CHECK_EQ(unweave_start(&options), 0);
	unweave_stop();
	snprintf(path, sizeof(path), "/tmp/unweave-test-%d-%d.unw", getpid(), getpid());
	CHECK_EQ(stat(path, &st), 0);
	unlink(path);
}

struct own_module {
	char program[256];
	int found;
};

static int is_own_module(void *data, const struct meta_module *module)
{
	struct own_module *own = data;
	uintptr_t here = (uintptr_t)is_own_module;

	if (here < module->start || here >= module->end)
		return 0;
	own->found++;
	CHECK(module->path.length == strlen(own->program) &&
	      memcmp(module->path.bytes, own->program, module->path.length) == 0);
	CHECK(module->start % 4096 == 0 && module->offset % 4096 == 0);
	return 0;
}

/* Once when it begins, and once more at the end, with what was loaded meanwhile. */
static void the_file_says_which_code_was_mapped(void)
{
	struct own_module own = {.found = 0};
	struct reader *reader;
	ssize_t length = readlink("/proc/self/exe", own.program, sizeof(own.program) - 1);

	CHECK(length > 0);
	CHECK_EQ(start(), 0);
	unweave_stop();
	reader = read_trace();
	CHECK(reader && reader_anchors(reader) == (uintptr_t)unweave_anchors());
	CHECK(reader && reader_each_module(reader, is_own_module, &own) == 0);
	CHECK_EQ(own.found, 2);
	reader_free(reader);
}

int main(void)
{
	snprintf(trace, sizeof(trace), "/tmp/unweave-test-%d.unw", getpid());
	RUN(all_that_was_emitted_is_in_the_file);
	RUN(the_file_is_in_time_order_over_all_threads);
	RUN(a_slow_thread_is_delivered_within_a_second);
	RUN(an_idle_thread_is_delivered_within_a_second);
	RUN(a_dead_thread_is_delivered_and_reclaimed_at_the_next_pass);
#ifndef SANITIZED
	RUN(a_thread_that_vanishes_is_noticed_within_two_seconds);
#endif
	RUN(losses_are_in_the_file_too);
	RUN(the_path_may_have_the_process_id_in_it);
	RUN(the_file_says_which_code_was_mapped);
	collect_forget();
	unlink(trace);
	return check_done();
}

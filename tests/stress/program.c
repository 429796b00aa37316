/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arena/where.h"
#include "emit/emit.h"
#include "stress.h"

#define ERRNO_MARK 1234 /* hooks leave errno alone: it must stay this */
#define DEPTH_MAX 6
#define FRAMES_MAX 2500 /* more than a record can take */

/* A thread that emits. */
struct worker {
	struct board *board;
	struct count *count;
	const struct program_options *options;
	uint64_t random;
	uint64_t wakes;
	uint64_t running[DEPTH_MAX];
	uint32_t depth;
};

static uint64_t addresses[FRAMES_MAX];
static int32_t states[FRAMES_MAX];

/* That of the calling thread, for its handlers. */
static __thread struct count *my_count;

static uint64_t dice(struct worker *worker, uint64_t sides)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random % sides;
}

static struct unweave_stack some_stack(struct worker *worker)
{
	bool deep = dice(worker, 500) == 0;

	return (struct unweave_stack){
		.addresses = addresses + dice(worker, 16),
		.states = dice(worker, 2) ? states : NULL,
		.count = (uint32_t)dice(worker, deep ? FRAMES_MAX - 16 : 12),
		.keep = (uint32_t)dice(worker, 4),
	};
}

static uint64_t innermost(const struct worker *worker)
{
	return worker->depth ? worker->running[worker->depth - 1] : 0;
}

static void begin_run(struct worker *worker)
{
	struct unweave_stack stack = some_stack(worker);
	uint64_t task = 2 + dice(worker, 1000);

	worker->running[worker->depth++] = task;
	if (dice(worker, 4))
		unweave_task_resume(task);
	else
		unweave_task_resume_stack(task, &stack);
}

static void end_run(struct worker *worker)
{
	struct unweave_stack stack = some_stack(worker);
	uint64_t task = worker->running[--worker->depth];

	switch (dice(worker, 5)) {
	case 0:
		unweave_task_suspend(task);
		break;
	case 1:
		unweave_task_suspend_stack(task, &stack);
		break;
	case 2:
		unweave_task_leave(task, &stack);
		break;
	case 3:
		unweave_task_leave(task, NULL);
		break;
	default:
		unweave_task_complete(task, (enum unweave_status)dice(worker, 3));
		break;
	}
}

static void other_hook(struct worker *worker)
{
	struct unweave_stack stack = some_stack(worker);
	uint64_t task = 2 + dice(worker, 1000);

	switch (dice(worker, 11)) {
	case 0:
		unweave_task_new(UNWEAVE_SITE("some task"), UNWEAVE_MODEL_CHAIN,
				 UNWEAVE_PARENT_CURRENT, NULL);
		break;
	case 1:
		unweave_task_new(NULL, UNWEAVE_MODEL_MACHINE, task, &stack);
		break;
	case 2:
		unweave_task_wake(task, UNWEAVE_SOURCE_TASK);
		break;
	case 3:
		unweave_task_wake(task, UNWEAVE_SOURCE_IO);
		break;
	case 4:
		unweave_task_append(task, &stack);
		break;
	case 5:
		unweave_task_name(task, "a name that takes some words of the chunk");
		break;
	case 6:
		unweave_frame_resume(innermost(worker));
		break;
	case 7:
		unweave_frame_complete(innermost(worker));
		break;
	case 8:
		unweave_frame_unwind(innermost(worker), 3, 1);
		break;
	case 9:
		unweave_anchor_reset(innermost(worker));
		break;
	default:
		unweave_thread_idle();
		break;
	}
}

static void call_hook(struct worker *worker)
{
	if (worker->options->work == PROGRAM_WAKES) {
		worker->wakes += 2;
		unweave_task_wake(worker->wakes, UNWEAVE_SOURCE_TASK);
		return;
	}
	switch (dice(worker, 4)) {
	case 0:
		if (worker->depth < DEPTH_MAX) {
			begin_run(worker);
			return;
		}
		break;
	case 1:
		if (worker->depth) {
			end_run(worker);
			return;
		}
		break;
	}
	other_hook(worker);
}

/* What the streams have tried: exact once the thread's timers are off. */
static void note_records(struct count *count)
{
	const struct emit_thread *self = emit_self();

	atomic_store_explicit(&count->main, self->main.tried, memory_order_relaxed);
	atomic_store_explicit(&count->aside, self->aside.tried, memory_order_relaxed);
}

static void add(_Atomic uint64_t *number)
{
	atomic_store_explicit(number, atomic_load_explicit(number, memory_order_relaxed) + 1,
			      memory_order_release);
}

static void step(struct worker *worker)
{
	errno = ERRNO_MARK;
	call_hook(worker);
	if (errno != ERRNO_MARK)
		atomic_fetch_add(&worker->board->unwell, 1);
	add(&worker->count->hooks);
	note_records(worker->count);
}

static void on_timer(int signal)
{
	int error = errno;

	(void)signal;
	if (my_count) {
		unweave_task_wake(4242, UNWEAVE_SOURCE_TIMER);
		/* A handler may interrupt another one here. */
		atomic_fetch_add(&my_count->handled, 1);
	}
	errno = error;
}

static timer_t start_timer(int signal, uint32_t us)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal};
	struct itimerspec times = {.it_interval = {.tv_nsec = us * 1000L},
				   .it_value = {.tv_nsec = us * 1000L}};
	timer_t timer;

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 ||
	    timer_settime(timer, 0, &times, NULL) < 0)
		abort();
	return timer;
}

static bool is_over(const struct worker *worker, uint64_t hooks)
{
	return atomic_load_explicit(&worker->board->stop, memory_order_relaxed) ||
	       (hooks && worker->count->hooks >= hooks);
}

static void emit_until(struct worker *worker, uint64_t hooks)
{
	uint32_t pause_us = worker->options->pause_us;

	step(worker);
	while (!is_over(worker, hooks)) {
		step(worker);
		if (pause_us && worker->count->hooks % 256 == 0)
			stress_sleep_us(pause_us);
	}
}

/* With the timers' signals on for as long as it emits. */
static void emit_with_timers(struct worker *worker, uint64_t hooks)
{
	uint32_t us = worker->options->timer_us;
	bool nested = worker->options->nested_timer;
	timer_t first, second;

	if (!us) {
		emit_until(worker, hooks);
		return;
	}
	my_count = worker->count;
	first = start_timer(SIGUSR1, us);
	if (nested)
		second = start_timer(SIGUSR2, us * 7 / 3);
	emit_until(worker, hooks);
	timer_delete(first);
	if (nested)
		timer_delete(second);
	my_count = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	note_records(worker->count);
}

static void work(struct board *board, const struct program_options *options, uint64_t hooks)
{
	uint32_t slot = atomic_fetch_add(&board->threads, 1);
	struct worker worker = {.board = board,
				.options = options,
				.count = &board->counts[slot % BOARD_THREADS],
				.random = UINT64_C(0x9e3779b97f4a7c15) * (slot + 1)};
	char name[16];

	snprintf(name, sizeof(name), "w%u", slot);
	pthread_setname_np(pthread_self(), name);
	emit_with_timers(&worker, hooks);
	atomic_store(&worker.count->done, 1);
	atomic_fetch_add(&board->finished, 1);
}

struct start {
	struct board *board;
	const struct program_options *options;
};

static void *long_thread(void *data)
{
	const struct start *start = data;

	work(start->board, start->options, start->options->hooks);
	return NULL;
}

static void *short_thread(void *data)
{
	const struct start *start = data;

	work(start->board, start->options, start->options->short_hooks);
	return NULL;
}

static void start_thread(pthread_t *ret, void *(*run)(void *data), struct start *start)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	if (pthread_create(ret, &attributes, run, start) != 0)
		abort();
	pthread_attr_destroy(&attributes);
}

static void run_short_threads(struct start *start)
{
	const struct program_options *options = start->options;
	pthread_t threads[64];

	for (uint32_t begun = 0; begun < options->short_threads && !start->board->stop;) {
		uint32_t now = 0;

		for (; now < options->at_a_time && begun < options->short_threads; now++, begun++)
			start_thread(&threads[now], short_thread, start);
		while (now-- > 0)
			pthread_join(threads[now], NULL);
	}
}

void program_run(struct board *board, const struct program_options *given)
{
	/* The first thread may end before the others, and its stack with it. */
	static struct program_options kept;
	static struct start start;
	const struct program_options *options = &kept;
	struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
	pthread_t threads[512];

	kept = *given;
	start = (struct start){board, &kept};
	for (uint32_t i = 0; i < FRAMES_MAX; i++) {
		addresses[i] = UINT64_C(0x555500000000) + i * 37 % 400 * 16;
		states[i] = (int32_t)(i % 7);
	}
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	for (uint32_t i = 0; i < options->threads; i++)
		start_thread(&threads[i], long_thread, &start);
	run_short_threads(&start);
	if (options->leave_main)
		pthread_exit(NULL);
	for (uint32_t i = 0; i < options->threads; i++)
		pthread_join(threads[i], NULL);
}

/* A first hook makes the arena; a session then opens the gate. */
static void await_session(void)
{
	unweave_thread_idle();
	while ((unweave_priv_gate() & UNWEAVE_PRIV_MODE_MASK) == UNWEAVE_PRIV_MODE_OFF)
		stress_sleep_us(200);
}

/* As the tool does for a program that it starts. */
static void arm(const struct program_options *options)
{
	uint64_t bytes = options->buffer_bytes ? options->buffer_bytes : ARENA_POOL_DEFAULT;
	char order[96];

	snprintf(order, sizeof(order), "%d:%" PRIu64 ":%d:%" PRIu64, getpid(),
		 UNWEAVE_KEYWORDS_FULL, (int)options->policy, bytes / ARENA_CHUNK_BYTES);
	setenv(ARENA_ARM_VARIABLE, order, 1);
}

static void record_self(const struct program_options *options)
{
	struct unweave_options session;

	unweave_options_init(&session);
	session.path = options->trace;
	session.policy = options->policy;
	session.buffer_bytes = options->buffer_bytes;
	if (unweave_start(&session) < 0)
		abort();
}

void program_start(struct program *ret, const struct program_options *options)
{
	ret->board = stress_share(sizeof(*ret->board));
	fflush(stdout);
	ret->pid = fork();
	if (ret->pid != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (options->armed)
		arm(options);
	if (options->trace)
		record_self(options);
	else
		await_session();
	program_run(ret->board, options);
	unweave_stop();
	/* The test's own handlers at exit are not the program's; the library's are in exit(). */
	exit(atomic_load(&ret->board->unwell) ? 1 : 0);
}

bool program_await(const struct program *program, uint32_t threads)
{
	uint64_t until = stress_now_ns() + UINT64_C(20000000000);
	uint32_t ready = 0;

	while (ready < threads && stress_now_ns() < until) {
		ready = 0;
		for (uint32_t i = 0; i < threads; i++)
			ready += atomic_load(&program->board->counts[i].hooks) > 0;
		stress_sleep_us(200);
	}
	return ready == threads;
}

bool program_finish(struct program *program, unsigned limit_ms)
{
	int status = stress_wait(program->pid, limit_ms);

	return status == 0;
}

bool program_stop(struct program *program)
{
	atomic_store(&program->board->stop, 1);
	return program_finish(program, 20000);
}

void program_kill(struct program *program)
{
	kill(program->pid, SIGKILL);
	waitpid(program->pid, NULL, 0);
}

void program_fini(struct program *program)
{
	munmap(program->board, sizeof(*program->board));
	program->board = NULL;
}

uint64_t program_hooks(const struct board *board)
{
	uint64_t hooks = 0;

	for (uint32_t i = 0; i < BOARD_THREADS; i++)
		hooks += board->counts[i].hooks + board->counts[i].handled;
	return hooks;
}

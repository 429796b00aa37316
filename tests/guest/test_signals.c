/* SPDX-License-Identifier: Apache-2.0 */
/* Signal handlers that emit, wherever they find the thread. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hand.h"

#define CHAIN UNWEAVE_MODEL_CHAIN
#define SIGNALS 20000

static struct hand hand;

static uint64_t by_thread;
/* Handlers may interrupt handlers that count. */
static _Atomic uint64_t by_handler;
static _Atomic uint64_t handled;
static _Atomic unsigned errno_wrong;

/* The timer's signals go to the thread that calls this. */
static timer_t start_timer(int number, long ns)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
	struct itimerspec interval = {{.tv_nsec = ns}, {.tv_nsec = ns}};
	timer_t timer;

	event._sigev_un._tid = gettid();
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	CHECK_EQ(timer_settime(timer, 0, &interval, NULL), 0);
	return timer;
}

static void handle(int number, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler};

	sigemptyset(&action.sa_mask);
	CHECK_EQ(sigaction(number, &action, NULL), 0);
}

static void emit_in_handler(int number)
{
	int error = errno;
	uint64_t task;

	(void)number;
	errno = 4711;
	task = unweave_task_new(NULL, CHAIN, 0, NULL);
	unweave_task_wake(task, UNWEAVE_SOURCE_SIGNAL);
	unweave_task_resume(task);
	unweave_task_complete(task, UNWEAVE_OK);
	errno_wrong += errno != 4711;
	errno = error;
	by_handler += 4;
	handled++;
}

/* One of each kind of hook that there is, so that the signal may find any. */
static void emit_flat_out(uint64_t until)
{
	const uint64_t addresses[] = {1, 2, 3};
	const struct unweave_stack stack = {.addresses = addresses, .count = 3};

	while (handled < until) {
		uint64_t task = unweave_task_new(NULL, CHAIN, 0, NULL);

		unweave_task_resume(task);
		unweave_frame_unwind(task, 1, 0);
		unweave_task_suspend_stack(task, &stack);
		unweave_task_resume_stack(task, &stack);
		unweave_task_complete(task, UNWEAVE_OK);
		by_thread += 6;
	}
}

static atomic_bool stop_draining;

/* A drain that goes on meanwhile; it is the only one that uses `hand`. */
static void *drain_steadily(void *data)
{
	struct timespec pause = {.tv_nsec = 200000};
	sigset_t all;

	(void)data;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	while (!atomic_load(&stop_draining)) {
		drain_pass(hand.drain);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static pthread_t begin(enum unweave_policy policy, uint64_t bytes)
{
	pthread_t drainer;

	by_thread = 0;
	by_handler = 0;
	handled = 0;
	errno_wrong = 0;
	hand_begin(&hand, policy, bytes);
	atomic_store(&stop_draining, false);
	pthread_create(&drainer, NULL, drain_steadily, NULL);
	return drainer;
}

static void end(pthread_t drainer)
{
	atomic_store(&stop_draining, true);
	pthread_join(drainer, NULL);
	hand_end(&hand);
}

static void check_flat_out(enum unweave_policy policy, uint64_t bytes)
{
	pthread_t drainer = begin(policy, bytes);
	timer_t timer;

	handle(SIGUSR1, emit_in_handler);
	timer = start_timer(SIGUSR1, 20000);
	emit_flat_out(SIGNALS);
	timer_delete(timer);
	end(drainer);
	CHECK_EQ(hand_accounted(&hand), by_thread + by_handler);
	CHECK_EQ(errno_wrong, 0);
	/* It would be a bad test if the handler never came in the middle of a hook. */
	CHECK(hand.aside > 0);
}

static void what_handler_and_thread_emit_is_all_received_or_counted(void)
{
	check_flat_out(UNWEAVE_POLICY_DROP, 0);
	check_flat_out(UNWEAVE_POLICY_DROP, 2 * ARENA_CHUNK_BYTES);
	check_flat_out(UNWEAVE_POLICY_BLOCK, 4 * ARENA_CHUNK_BYTES);
}

/* The count of what was overwritten includes the resets that went with it. */
static void overwriting_with_handlers_corrupts_nothing(void)
{
	pthread_t drainer = begin(UNWEAVE_POLICY_OVERWRITE, 4 * ARENA_CHUNK_BYTES);
	timer_t timer;

	handle(SIGUSR1, emit_in_handler);
	timer = start_timer(SIGUSR1, 20000);
	emit_flat_out(SIGNALS);
	timer_delete(timer);
	end(drainer);
	CHECK(hand_accounted(&hand) >= by_thread + by_handler);
	CHECK(hand.aside > 0);
}

static void emit_in_nested_handler(int number)
{
	emit_in_handler(number);
}

/* Two signals: the one interrupts the handler of the other, in the middle of its hooks. */
static void handlers_that_interrupt_handlers_are_received_or_counted(void)
{
	pthread_t drainer = begin(UNWEAVE_POLICY_DROP, 0);
	timer_t first, second;

	handle(SIGUSR1, emit_in_handler);
	handle(SIGUSR2, emit_in_nested_handler);
	first = start_timer(SIGUSR1, 20000);
	second = start_timer(SIGUSR2, 17000);
	emit_flat_out(2 * SIGNALS);
	timer_delete(first);
	timer_delete(second);
	end(drainer);
	CHECK_EQ(hand_accounted(&hand), by_thread + by_handler);
}

static void a_later_session_does_not_count_reentries_again(void)
{
	hand_begin(&hand, UNWEAVE_POLICY_DROP, 0);
	unweave_thread_idle();
	hand_end(&hand);
	CHECK_EQ(hand.totals.reentries, 0);
	CHECK_EQ(hand.totals.orphans, 0);
	CHECK_EQ(hand.events, 1);
}

/* Each thread's very first hook may be interrupted too. */
static void *first_hook(void *data)
{
	timer_t timer = start_timer(SIGUSR1, 50000);

	(void)data;
	for (int i = 0; i < 1000; i++) {
		unweave_thread_idle();
		by_thread++;
	}
	timer_delete(timer);
	return NULL;
}

static void a_handler_may_interrupt_the_first_hook_of_a_thread(void)
{
	pthread_t drainer = begin(UNWEAVE_POLICY_DROP, 0);

	handle(SIGUSR1, emit_in_handler);
	for (int i = 0; i < 500; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, first_hook, NULL);
		pthread_join(thread, NULL);
	}
	end(drainer);
	CHECK_EQ(hand_accounted(&hand), by_thread + by_handler);
}

static sigjmp_buf back;
static volatile uint64_t attempts;

static void jump_out(int number)
{
	(void)number;
	unweave_thread_idle();
	by_handler++;
	handled++;
	siglongjmp(back, 1);
}

/* The hook that was left may have emitted or not; every other one is received or counted. */
static void a_handler_may_jump_out_of_a_hook(void)
{
	pthread_t drainer = begin(UNWEAVE_POLICY_DROP, 0);
	uint64_t found;
	timer_t timer;

	handle(SIGUSR1, jump_out);
	timer = start_timer(SIGUSR1, 100000);
	attempts = 0;
	sigsetjmp(back, 1);
	while (handled < 1000) {
		unweave_frame_unwind(0, 1, 0);
		attempts++;
	}
	timer_delete(timer);
	end(drainer);
	found = hand_accounted(&hand);
	CHECK(found >= attempts + by_handler);
	CHECK(found <= attempts + by_handler + handled);
}

/* Inline hooks, which touch nothing but the nest. */
static void at_detail_samples_a_handler_leaves_the_nest_as_it_was(void)
{
	uint64_t outer = unweave_task_new(NULL, CHAIN, 0, NULL);
	uint64_t inner = unweave_task_new(NULL, CHAIN, 0, NULL);
	const struct unweave_priv_nest *nest;
	unsigned wrong = 0;
	timer_t timer;

	by_handler = 0;
	handled = 0;
	hand_begin(&hand, UNWEAVE_POLICY_DROP, 0);
	drain_set_keywords(hand.drain, 0);
	handle(SIGUSR1, emit_in_handler);
	unweave_task_resume(outer);
	nest = unweave_priv_self->nest;
	timer = start_timer(SIGUSR1, 20000);
	while (handled < SIGNALS) {
		unweave_task_resume(inner);
		wrong += nest->tasks[0] != outer || nest->tasks[1] != inner || nest->tasks[2];
		unweave_task_suspend(inner);
		wrong += nest->tasks[0] != outer || nest->tasks[1];
	}
	timer_delete(timer);
	unweave_task_suspend(outer);
	CHECK_EQ(nest->tasks[0], 0);
	CHECK_EQ(wrong, 0);
	hand_end(&hand);
	CHECK_EQ(hand.events, 0);
}

/* The first hook of a process, in a handler that interrupts the allocator. */
static void allocate_on(int number)
{
	(void)number;
	unweave_thread_idle();
	handled++;
}

static void the_first_hook_may_be_in_a_handler_that_interrupts_malloc(void)
{
	for (int i = 0; i < 50; i++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			void *volatile memory[64] = {0};

			handled = 0;
			handle(SIGALRM, allocate_on);
			ualarm(200 + (useconds_t)i, 0);
			for (unsigned j = 0; !handled; j++) {
				free(memory[j % 64]);
				memory[j % 64] = malloc(1 + j % 5000);
			}
			_exit(0);
		}
		for (int j = 0; j < 5000; j++) {
			struct timespec pause = {.tv_nsec = 1000000};

			if (waitpid(child, &status, WNOHANG) == child) {
				CHECK_EQ(status, 0);
				child = 0;
				break;
			}
			nanosleep(&pause, NULL);
		}
		CHECK_EQ(child, 0);
		if (child) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
		}
	}
}

int main(void)
{
	RUN(the_first_hook_may_be_in_a_handler_that_interrupts_malloc);
	RUN(what_handler_and_thread_emit_is_all_received_or_counted);
	RUN(overwriting_with_handlers_corrupts_nothing);
	RUN(handlers_that_interrupt_handlers_are_received_or_counted);
	RUN(a_later_session_does_not_count_reentries_again);
	RUN(a_handler_may_interrupt_the_first_hook_of_a_thread);
	RUN(at_detail_samples_a_handler_leaves_the_nest_as_it_was);
	RUN(a_handler_may_jump_out_of_a_hook);
	return check_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "storms.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stress.h"
#include "unweave/chain.h"
#include "unweave/machine.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define HANDLER_NS 700000 /* between two signals of the program's own */
#define AT_A_TIME 8u

static struct storms_board *board;
static __thread volatile uint64_t sink;
static __thread sigjmp_buf back;
static __thread uint32_t slot;

struct storms_board *storms_board_new(void)
{
	struct storms_board *shared = stress_share(sizeof(*shared));
	size_t bytes = STORMS_TASKS * sizeof(uint64_t);
	char *tasks = stress_share(STORMS_SLOTS * bytes);

	for (uint32_t i = 0; i < STORMS_SLOTS; i++)
		shared->all[i].tasks = (_Atomic uint64_t *)(tasks + i * bytes);
	return shared;
}

static bool is_over(void)
{
	return atomic_load_explicit(&board->stop, memory_order_relaxed);
}

static uint32_t thread_id(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static __attribute__((noinline)) void burn(uint32_t rounds)
{
	for (uint32_t i = 0; i < rounds; i++)
		sink += i * i;
}

/* Works, with the number of its task on its stack. A handler must leave errno alone. */
static __attribute__((noinline)) void work(uint64_t number)
{
	volatile uint64_t mark[3];

	mark[2] = ~number;
	mark[1] = number;
	mark[0] = STORMS_MARK;
	errno = (int)number;
	burn(2000);
	if (errno != (int)number || mark[1] != number)
		atomic_fetch_add(&board->unwell, 1);
	mark[0] = 0;
}

static uint64_t number_of(const struct unweave_link *link)
{
	return (uintptr_t)link->code >> 4 & 0x3fffffff;
}

static int link_go(struct unweave_link *link, void *context)
{
	(void)context;
	work(number_of(link));
	return UNWEAVE_STEP_DONE;
}

static const void *code_of(uint64_t number, uint32_t level)
{
	return (const void *)(uintptr_t)STORMS_ADDRESS(slot, number, level);
}

static void tell(uint64_t number, uint64_t task)
{
	atomic_store(&board->all[slot].tasks[number % STORMS_TASKS], task);
}

static void run_chain(uint64_t number)
{
	struct unweave_link links[STORMS_LINKS];
	struct unweave_chain chain;

	unweave_chain_init(&chain);
	for (uint32_t i = 0; i < STORMS_LINKS; i++) {
		unweave_link_init(&links[i], link_go, code_of(number, i), (int32_t)i);
		unweave_chain_push(&chain, &links[i]);
	}
	unweave_chain_start(&chain, NULL, 0);
	tell(number, chain.head.task);
	unweave_chain_run(&chain, 0);
}

static int box_go(struct unweave_link *link, void *context)
{
	(void)context;
	work(number_of(link));
	unweave_box_complete((struct unweave_box *)link, UNWEAVE_OK);
	return 0;
}

static void run_box(uint64_t number)
{
	struct unweave_box box;

	unweave_box_init(&box, box_go, code_of(number, STORMS_LINKS - 1), NULL);
	box.link.state = STORMS_LINKS - 1;
	unweave_box_suspend(&box);
	tell(number, box.head.task);
	unweave_box_run(&box, 0);
}

static void take_slot(void)
{
	slot = atomic_fetch_add(&board->slots, 1);
	if (slot >= STORMS_SLOTS)
		abort();
	atomic_store(&board->all[slot].tid, thread_id());
}

static void run_some(uint64_t number)
{
	if (number % 2)
		run_chain(number);
	else
		run_box(number);
}

static void on_own_signal(int signal)
{
	int error = errno;

	(void)signal;
	/* The thread is never inside of an allocation. */
	free(malloc(100));
	errno = error;
}

static void on_jump(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

static timer_t begin_signals(int signal)
{
	struct itimerspec often = {{.tv_nsec = HANDLER_NS}, {.tv_nsec = HANDLER_NS}};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal};
	timer_t timer;

	event.sigev_notify_thread_id = (pid_t)thread_id();
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &often, NULL))
		abort();
	return timer;
}

static void *be_worker(void *with_signal_stack)
{
	static char room[64 << 10];
	stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};
	timer_t timer;

	if (with_signal_stack)
		sigaltstack(&stack, NULL);
	take_slot();
	timer = begin_signals(SIGPROF);
	for (uint64_t number = 1; !is_over(); number++)
		run_some(number);
	timer_delete(timer);
	stack.ss_flags = SS_DISABLE;
	if (with_signal_stack)
		sigaltstack(&stack, NULL);
	return NULL;
}

static void *be_taskless(void *data)
{
	atomic_store(&board->taskless, thread_id());
	while (!is_over()) {
		burn(1000);
		free(malloc(1 + sink % 5000));
	}
	return data;
}

static void *be_short(void *data)
{
	take_slot();
	for (uint64_t number = 1; number < 5; number++)
		run_some(number);
	atomic_fetch_add(&board->threads, 1);
	return data;
}

static void *start_threads(void *data)
{
	pthread_t threads[AT_A_TIME];

	for (uint32_t left = (uint32_t)(uintptr_t)data; left; left -= AT_A_TIME) {
		for (uint32_t i = 0; i < AT_A_TIME; i++)
			if (pthread_create(&threads[i], NULL, be_short, NULL))
				abort();
		for (uint32_t i = 0; i < AT_A_TIME; i++)
			pthread_join(threads[i], NULL);
	}
	return NULL;
}

static void *fork_children(void *data)
{
	while (!is_over()) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			burn(20000);
			_exit(7);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 7)
			atomic_fetch_add(&board->unwell, 1);
		atomic_fetch_add(&board->children, 1);
		stress_sleep_us(2000);
	}
	return data;
}

static void *load_modules(void *data)
{
	while (!is_over()) {
		void *module = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL);

		if (module)
			dlclose(module);
		atomic_fetch_add(&board->modules, module != NULL);
		burn(20000);
	}
	return data;
}

static void *jump(void *data)
{
	if (sigsetjmp(back, 1))
		atomic_fetch_add(&board->jumps, 1);
	else
		begin_signals(SIGUSR2);
	while (!is_over())
		burn(1000);
	signal(SIGUSR2, SIG_IGN);
	return data;
}

static void start(pthread_t *ret, void *(*run)(void *), void *data, size_t stack_bytes)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	if (stack_bytes)
		pthread_attr_setstacksize(&attributes, stack_bytes);
	if (pthread_create(ret, &attributes, run, data))
		abort();
	pthread_attr_destroy(&attributes);
}

_Noreturn void storms_run(struct storms_board *shared, uint32_t short_threads)
{
	/* A sanitizer needs more of a stack than there is. */
	size_t least = STRESS_SANITIZED ? 0 : (size_t)PTHREAD_STACK_MIN;
	pthread_t threads[8];

	board = shared;
	sigaction(SIGPROF, &(struct sigaction){.sa_handler = on_own_signal, .sa_flags = SA_RESTART},
		  NULL);
	sigaction(SIGUSR2, &(struct sigaction){.sa_handler = on_jump}, NULL);
	unweave_task_complete(unweave_task_new(NULL, UNWEAVE_MODEL_CHAIN, 0, NULL), UNWEAVE_OK);
	atomic_store(&board->ready, 1);
	start(&threads[0], be_worker, NULL, 0);
	start(&threads[1], be_worker, board, 0);
	start(&threads[2], be_worker, NULL, least);
	start(&threads[3], be_taskless, NULL, 0);
	start(&threads[4], start_threads, (void *)(uintptr_t)short_threads, 0);
	start(&threads[5], fork_children, NULL, 0);
	start(&threads[6], load_modules, NULL, 0);
	start(&threads[7], jump, NULL, 0);
	pthread_join(threads[4], NULL);
	while (!is_over())
		stress_sleep_us(1000);
	/* The others are still at it, in handlers or not. */
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

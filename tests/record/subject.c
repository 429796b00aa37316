/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to be recorded, which does what the verbs of its command line say:
 *
 *     work MS           runs tasks, for so much CPU time of each thread that works
 *     busy MS           runs a task that does nothing, as often as may be
 *     sleep MS          and not the rest
 *     rest N MS         so does the rest of the program, and so many threads that never do more
 *     keep N            makes so many tasks that never run
 *     call              arms a callback, and calls it
 *     ask N             so many times: names a task, and at once sends SIGUSR2 to the process
 *                       whose pid is in the file `asked`, once it is there
 *     doze N MS         runs a task so many times, which works and then sleeps for so long
 *     nap N MS          runs two tasks so many times, each of which sleeps for so long, or until
 *                       a signal comes: one in nanosleep(), one in poll()
 *     threads N MS      works on so many threads at once
 *     small N MS        the same on the smallest stacks that there are
 *     alternate MS      works inside of a signal handler on an alternate stack
 *     fork N            so many children, one after the other, run a task each
 *     crowd N           so many children at once
 *     leave MS          a child that works, and that nobody waits for
 *     block             SIGURG, in this thread and those that it starts
 *     handle            SIGURG, by a handler that counts
 *     ignore            SIGURG, as where nobody handles it
 *     step MS           works for 0.7 ms of every 8, in step with the kernel's clock
 *     switch MS         sends a byte to another thread and back, as often as may be
 *     used              says how many ms of CPU time it has used
 *     unclock           has no timers any more
 *     spin MS           works without a task, in wall time
 *     stay              is not ended by SIGINT, SIGHUP or SIGTERM
 *     undisturbed MS    works, and no SIGURG is counted meanwhile
 *     profile MS        works while SIGPROF comes, and counts it
 *     elsewhere         what follows happens in another thread, and this one ends
 *     middle            what follows happens in the middle of a run
 *     segv, kill, exit STATUS, exec PROGRAM ARGUMENT...
 *     say TEXT
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unweave/callback.h"

static volatile uint64_t sink;
static volatile sig_atomic_t counted;
static int work_ms;
static volatile int *volatile nowhere;

static uint64_t cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static __attribute__((noinline)) void burn(void)
{
	for (unsigned i = 0; i < 20000; i++)
		sink += i * i;
}

static void work(int ms)
{
	uint64_t end = cpu_ns() + (uint64_t)ms * 1000000;
	uint64_t task = unweave_task_new(UNWEAVE_SITE("subject"), UNWEAVE_MODEL_CHAIN, 0, NULL);

	do {
		unweave_task_resume(task);
		burn();
		unweave_task_suspend(task);
	} while (cpu_ns() < end);
	unweave_task_complete(task, UNWEAVE_OK);
}

static void sleep_ms(int ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	while (nanosleep(&time, &time) < 0 && errno == EINTR)
		;
}

static __attribute__((noinline)) void doze(int times, int ms)
{
	uint64_t task = unweave_task_new(UNWEAVE_SITE("sleeper"), UNWEAVE_MODEL_CHAIN, 0, NULL);

	for (int i = 0; i < times; i++) {
		uint64_t end = cpu_ns() + (uint64_t)ms * 1000000;

		unweave_task_resume(task);
		do
			burn();
		while (cpu_ns() < end);
		sleep_ms(ms);
		unweave_task_suspend(task);
	}
	unweave_task_complete(task, UNWEAVE_OK);
}

static void nap(int times, int ms)
{
	uint64_t first = unweave_task_new(UNWEAVE_SITE("napper"), UNWEAVE_MODEL_CHAIN, 0, NULL);
	uint64_t second = unweave_task_new(UNWEAVE_SITE("poller"), UNWEAVE_MODEL_CHAIN, 0, NULL);
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	for (int i = 0; i < times; i++) {
		unweave_task_resume(first);
		nanosleep(&time, NULL);
		unweave_task_suspend(first);
		unweave_task_resume(second);
		poll(NULL, 0, ms);
		unweave_task_suspend(second);
	}
	unweave_task_complete(first, UNWEAVE_OK);
	unweave_task_complete(second, UNWEAVE_OK);
}

static void busy(int ms)
{
	uint64_t end = cpu_ns() + (uint64_t)ms * 1000000;
	uint64_t task = unweave_task_new(UNWEAVE_SITE("busy"), UNWEAVE_MODEL_CHAIN, 0, NULL);

	while (cpu_ns() < end)
		for (unsigned i = 0; i < 1000; i++) {
			unweave_task_resume(task);
			unweave_task_suspend(task);
		}
	unweave_task_complete(task, UNWEAVE_OK);
}

static void *work_on_thread(void *data)
{
	(void)data;
	work(work_ms);
	return NULL;
}

static void threads(int count, int ms, size_t stack)
{
	pthread_t all[64];
	pthread_attr_t attributes;

	work_ms = ms;
	pthread_attr_init(&attributes);
	if (stack)
		pthread_attr_setstacksize(&attributes, stack);
	for (int i = 0; i < count && i < 64; i++)
		if (pthread_create(&all[i], &attributes, work_on_thread, NULL) != 0)
			exit(99);
	for (int i = 0; i < count && i < 64; i++)
		pthread_join(all[i], NULL);
}

static void *pause_on_thread(void *data)
{
	(void)data;
	for (;;)
		pause();
	return NULL;
}

static void rest(int count, int ms)
{
	pthread_t thread;
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN * 2);
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, &attributes, pause_on_thread, NULL) != 0)
			exit(99);
	sleep_ms(ms);
}

static void on_alternate(int signal)
{
	(void)signal;
	work(work_ms);
}

static void alternate(int ms)
{
	static char memory[32768];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
	struct sigaction action = {.sa_handler = on_alternate, .sa_flags = SA_ONSTACK};

	work_ms = ms;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static void wait_for(int count)
{
	int status;

	for (int i = 0; i < count; i++)
		if (wait(&status) < 0 || status != 0)
			exit(98);
}

static void children(int count, int at_once)
{
	for (int i = 0; i < count; i += at_once) {
		for (int k = 0; k < at_once; k++)
			if (fork() == 0) {
				work(1);
				_exit(0);
			}
		wait_for(at_once);
	}
}

static void leave(int ms)
{
	if (fork() == 0) {
		work(ms);
		_exit(0);
	}
}

static void count(int signal)
{
	(void)signal;
	counted++;
}

static void stay(void)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
}

static void undisturbed(int ms)
{
	sig_atomic_t before = counted;

	work(ms);
	if (counted != before)
		exit(94);
}

static void profile(int ms)
{
	struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
	struct itimerval time = {.it_interval = {.tv_usec = 10000}, .it_value = {.tv_usec = 10000}};

	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &time, NULL);
	work(ms);
	memset(&time, 0, sizeof(time));
	setitimer(ITIMER_PROF, &time, NULL);
	/* The kernel's own tick bounds it; what we do must not. */
	if (counted < ms / 10 / 4)
		exit(97);
}

static void block(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void handle(void)
{
	struct sigaction action = {.sa_handler = count};

	sigaction(SIGURG, &action, NULL);
}

static void unclock(void)
{
	for (int id = 0; id < 100; id++)
		syscall(SYS_timer_delete, id);
}

static uint64_t wall_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void spin(int ms)
{
	uint64_t end = wall_ns() + (uint64_t)ms * 1000000;

	while (wall_ns() < end)
		burn();
}

static void step(int ms)
{
	uint64_t end = wall_ns() + (uint64_t)ms * 1000000, next = wall_ns() / 8000000 * 8000000;

	while (wall_ns() < end) {
		struct timespec time;

		while (next < wall_ns())
			next += 8000000;
		time = (struct timespec){.tv_sec = (time_t)(next / 1000000000),
					 .tv_nsec = (long)(next % 1000000000)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
		for (uint64_t until = cpu_ns() + 700000; cpu_ns() < until;)
			sink++;
	}
}

static int there[2], back[2];

static void *send_back(void *data)
{
	char byte;

	while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
		;
	return data;
}

static void exchange(int ms)
{
	uint64_t end = wall_ns() + (uint64_t)ms * 1000000;
	pthread_t thread;
	char byte = 0;

	if (pipe(there) < 0 || pipe(back) < 0 ||
	    pthread_create(&thread, NULL, send_back, NULL) != 0)
		exit(99);
	while (wall_ns() < end)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			exit(99);
	close(there[1]);
	pthread_join(thread, NULL);
}

static void say_used(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	printf("%ld\n", (long)time.tv_sec * 1000 + time.tv_nsec / 1000000);
}

static void middle(void)
{
	unweave_task_resume(unweave_task_new(UNWEAVE_SITE("middle"), UNWEAVE_MODEL_CHAIN, 0, NULL));
}

static void keep(int count)
{
	while (count-- > 0)
		unweave_task_new(UNWEAVE_SITE("kept"), UNWEAVE_MODEL_CHAIN, 0, NULL);
}

static int asked_pid(void)
{
	FILE *file;
	int pid = 0;

	while (!(file = fopen("asked", "r")))
		sleep_ms(10);
	if (fscanf(file, "%d", &pid) != 1)
		exit(94);
	fclose(file);
	return pid;
}

/* At no particular time between two passes of a recorder. */
static void ask(int count)
{
	uint64_t task = unweave_task_new(UNWEAVE_SITE("asks"), UNWEAVE_MODEL_CHAIN, 0, NULL);
	int pid = asked_pid();
	char name[32];

	for (int i = 1; i <= count; i++) {
		sleep_ms(250 + i * 7 % 20);
		snprintf(name, sizeof(name), "request %d.", i);
		unweave_task_name(task, name);
		kill(pid, SIGUSR2);
	}
	sleep_ms(250);
}

static int answer(struct unweave_link *none, void *context)
{
	(void)none;
	(void)context;
	return 0;
}

static void call(void)
{
	uint64_t task = unweave_callback_arm("read", (void *)answer, (char *)call + 1, 0);

	unweave_callback_call(
		&(struct unweave_call){.task = task, .go = answer, .code = (void *)answer});
}

static void *obey_all(void *data);

static void elsewhere(char **rest_of_them)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, obey_all, rest_of_them) != 0)
		exit(99);
	pthread_exit(NULL);
}

static int number(char **argument)
{
	return argument[1] ? atoi(argument[1]) : 0;
}

/* Does the verb, and returns how many words it was. */
static int obey(char **argument)
{
	const char *verb = argument[0];

	if (strcmp(verb, "work") == 0)
		work(number(argument));
	else if (strcmp(verb, "busy") == 0)
		busy(number(argument));
	else if (strcmp(verb, "sleep") == 0)
		sleep_ms(number(argument));
	else if (strcmp(verb, "spin") == 0)
		spin(number(argument));
	else if (strcmp(verb, "step") == 0)
		step(number(argument));
	else if (strcmp(verb, "switch") == 0)
		exchange(number(argument));
	else if (strcmp(verb, "keep") == 0)
		keep(number(argument));
	else if (strcmp(verb, "ask") == 0)
		ask(number(argument));
	else if (strcmp(verb, "doze") == 0)
		return doze(number(argument), number(argument + 1)), 3;
	else if (strcmp(verb, "rest") == 0)
		return rest(number(argument), number(argument + 1)), 3;
	else if (strcmp(verb, "nap") == 0)
		return nap(number(argument), number(argument + 1)), 3;
	else if (strcmp(verb, "threads") == 0 || strcmp(verb, "small") == 0)
		return threads(number(argument), number(argument + 1),
			       *verb == 's' ? (size_t)PTHREAD_STACK_MIN : 0),
		       3;
	else if (strcmp(verb, "alternate") == 0)
		alternate(number(argument));
	else if (strcmp(verb, "fork") == 0)
		children(number(argument), 1);
	else if (strcmp(verb, "crowd") == 0)
		children(number(argument), number(argument));
	else if (strcmp(verb, "leave") == 0)
		leave(number(argument));
	else if (strcmp(verb, "undisturbed") == 0)
		undisturbed(number(argument));
	else if (strcmp(verb, "profile") == 0)
		profile(number(argument));
	else if (strcmp(verb, "exit") == 0)
		exit(number(argument));
	else if (strcmp(verb, "say") == 0)
		puts(argument[1]), fflush(stdout);
	else if (strcmp(verb, "exec") == 0)
		execvp(argument[1], argument + 1), exit(96);
	else if (strcmp(verb, "call") == 0)
		return call(), 1;
	else if (strcmp(verb, "block") == 0)
		return block(), 1;
	else if (strcmp(verb, "handle") == 0)
		return handle(), 1;
	else if (strcmp(verb, "elsewhere") == 0)
		elsewhere(argument + 1);
	else if (strcmp(verb, "used") == 0)
		return say_used(), 1;
	else if (strcmp(verb, "unclock") == 0)
		return unclock(), 1;
	else if (strcmp(verb, "ignore") == 0)
		return signal(SIGURG, SIG_IGN), 1;
	else if (strcmp(verb, "stay") == 0)
		return stay(), 1;
	else if (strcmp(verb, "middle") == 0)
		return middle(), 1;
	else if (strcmp(verb, "segv") == 0)
		*nowhere = 0;
	else if (strcmp(verb, "kill") == 0)
		kill(getpid(), SIGKILL);
	else
		exit(95);
	return 2;
}

static void *obey_all(void *data)
{
	for (char **argument = data; *argument;)
		argument += obey(argument);
	exit(0);
}

int main(int argc, char **argv)
{
	(void)argc;
	obey_all(argv + 1);
}

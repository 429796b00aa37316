/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that fork, in all the ways there are. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hand.h"
#include "trace/reader.h"

#define CHAIN UNWEAVE_MODEL_CHAIN
#define CHILD_EXIT 42

extern char **environ;

static char trace[64], child_trace[64];

static void emit_much(void)
{
	struct unweave_site *site = UNWEAVE_SITE("much");

	for (int i = 0; i < 5000; i++) {
		uint64_t task = unweave_task_new(site, CHAIN, 0, NULL);

		unweave_task_resume(task);
		unweave_frame_unwind(task, (uint32_t)i, 0);
		unweave_task_complete(task, UNWEAVE_OK);
	}
}

static pid_t fork_plainly(void)
{
	return fork();
}

static pid_t fork_by_number(void)
{
#ifdef SYS_fork
	return (pid_t)syscall(SYS_fork);
#else
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

static pid_t fork_by_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
}

typedef pid_t (*fork_function)(void);
static const fork_function forks[] = {fork_plainly, fork_by_number, fork_by_clone};
#define FORKS (sizeof(forks) / sizeof(forks[0]))

/* Waits for a child, not for ever; returns its exit status, or -1. */
static int await_child(pid_t child)
{
	struct timespec pause = {.tv_nsec = 1000000};
	int status;

	for (int i = 0; i < 20000; i++) {
		pid_t ended = waitpid(child, &status, WNOHANG);

		if (ended == child)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		nanosleep(&pause, NULL);
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return -1;
}

static void *copy_arena(void)
{
	size_t bytes = emit_process.control->bytes;
	void *copy = malloc(bytes);

	/* What nobody has written to stays a hole: not more memory than there is. */
	return copy ? memcpy(copy, emit_process.control, bytes) : NULL;
}

static int start(const char *path)
{
	struct unweave_options options;

	unweave_options_init(&options);
	options.path = path;
	options.policy = UNWEAVE_POLICY_BLOCK;
	return unweave_start(&options);
}

/* Counts the events of the file that have a hook; checks that no number of an unwind is missing. */
static uint64_t count_events(const char *path, uint64_t *ret_lost, uint32_t *ret_pid)
{
	struct reader *reader = NULL;
	struct unweave_event event;
	struct diag diag = {0};
	uint64_t count = 0;

	*ret_lost = 0;
	if (reader_open(&reader, path, NULL, NULL, &diag) < 0) {
		printf("# %s: %s\n", path, diag.text);
		return 0;
	}
	while (reader_next(reader, &event, &diag) == 0) {
		if (event.kind == UNWEAVE_EVENT_LOST)
			*ret_lost += event.value;
		else if (event.kind != UNWEAVE_EVENT_RESET && event.kind != UNWEAVE_EVENT_REPLAY &&
			 !(event.flags & UNWEAVE_EVENT_BEFORE))
			count++;
	}
	CHECK_EQ(reader_summary(reader)->faults, 0);
	CHECK(reader_summary(reader)->closed);
	*ret_pid = reader_summary(reader)->session.pid;
	reader_free(reader);
	return count;
}

static void check_file(const char *path, uint64_t events, pid_t pid)
{
	uint64_t lost;
	uint32_t from = 0;

	CHECK_EQ(count_events(path, &lost, &from), events);
	CHECK_EQ(lost, 0);
	CHECK_EQ(from, pid);
}

static void a_child_never_writes_into_the_arena_of_its_parent(void)
{
	struct hand hand;

	for (size_t i = 0; i < FORKS; i++) {
		void *before;
		pid_t child;

		hand_begin(&hand, UNWEAVE_POLICY_DROP, 0);
		emit_much();
		before = copy_arena();
		child = forks[i]();
		if (child == 0) {
			emit_much();
			_exit(start(child_trace) == 0 ? CHILD_EXIT : 1);
		}
		CHECK_EQ(await_child(child), CHILD_EXIT);
		CHECK(before &&
		      memcmp(before, emit_process.control, emit_process.control->bytes) == 0);
		free(before);
		hand_end(&hand);
		CHECK_EQ(hand.events, 20000);
	}
}

static void a_child_without_a_hook_leaves_nothing_behind(void)
{
	struct hand hand;
	void *before;
	pid_t child;

	hand_begin(&hand, UNWEAVE_POLICY_DROP, 0);
	emit_much();
	before = copy_arena();
	child = fork();
	if (child == 0)
		exit(CHILD_EXIT);
	CHECK_EQ(await_child(child), CHILD_EXIT);
	CHECK(before && memcmp(before, emit_process.control, emit_process.control->bytes) == 0);
	free(before);
	CHECK_EQ(access(place_file(), F_OK), 0);
	hand_end(&hand);
}

/* As programs do between fork() and exec(). */
static void a_child_that_ends_tasks_of_its_parent_has_no_arena(void)
{
	struct hand hand;

	hand_begin(&hand, UNWEAVE_POLICY_DROP, 0);
	for (size_t i = 0; i < FORKS; i++) {
		uint64_t task = unweave_task_new(NULL, CHAIN, 0, NULL);
		pid_t child = forks[i]();

		if (child == 0) {
			unweave_task_complete(task, UNWEAVE_CANCELLED);
			_exit(emit_is_unborn() ? CHILD_EXIT : 1);
		}
		CHECK_EQ(await_child(child), CHILD_EXIT);
		unweave_task_complete(task, UNWEAVE_OK);
	}
	hand_end(&hand);
	CHECK_EQ(hand.events, 2 * FORKS);
}

static void a_child_can_record_itself_while_its_parent_does(void)
{
	for (size_t i = 0; i < FORKS; i++) {
		pid_t child;

		CHECK_EQ(start(trace), 0);
		emit_much();
		child = forks[i]();
		if (child == 0) {
			/* What was the parent's session is none of the child's. */
			if (unweave_flush() != -ENOENT)
				_exit(1);
			emit_much();
			if (start(child_trace) < 0)
				_exit(2);
			emit_much();
			unweave_stop();
			_exit(CHILD_EXIT);
		}
		emit_much();
		CHECK_EQ(await_child(child), CHILD_EXIT);
		unweave_stop();
		check_file(trace, 40000, getpid());
		check_file(child_trace, 20000, child);
	}
}

/* exit() runs the destructors, which must not wait for a thread that the child does not have. */
static void a_child_may_exit_while_its_parent_records(void)
{
	for (size_t i = 0; i < FORKS; i++) {
		pid_t child;

		CHECK_EQ(start(trace), 0);
		emit_much();
		child = forks[i]();
		if (child == 0)
			exit(CHILD_EXIT);
		CHECK_EQ(await_child(child), CHILD_EXIT);
		emit_much();
		unweave_stop();
		check_file(trace, 40000, getpid());
	}
}

static void a_grandchild_is_a_process_of_its_own_too(void)
{
	pid_t child;

	CHECK_EQ(start(trace), 0);
	emit_much();
	child = fork();
	if (child == 0) {
		pid_t grandchild = fork();

		if (grandchild == 0) {
			int r = start(child_trace);

			emit_much();
			unweave_stop();
			_exit(r < 0 ? 1 : CHILD_EXIT);
		}
		emit_much();
		_exit(await_child(grandchild));
	}
	CHECK_EQ(await_child(child), CHILD_EXIT);
	unweave_stop();
	check_file(trace, 20000, getpid());
}

/* Ids of sites and tasks that a child was born with mean there what they meant in the parent. */
static void a_child_knows_the_sites_and_tasks_of_its_parent(void)
{
	struct unweave_site *site = UNWEAVE_SITE("of the parent");
	const struct reader_site *known;
	struct reader *reader = NULL;
	uint64_t task;
	pid_t child;

	CHECK_EQ(start(trace), 0);
	task = unweave_task_new(site, CHAIN, 0, NULL);
	unweave_stop();
	child = fork();
	if (child == 0) {
		int r = start(child_trace);
		uint64_t other = unweave_task_new(site, CHAIN, task, NULL);

		unweave_stop();
		_exit(r < 0 || other <= task ? 1 : CHILD_EXIT);
	}
	CHECK_EQ(await_child(child), CHILD_EXIT);
	CHECK_EQ(reader_open(&reader, child_trace, NULL, NULL, NULL), 0);
	known = reader ? reader_site(reader, site->id) : NULL;
	CHECK_STR_EQ(known ? known->name : NULL, "of the parent");
	reader_free(reader);
}

#define EMITTERS 4
static atomic_bool stop_emitting;
static _Atomic uint64_t emitted;

static void *emit_until_told(void *data)
{
	uint64_t count = 0;

	(void)data;
	while (!atomic_load_explicit(&stop_emitting, memory_order_relaxed)) {
		unweave_frame_unwind(0, (uint32_t)count++, 0);
		if (count % 200 == 0)
			sched_yield();
	}
	atomic_fetch_add(&emitted, count);
	return NULL;
}

static void a_program_may_fork_while_its_threads_emit(void)
{
	pthread_t threads[EMITTERS];
	uint64_t lost;
	uint32_t from;

	CHECK_EQ(start(trace), 0);
	for (int i = 0; i < EMITTERS; i++)
		pthread_create(&threads[i], NULL, emit_until_told, NULL);
	for (int i = 0; i < 60; i++) {
		pid_t child = forks[(size_t)i % FORKS]();

		if (child == 0) {
			emit_much();
			_exit(CHILD_EXIT);
		}
		CHECK_EQ(await_child(child), CHILD_EXIT);
	}
	atomic_store(&stop_emitting, true);
	for (int i = 0; i < EMITTERS; i++)
		pthread_join(threads[i], NULL);
	unweave_stop();
	CHECK_EQ(count_events(trace, &lost, &from), atomic_load(&emitted));
	CHECK_EQ(lost, 0);
}

static pid_t fork_in_handler;

static void on_signal(int number)
{
	(void)number;
	fork_in_handler = fork();
	if (fork_in_handler == 0) {
		emit_much();
		_exit(CHILD_EXIT);
	}
}

static void a_signal_handler_may_fork_in_the_middle_of_a_hook(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	uint64_t count = 0, lost;
	uint32_t from;

	CHECK_EQ(start(trace), 0);
	sigaction(SIGALRM, &action, NULL);
	for (int i = 0; i < 20; i++) {
		fork_in_handler = 0;
		ualarm(1000, 0);
		while (!__atomic_load_n(&fork_in_handler, __ATOMIC_RELAXED)) {
			unweave_thread_idle();
			count++;
		}
		CHECK_EQ(await_child(fork_in_handler), CHILD_EXIT);
	}
	unweave_stop();
	CHECK_EQ(count_events(trace, &lost, &from), count);
	CHECK_EQ(lost, 0);
}

static pid_t forked_by_listener;

static void fork_once(const struct unweave_event *event, void *data)
{
	fork_function function = *(fork_function *)data;

	(void)event;
	if (forked_by_listener)
		return;
	forked_by_listener = function();
	if (forked_by_listener == 0) {
		/* Its hooks are not muted: it is no listener of anything. */
		int r = start(child_trace);

		emit_much();
		unweave_stop();
		_exit(r < 0 ? 1 : CHILD_EXIT);
	}
}

static void a_listener_may_fork(void)
{
	for (size_t i = 0; i < FORKS; i++) {
		struct unweave_options options;
		fork_function function = forks[i];

		forked_by_listener = 0;
		unweave_options_init(&options);
		options.listener = fork_once;
		options.listener_data = &function;
		CHECK_EQ(unweave_start(&options), 0);
		unweave_thread_idle();
		unweave_stop();
		CHECK_EQ(await_child(forked_by_listener), CHILD_EXIT);
		check_file(child_trace, 20000, forked_by_listener);
	}
}

static void vfork_and_exec_leave_the_parent_alone(void)
{
	pid_t child;

	CHECK_EQ(start(trace), 0);
	emit_much();
	child = vfork();
	if (child == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	CHECK_EQ(await_child(child), 0);
	emit_much();
	unweave_stop();
	check_file(trace, 40000, getpid());
}

static void posix_spawn_leaves_the_parent_alone(void)
{
	char *const argv[] = {"true", NULL};
	pid_t child;

	CHECK_EQ(start(trace), 0);
	emit_much();
	CHECK_EQ(posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ), 0);
	CHECK_EQ(await_child(child), 0);
	emit_much();
	unweave_stop();
	check_file(trace, 40000, getpid());
}

/* A child keeps nothing of the parent's open: neither the trace nor what locks the arena. */
static void a_child_has_no_descriptor_of_the_recording(void)
{
	pid_t child;

	CHECK_EQ(start(trace), 0);
	emit_much();
	child = fork();
	if (child == 0) {
		struct stat file, st;
		int found = 0;

		if (stat(trace, &file) < 0)
			_exit(1);
		for (int fd = 0; fd < 1024; fd++)
			found += fstat(fd, &st) == 0 && st.st_dev == file.st_dev &&
				 st.st_ino == file.st_ino;
		_exit(found ? 1 : CHILD_EXIT);
	}
	CHECK_EQ(await_child(child), CHILD_EXIT);
	unweave_stop();
}

int main(void)
{
	snprintf(trace, sizeof(trace), "/tmp/unweave-fork-%d.unw", getpid());
	snprintf(child_trace, sizeof(child_trace), "/tmp/unweave-fork-%d-child.unw", getpid());
	RUN(a_child_never_writes_into_the_arena_of_its_parent);
	RUN(a_child_without_a_hook_leaves_nothing_behind);
	RUN(a_child_that_ends_tasks_of_its_parent_has_no_arena);
	RUN(a_child_can_record_itself_while_its_parent_does);
	RUN(a_child_may_exit_while_its_parent_records);
	RUN(a_grandchild_is_a_process_of_its_own_too);
	RUN(a_child_knows_the_sites_and_tasks_of_its_parent);
	RUN(a_program_may_fork_while_its_threads_emit);
	RUN(a_signal_handler_may_fork_in_the_middle_of_a_hook);
	RUN(a_listener_may_fork);
	RUN(vfork_and_exec_leave_the_parent_alone);
	RUN(posix_spawn_leaves_the_parent_alone);
	RUN(a_child_has_no_descriptor_of_the_recording);
	unlink(trace);
	unlink(child_trace);
	return check_done();
}

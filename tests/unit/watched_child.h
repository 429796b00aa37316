/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to watch: a child of the test, which does one thing at a time as it is told and knows
 * itself what it did and when.
 */
#ifndef TESTS_WATCHED_CHILD_H
#define TESTS_WATCHED_CHILD_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena/clock.h"
#include "check.h"
#include "cli/guard.h"
#include "drain/find.h"
#include "emit/emit.h"
#include "watch/watch.h"

#define MS UINT64_C(1000000)

/* What child and test have in common. */
static struct {
	_Atomic uint32_t asked, done; /* steps */
	_Atomic uint64_t tasks[8];
	/* clock_raw() around what the child does: a run takes at most `outer`, at least `inner`. */
	_Atomic uint64_t outer, inner;
	_Atomic bool enough;
} * common;

static pid_t child;
static struct attachment attachment;
static char arena_path[sizeof(attachment.path)];
static struct watch *watch;
static struct diag diag;

/* The child's part: does one step after the other, and then waits to be killed. */
static inline void start_child(void (*const *steps)(void))
{
	common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (common == MAP_FAILED)
		exit(1);
	fflush(stdout);
	child = fork();
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (; *steps; steps++) {
		while (atomic_load(&common->asked) <= atomic_load(&common->done))
			poll(NULL, 0, 1);
		(*steps)();
		atomic_fetch_add(&common->done, 1);
	}
	for (;;)
		pause();
}

/* Has the child do its next step; `wait` until it is done. */
static inline void step(bool wait)
{
	uint32_t wanted = atomic_fetch_add(&common->asked, 1) + 1;

	while (wait && atomic_load(&common->done) < wanted)
		poll(NULL, 0, 1);
}

/* And its arena, which outlives it. */
static inline void end_child(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	unlink(arena_path);
	munmap(common, sizeof(*common));
}

static inline void find_child(void)
{
	int r = find_pid(&attachment, (uint32_t)child, &diag);

	if (r < 0) {
		printf("Bail out! %s\n", diag.text);
		exit(1);
	}
	memcpy(arena_path, attachment.path, sizeof(arena_path));
	guard_begin(&attachment);
}

static inline void begin_watch(enum watch_wish wish)
{
	find_child();
	CHECK_EQ(watch_new(&watch, &attachment, wish, &diag), 0);
	CHECK_EQ(watch_totals(watch)->source, WATCH_EVENTS);
	CHECK_STR_EQ(watch_note(watch), "");
}

static inline void end_watch(void)
{
	watch = watch_free(watch);
	guard_end();
	attach_fini(&attachment);
}

static inline void refresh(void)
{
	CHECK_EQ(watch_refresh(watch), 0);
}

static inline struct watch_task task(int which)
{
	const struct watch_task *found = watch_task_find(watch, common->tasks[which]);

	CHECK(found != NULL);
	return found ? *found : (struct watch_task){0};
}

/* Times of the child are between what it read before and after a hook. */
static inline bool is_between(uint64_t value, uint64_t least, uint64_t most)
{
	/* The rate of the clock is measured: a per mille, and a little, to either side. */
	return value + value / 1000 + 100000 >= least && value <= most + most / 1000 + 100000;
}

static inline void make_old(void)
{
	common->tasks[0] = unweave_task_new(UNWEAVE_SITE("old"), UNWEAVE_MODEL_CHAIN, 0, NULL);
}

static inline void make_and_run(void)
{
	uint64_t before, after;

	common->tasks[1] = unweave_task_new(UNWEAVE_SITE("young"), UNWEAVE_MODEL_CHAIN,
					    common->tasks[0], NULL);
	unweave_task_name(common->tasks[1], "its name");
	before = clock_raw();
	unweave_task_resume(common->tasks[1]);
	after = clock_raw();
	poll(NULL, 0, 30);
	unweave_task_waits(common->tasks[1], UNWEAVE_WAIT_LOCK, 0x1234);
	common->inner = clock_raw() - after;
	unweave_task_suspend(common->tasks[1]);
	common->outer = clock_raw() - before;
}

static inline void wake_and_run_on(void)
{
	unweave_task_wake(common->tasks[1], UNWEAVE_SOURCE_TIMER);
	unweave_task_resume(common->tasks[1]);
	unweave_task_wake(common->tasks[1], UNWEAVE_SOURCE_TASK);
}

static inline void end_it(void)
{
	unweave_task_complete(common->tasks[1], UNWEAVE_OK);
}

static inline void watch_for(uint64_t ns)
{
	for (uint64_t end = clock_raw() + ns; clock_raw() < end;) {
		poll(NULL, 0, 5);
		CHECK(watch_pass(watch) >= 0);
	}
	refresh();
}

/* Watches the child, and is killed without a chance to say so. */
static inline void watch_and_die(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		find_child();
		if (watch_new(&watch, &attachment, WATCH_FEW_EVENTS, &diag) == 0 &&
		    watch_refresh(watch) == 0) {
			step(true);
			watch_refresh(watch);
		}
		kill(getpid(), SIGKILL);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

#endif /* TESTS_WATCHED_CHILD_H */

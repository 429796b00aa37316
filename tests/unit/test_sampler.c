/* SPDX-License-Identifier: Apache-2.0 */
/* What the sampler's signal handler finds: asked by a signal to the own thread. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "emit/emit.h"
#include "sample/take.h"
#include "unweave/chain.h"

static struct take taker;

/* As a recorder's config would. */
static void set_mode(enum arena_mode mode)
{
	struct arena_config *config = &emit_process.control->config;
	uint64_t revision = (unweave_priv_gate() >> 8) + 1;

	if (mode == ARENA_MODE_OFF)
		atomic_store(&config->off_revision, revision);
	__atomic_store_n(&config->hot.gate, revision << 8 | mode, __ATOMIC_RELEASE);
}

static void set_up(void)
{
	/* The first hook makes the arena. */
	unweave_task_complete(unweave_task_new(NULL, UNWEAVE_MODEL_CHAIN, 0, NULL), UNWEAVE_OK);
	taker.control = emit_process.control;
	take_start_over(&taker);
	atomic_store(&taker.control->sampler.on, 1);
	set_mode(ARENA_MODE_OFF);
}

static void ask(void)
{
	union sigval value = {.sival_ptr = (void *)(uintptr_t)RING_ORDER_SAMPLE};

	pthread_sigqueue(pthread_self(), (int)taker.control->sampler.signal, value);
}

/* What the functions of a chain found out while they ran. */
static struct {
	struct taken taken;
	enum take_result result;
	bool anew; /* a new session begins first */
} found;

static int last(struct unweave_link *link, void *context)
{
	(void)link;
	(void)context;
	if (found.anew) {
		set_mode(ARENA_MODE_OFF);
		set_mode(ARENA_MODE_SAMPLES);
	}
	ask();
	found.result = take_next(&taker, &found.taken);
	return 0;
}

static int middle(struct unweave_link *link, void *context)
{
	(void)link;
	(void)context;
	return 0;
}

static int first(struct unweave_link *link, void *context)
{
	(void)link;
	(void)context;
	return 0;
}

/* Runs last <- middle <- first; returns the task. */
static uint64_t run_chain(void)
{
	struct unweave_link links[3] = {{.go = last}, {.go = middle}, {.go = first}};
	struct unweave_chain chain;
	uint64_t task;

	unweave_chain_init(&chain);
	for (int i = 0; i < 3; i++)
		unweave_chain_push(&chain, &links[i]);
	unweave_chain_start(&chain, NULL, 0);
	task = chain.head.task;
	unweave_chain_run(&chain, 0);
	return task;
}

static void check_chain(uint64_t task)
{
	const struct taken *taken = &found.taken;

	CHECK_EQ(found.result, TAKE_SAMPLE);
	CHECK_EQ(taken->tid, syscall(SYS_gettid));
	CHECK_EQ(taken->run_count, 1);
	CHECK_EQ(taken->runs[0].task, task);
	CHECK_EQ(taken->runs[0].count, 3);
	if (taken->run_count != 1 || taken->runs[0].count != 3)
		return;
	CHECK(taken->runs[0].addresses[0] == (uintptr_t)last);
	CHECK(taken->runs[0].addresses[1] == (uintptr_t)middle);
	CHECK(taken->runs[0].addresses[2] == (uintptr_t)first);
	CHECK(taken->asked && !taken->stack_cut && !taken->runs_cut);
}

static void a_thread_without_a_task_has_its_stack_and_no_run(void)
{
	struct taken taken;
	uint64_t here = 0;

	set_up();
	set_mode(ARENA_MODE_SAMPLES);
	errno = 4711;
	ask();
	CHECK_EQ(errno, 4711);
	CHECK_EQ(take_next(&taker, &taken), TAKE_SAMPLE);
	CHECK_EQ(taken.run_count, 0);
	CHECK(taken.bytes > 256);
	/* What is on the stack is in the copy. */
	CHECK((uintptr_t)&here > taken.sp && (uintptr_t)&here < taken.sp + taken.bytes);
}

static void a_task_has_its_chain(void)
{
	set_up();
	set_mode(ARENA_MODE_SAMPLES);
	found.anew = false;
	check_chain(run_chain());
}

static void a_task_that_runs_since_an_earlier_session_has_its_chain(void)
{
	set_up();
	set_mode(ARENA_MODE_SAMPLES);
	found.anew = true;
	check_chain(run_chain());
}

static void what_a_nest_says_of_an_earlier_session_does_not_count(void)
{
	uint64_t other = unweave_task_new(NULL, UNWEAVE_MODEL_CHAIN, 0, NULL);
	struct taken taken;

	set_up();
	set_mode(ARENA_MODE_SAMPLES);
	unweave_task_resume(other);
	set_mode(ARENA_MODE_OFF);
	unweave_task_suspend(other);
	set_mode(ARENA_MODE_SAMPLES);
	ask();
	CHECK_EQ(take_next(&taker, &taken), TAKE_SAMPLE);
	CHECK_EQ(taken.run_count, 0);
	unweave_task_complete(other, UNWEAVE_OK);
}

static void nothing_is_taken_once_the_sampler_is_off(void)
{
	struct taken taken;

	set_up();
	atomic_store(&taker.control->sampler.on, 0);
	ask();
	raise((int)taker.control->sampler.signal);
	CHECK_EQ(take_next(&taker, &taken), TAKE_NONE);
}

static void signals_of_others_are_ignored_as_before(void)
{
	struct taken taken;

	set_up();
	set_mode(ARENA_MODE_SAMPLES);
	raise((int)taker.control->sampler.signal);
	pthread_sigqueue(pthread_self(), (int)taker.control->sampler.signal,
			 (union sigval){.sival_int = 1});
	CHECK_EQ(take_next(&taker, &taken), TAKE_NONE);
}

static void on_own_signal(int signal)
{
	(void)signal;
}

/* Last: the signal is the test's from here on. */
static void a_program_that_takes_the_signal_is_noticed_at_the_next_session(void)
{
	set_up();
	CHECK_EQ(taker.control->sampler.signal, SIGURG);
	signal(SIGURG, on_own_signal);
	set_mode(ARENA_MODE_SAMPLES);
	unweave_task_complete(unweave_task_new(NULL, UNWEAVE_MODEL_CHAIN, 0, NULL), UNWEAVE_OK);
	CHECK_EQ(taker.control->sampler.signal, 0);
	CHECK_EQ(taker.control->sampler.refused, ARENA_SIGNAL_TAKEN);
}

int main(void)
{
	RUN(a_thread_without_a_task_has_its_stack_and_no_run);
	RUN(a_task_has_its_chain);
	RUN(a_task_that_runs_since_an_earlier_session_has_its_chain);
	RUN(what_a_nest_says_of_an_earlier_session_does_not_count);
	RUN(nothing_is_taken_once_the_sampler_is_off);
	RUN(signals_of_others_are_ignored_as_before);
	RUN(a_program_that_takes_the_signal_is_noticed_at_the_next_session);
	return check_done();
}

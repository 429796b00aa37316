/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal handler that emits at every single instruction of a hook: the processor traps after
 * each. Every event must be recorded, or counted as lost.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "collect.h"
#include "emit/emit.h"

#define TRAP_FLAG 0x100

/* The processor traps after every instruction of the thread from here on; not in the handler. */
#define STEP() CHANGE_FLAGS("orl", TRAP_FLAG)
#define RUN_ON() CHANGE_FLAGS("andl", ~TRAP_FLAG)
/* Beyond the red zone, which may be in use. */
#define CHANGE_FLAGS(how, value)                                                                   \
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"                                              \
			 "pushfq\n\t" how " %0, (%%rsp)\n\t"                                       \
			 "popfq\n\t"                                                               \
			 "lea 128(%%rsp), %%rsp" ::"i"(value)                                      \
			 : "memory", "cc")

/*
 * Instructions that the handler lets pass. Its first event may well register the thread, or
 * notice the session: then nothing of that is left for the hook to be interrupted in.
 */
static uint64_t spared;
static uint64_t handled; /* events that it emitted */

static void on_step(int signal)
{
	int error = errno;

	(void)signal;
	if (spared) {
		spared--;
	} else {
		unweave_task_wake(4242, UNWEAVE_SOURCE_TIMER);
		handled++;
	}
	errno = error;
}

/* Events that belong to no stream are counted apart. */
static uint64_t outside(void)
{
	return atomic_load(&emit_process.control->reentries) +
	       atomic_load(&emit_process.control->orphans);
}

static uint64_t outside_before;

static void begin(enum unweave_policy policy, size_t bytes)
{
	collect_begin_with(UNWEAVE_KEYWORDS_FULL, policy, bytes);
	outside_before = outside();
	spared = 0;
	handled = 0;
}

/* Ends the session: events that it had, and such that are known to be lost. */
static uint64_t accounted(void)
{
	unweave_stop();
	CHECK(handled > 1000);
	return collect_count_hooks() + collect_lost() + outside() - outside_before;
}

/* Each hook once or more; how many. */
static uint64_t call_hooks(void)
{
	static const uint64_t addresses[] = {0x1000, 0x2000, 0x3000};
	struct unweave_stack stack = {.addresses = addresses, .count = 3};
	uint64_t outer = unweave_task_new(UNWEAVE_SITE("stepped"), UNWEAVE_MODEL_CHAIN, 0, &stack);
	uint64_t inner = unweave_task_new(NULL, UNWEAVE_MODEL_MACHINE, outer, NULL);

	unweave_task_name(inner, "interrupted");
	unweave_task_wake(outer, UNWEAVE_SOURCE_IO);
	unweave_task_resume(outer);
	unweave_task_resume_stack(inner, &stack);
	unweave_frame_resume(inner);
	unweave_frame_complete(inner);
	unweave_frame_unwind(inner, 1, 1);
	unweave_task_append(inner, &stack);
	unweave_task_leave(inner, NULL);
	unweave_task_resume(inner);
	unweave_task_suspend_stack(inner, &stack);
	unweave_task_wake(inner, UNWEAVE_SOURCE_TASK);
	unweave_task_suspend(outer);
	unweave_thread_idle();
	unweave_task_complete(inner, UNWEAVE_OK);
	unweave_task_complete(outer, UNWEAVE_CANCELLED);
	return 18;
}

static void events_inside_any_hook_are_recorded(void)
{
	uint64_t hooks;

	begin(UNWEAVE_POLICY_DROP, 0);
	hooks = call_hooks();
	STEP();
	hooks += call_hooks();
	RUN_ON();
	CHECK_EQ(accounted(), hooks + handled);
	CHECK_EQ(collect_lost() + outside() - outside_before, 0);
}

static void events_in_a_thread_that_notices_a_session_are_counted(void)
{
	uint64_t hooks = 0;

	begin(UNWEAVE_POLICY_DROP, 0);
	for (uint64_t first = 0; first < 4000; first += 1 + first / 4) {
		/* In between, such events are not wanted: those must not be missing afterwards. */
		CHECK_EQ(unweave_set_keywords(UNWEAVE_KEYWORD_UNWIND), 0);
		unweave_task_wake(4244, UNWEAVE_SOURCE_IO);
		CHECK_EQ(unweave_set_keywords(UNWEAVE_KEYWORDS_FULL), 0);
		spared = first;
		STEP();
		unweave_task_wake(4244, UNWEAVE_SOURCE_IO);
		RUN_ON();
		hooks++;
	}
	CHECK_EQ(accounted(), hooks + handled);
	CHECK(outside() > outside_before);
}

static uint64_t step_through_hooks(unsigned rounds)
{
	uint64_t hooks = 0;

	STEP();
	while (rounds-- > 0)
		hooks += call_hooks();
	RUN_ON();
	return hooks;
}

static void events_that_full_buffers_drop_are_counted(void)
{
	uint64_t hooks;

	begin(UNWEAVE_POLICY_DROP, 1);
	hooks = step_through_hooks(10);
	CHECK_EQ(accounted(), hooks + handled);
	CHECK(collect_lost() > 0);
}

static void events_that_are_overwritten_are_counted(void)
{
	uint64_t hooks, all;

	begin(UNWEAVE_POLICY_OVERWRITE, 1);
	hooks = step_through_hooks(10);
	all = accounted();
	/* What a chunk repeats at its start goes with it, and counts. */
	CHECK(all >= hooks + handled && all < (hooks + handled) * 1.01);
	CHECK(collect_lost() > 0);
}

static pthread_key_t last_key;

/* Again in a second round: by then the library has seen the thread end. */
static void run_on_in_the_second_round(void *value)
{
	static char second;

	if (value != &second)
		pthread_setspecific(last_key, &second);
	else
		RUN_ON();
}

static void *live_stepped(void *hooks)
{
	pthread_setspecific(last_key, hooks);
	STEP();
	*(uint64_t *)hooks += call_hooks();
	return NULL;
}

static void events_at_both_ends_of_a_thread_are_counted(void)
{
	uint64_t hooks = 0;
	pthread_t thread;

	CHECK_EQ(pthread_key_create(&last_key, run_on_in_the_second_round), 0);
	begin(UNWEAVE_POLICY_DROP, 0);
	for (uint64_t first = 0; first < 4000; first += 1 + first / 4) {
		spared = first;
		CHECK_EQ(pthread_create(&thread, NULL, live_stepped, &hooks), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
	}
	CHECK_EQ(accounted(), hooks + handled);
	CHECK(outside() > outside_before);
	pthread_key_delete(last_key);
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_step};

	sigaction(SIGTRAP, &action, NULL);
	RUN(events_inside_any_hook_are_recorded);
	RUN(events_in_a_thread_that_notices_a_session_are_counted);
	RUN(events_that_full_buffers_drop_are_counted);
	RUN(events_that_are_overwritten_are_counted);
	RUN(events_at_both_ends_of_a_thread_are_counted);
	collect_forget();
	return check_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/wall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "drain/memory.h"
#include "sample/clocks.h"
#include "symbol/machine.h"

#define ANEW_PERIODS 10u /* before a sleep is cut short as the one before it was */
#define CALL_BYTES 4u    /* no instruction that calls the kernel has more */

/* What a thread has done since it was looked at last. */
enum did {
	DID_END,
	DID_RUN,
	DID_SLEEP_ON,   /* in the sleep of which its last answer tells */
	DID_SLEEP_ANEW, /* in another one */
	DID_NOT_ANSWER, /* yet */
};

/* Whether the call is one of those that programs wait by and that end with EINTR (signal(7)). */
static bool is_fragile(long call)
{
	switch (call) {
#ifdef SYS_poll
	case SYS_poll:
	case SYS_select:
	case SYS_epoll_wait:
#endif
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
		return true;
	default:
		return false;
	}
}

/*
 * Whether a thread sleeps where its last answer was given: in the same call, by its stack as
 * it is now. Returns -errno if that cannot be looked at.
 */
static int is_back(struct wall *wall, const struct thread *thread, const struct thread_call *call)
{
	struct samples_input input = {0};
	struct taken taken;
	int error = 0;

	if (!thread->kept || !take_parse(thread->kept, thread->kept_words, &taken) ||
	    taken.register_count <= MACHINE_PC || taken.bytes > sizeof(wall->stack))
		return -ENODATA;
	/* One that is started over was interrupted before the call, and not after it. */
	if (call->sp != taken.sp || call->pc - taken.registers[MACHINE_PC] > CALL_BYTES)
		return false;
	if (!memory_read(wall->attachment, wall->stack, call->sp, taken.bytes, &error))
		return error ? -error : -EFAULT;
	if (memcmp(wall->stack, taken.stack, taken.bytes) == 0)
		return true;
	taken.stack = wall->stack;
	stack_finder_find(wall->finder, &taken, &input);
	return stack_finder_place(wall->finder) == thread->place;
}

/* The same where nothing but its answers tell. */
static bool may_be_back(const struct thread *thread)
{
	return thread->returned || !thread->cut;
}

static enum did look(struct wall *wall, struct thread *thread)
{
	uint64_t before = thread->switches;
	struct thread_call call;
	int r;

	if (!threads_look(wall->threads, thread))
		return DID_END;
	if (!thread->sleeping || !thread->known)
		return DID_RUN;
	if (thread->switches == before && !thread->answered)
		return DID_NOT_ANSWER;
	if (thread->switches == before)
		return thread->anew ? DID_SLEEP_ANEW : DID_SLEEP_ON;
	/* One that slept woke up to answer, and went back to sleep: that is one. */
	if (!thread->asked || !thread->roused || thread->switches != before + 1)
		return DID_RUN;
	/* It has answered since answers were taken; or there was no room, or nobody who does. */
	if (!thread->answered) {
		if (thread->late)
			thread->asked = false;
		else
			thread->switches = before;
		thread->late = true;
		return DID_NOT_ANSWER;
	}
	thread->asked = false;
	r = threads_look_at_call(wall->threads, thread, &call);
	thread->fragile = r < 0 || is_fragile(call.number);
	if (r >= 0)
		r = is_back(wall, thread, &call);
	thread->anew = r < 0 ? !may_be_back(thread) : !r;
	return thread->anew ? DID_SLEEP_ANEW : DID_SLEEP_ON;
}

static void ask(struct wall *wall, struct thread *thread)
{
	thread->roused = thread->sleeping;
	thread->asked = clocks_order(wall->threads, thread->tid, RING_ORDER_SAMPLE) == 0;
	thread->known = thread->asked;
	thread->answered = false;
	thread->late = false;
}

static void look_after(struct wall *wall, struct thread *thread, uint64_t elapsed)
{
	switch (look(wall, thread)) {
	case DID_END:
		break;
	case DID_RUN:
		/* Where it slept, if it did, nobody knows any more. */
		thread->untold = 0;
		thread->anew = false;
		ask(wall, thread);
		break;
	case DID_SLEEP_ON:
		thread->slept += elapsed;
		break;
	case DID_SLEEP_ANEW:
		thread->untold += elapsed;
		if (!thread->fragile || thread->untold >= ANEW_PERIODS * wall->period_ns)
			ask(wall, thread);
		break;
	case DID_NOT_ANSWER:
		thread->untold += elapsed;
		break;
	}
}

void wall_ask(struct wall *wall, uint64_t now)
{
	uint64_t elapsed = now - wall->asked_ns;

	if (wall->asked_ns && elapsed < wall->period_ns)
		return;
	wall->asked_ns = now;
	for (uint32_t i = 0; i < wall->threads->count; i++)
		if (!wall->threads->all[i].blocked)
			look_after(wall, &wall->threads->all[i], elapsed);
}

static void keep(struct thread *thread, const struct take *take)
{
	uint64_t *words = reallocarray(thread->kept, take->count, sizeof(*words));

	/* Rather none than an old one. */
	thread->kept_words = words ? take->count : 0;
	if (!words)
		return;
	memcpy(words, take->words, take->count * sizeof(*words));
	thread->kept = words;
}

/* Whether a signal has ended the call that a thread was in: it returns EINTR. */
static bool was_cut(const struct taken *taken)
{
	return taken->register_count && taken->registers[0] == (uint64_t)-EINTR;
}

bool wall_slept(const struct thread *thread, const struct taken *taken)
{
	return thread->roused || was_cut(taken);
}

uint64_t wall_weight(const struct wall *wall, const struct thread *thread)
{
	return thread->untold > wall->period_ns ? thread->untold : wall->period_ns;
}

void wall_answered(struct wall *wall, struct thread *thread, const struct take *take,
		   const struct taken *taken)
{
	uint64_t place = stack_finder_place(wall->finder);

	thread->returned = thread->anew && thread->place == place;
	thread->place = place;
	thread->cut = was_cut(taken);
	thread->answered = true;
	thread->anew = false;
	thread->untold = 0;
	keep(thread, take);
}

uint64_t wall_take_sleep(struct thread *thread, struct taken *ret)
{
	uint64_t slept = thread->slept;

	thread->slept = 0;
	if (!thread->kept || !take_parse(thread->kept, thread->kept_words, ret))
		return 0;
	return slept;
}

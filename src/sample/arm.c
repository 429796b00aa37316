/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/arm.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arena/clock.h"
#include "arena/ring.h"
#include "sample/clocks.h"
#include "sample/inside.h"

#define BLOCKED_LOOKS 10u       /* at a thread that blocks the signal, before it is let be */
#define PACE_NS (NS_PER_S / 10) /* between two looks at how often threads switch */
#define SENT_MOST 10u           /* orders in a row that are sent at once again */
#define BUSY_SHARE 4u           /* a program that runs for one part in so many of the time is met */
#define LOOK_SHARE 50u          /* looks for a thread that runs: one part in so many of our time */

static void note_clock(struct sampler *sampler, bool *has)
{
	if (!*has)
		sampler->told = false;
	*has = true;
}

static bool is_running(const struct threads *threads, struct thread *thread)
{
	return threads_look(threads, thread) && !thread->blocked && !thread->sleeping;
}

/*
 * One that runs: a signal would wake it otherwise, and not every program expects that. First
 * the one that ran the last time, since to look at thousands takes long.
 */
static const struct thread *find_running(struct sampler *sampler)
{
	struct threads *threads = &sampler->threads;
	struct thread *last = threads_find(threads, sampler->runner);

	if (last && is_running(threads, last))
		return last;
	for (uint32_t i = 0; i < threads->count; i++)
		if (is_running(threads, &threads->all[i])) {
			sampler->runner = threads->all[i].inner;
			return &threads->all[i];
		}
	return NULL;
}

/* Leaves an order for a thread of the program. False if too many wait already. */
static bool leave_order(struct sampler *sampler, uint32_t what)
{
	for (unsigned i = 0; i < ARENA_TIMERS; i++) {
		_Atomic uint32_t *place = &shared(sampler)->timers[i];

		if (atomic_load(place) == 0) {
			atomic_store(place, what);
			return true;
		}
	}
	return false;
}

/* Those that no thread has begun yet. */
static uint32_t count_orders(const struct sampler *sampler)
{
	uint32_t count = 0;

	for (unsigned i = 0; i < ARENA_TIMERS; i++) {
		uint32_t order = atomic_load(&shared(sampler)->timers[i]);

		count += order && !(order >> ARENA_TIMER_SHIFT);
	}
	return count;
}

/*
 * Whether to look for a thread that runs. In a program that sleeps there is none, and its CPU
 * clock says so for all of them; where many hardly run, it takes long to meet one.
 */
static bool is_look_due(struct sampler *sampler, uint64_t now)
{
	uint64_t used = clocks_used(&sampler->threads) - sampler->ran;
	bool busy = used > (now - sampler->looked_ns) / BUSY_SHARE;

	if (!sampler->delivered && (!used || (!busy && now < sampler->look_ns)))
		return false;
	sampler->ran += used;
	sampler->looked_ns = now;
	return true;
}

static uint64_t own_cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

/* Has a thread that runs look for the orders that wait. */
static void deliver_orders(struct sampler *sampler)
{
	struct threads *threads = &sampler->threads;
	uint64_t now = clock_monotonic(), begun = own_cpu_ns();
	const struct thread *runs;

	if (!is_look_due(sampler, now))
		return;
	runs = find_running(sampler);
	sampler->delivered = runs && clocks_order(threads, runs->tid, RING_ORDER_TIMERS) == 0;
	if (sampler->delivered)
		sampler->sent = count_orders(sampler);
	sampler->look_ns = now + LOOK_SHARE * (own_cpu_ns() - begun);
}

/* Whether one of the orders was taken since a thread was told of them. */
static void look_for_answer(struct sampler *sampler)
{
	uint32_t left = count_orders(sampler);

	if (!left || left < sampler->sent) {
		sampler->unanswered = 0;
	} else if (sampler->sent && sampler->unanswered++ == 0) {
		sampler->unanswered_ns = clock_monotonic();
		sampler->unanswered_ran = clocks_used(&sampler->threads);
	}
	sampler->sent = 0;
	if (sampler->unanswered > SENT_MOST)
		sampler->delivered = false;
}

static int arm_perf(struct sampler *sampler, struct thread *thread, bool user_only)
{
	struct threads *threads = &sampler->threads;
	int r = clocks_arm_perf(thread, threads->signal, sampler->period_ns, user_only);

	/* It may have ended since it was looked at, and another program have its number. */
	if (r == 0 && tgkill(threads->pid, thread->tid, 0) < 0) {
		close(thread->fd);
		thread->fd = -1;
	}
	if (r == 0)
		note_clock(sampler, &sampler->has_perf);
	return r;
}

/* What perf cannot do for a thread, such as one file too many, a timer can. */
static void arm(struct sampler *sampler, struct thread *thread)
{
	int r = -ENOTSUP;

	if (sampler->driver == SAMPLER_PERF)
		r = arm_perf(sampler, thread, sampler->user_only);
	thread->armed = r == 0 || r == -ESRCH;
	if (!thread->armed && leave_order(sampler, thread->inner)) {
		note_clock(sampler, &sampler->has_timers);
		thread->armed = true;
	}
}

/* What a timer cannot do, such as one signal too many, perf can. */
static void arm_otherwise(struct sampler *sampler, struct thread *thread, int error)
{
	struct clocks_perf perf = {.error = EPERM};

	if (!sampler->options.no_perf)
		perf = clocks_try_perf(thread->tid, sampler->period_ns);
	if (perf.allowed && arm_perf(sampler, thread, perf.user_only) == 0) {
		if (perf.user_only && !sampler->user_only)
			sampler_note(sampler,
				     "Time in the kernel is not sampled where a perf event "
				     "stands in for a timer (kernel.perf_event_paranoid).");
		sampler->user_only |= perf.user_only;
		return;
	}
	if (tgkill(sampler->threads.pid, thread->tid, 0) < 0)
		return;
	sampler->lacking_ever += !thread->lacked;
	sampler->lack = error;
	thread->lacked = true;
	thread->refused = true;
}

static void look_at_refusals(struct sampler *sampler)
{
	for (unsigned i = 0; i < ARENA_TIMERS; i++) {
		_Atomic uint32_t *at = &shared(sampler)->timers[i];
		uint32_t order = atomic_load(at), error = order >> ARENA_TIMER_SHIFT;
		struct thread *thread;

		if (!error || error == ARENA_TIMER_BEGUN)
			continue;
		atomic_store(at, 0);
		thread = threads_find(&sampler->threads, order & ARENA_TIMER_THREAD);
		if (thread && thread->ordered) {
			thread->ordered = 0;
			thread->untimed = true;
		} else if (thread && thread->fd < 0) {
			arm_otherwise(sampler, thread, (int)error);
		}
	}
}

static bool is_ordered(const struct sampler *sampler, uint32_t what)
{
	for (unsigned i = 0; i < ARENA_TIMERS; i++)
		if ((atomic_load(&shared(sampler)->timers[i]) & ARENA_TIMER_THREAD) == what)
			return true;
	return false;
}

/* A thread that switches often is to have a timer, once that is set; else a perf event again. */
static void begin_change(struct sampler *sampler, struct thread *thread)
{
	uint32_t what = thread->inner;

	if (thread->pace.often ? thread->fd < 0 || thread->untimed : !thread->timed)
		return;
	if (!thread->pace.often)
		what |= ARENA_TIMER_END;
	if (leave_order(sampler, what))
		thread->ordered = what;
}

/* What the clock that goes has counted since its last sample is owed to the thread. */
static void finish_change(struct sampler *sampler, struct thread *thread)
{
	struct pace_look look = {.ran_ns = thread->timed_since};

	threads_count(&sampler->threads, thread, &look);
	thread->timed = !(thread->ordered & ARENA_TIMER_END);
	thread->ordered = 0;
	if (thread->timed) {
		note_clock(sampler, &sampler->has_timers);
		thread->owed += clocks_counted(&sampler->threads, thread) % sampler->period_ns;
		thread->timed_since = look.ran_ns;
		close(thread->fd);
		thread->fd = -1;
	} else {
		thread->owed += (look.ran_ns - thread->timed_since) % sampler->period_ns;
		thread->armed = false;
	}
	/* CPU time is counted from another moment on. */
	sampler->heard = UINT64_MAX;
}

static void finish_changes(struct sampler *sampler)
{
	struct threads *threads = &sampler->threads;

	for (uint32_t i = 0; i < threads->count; i++)
		if (threads->all[i].ordered && !is_ordered(sampler, threads->all[i].ordered))
			finish_change(sampler, &threads->all[i]);
}

/* Those of a program that sleeps have not changed. */
static void look_at_paces(struct sampler *sampler)
{
	struct threads *threads = &sampler->threads;
	uint64_t now = clock_monotonic(), begun = own_cpu_ns(), ran, took;

	if (!sampler->changes || now < sampler->pace_ns)
		return;
	sampler->pace_ns = now + PACE_NS;
	ran = clocks_used(threads);
	if (ran == sampler->pace_ran)
		return;
	sampler->pace_ran = ran;
	for (uint32_t i = 0; i < threads->count; i++) {
		struct thread *thread = &threads->all[i];
		struct pace_look look;

		if (!thread->ordered && threads_count(threads, thread, &look) == 0) {
			pace_note(&thread->pace, &look);
			begin_change(sampler, thread);
		}
	}
	took = LOOK_SHARE * (own_cpu_ns() - begun);
	sampler->pace_ns = now + (took > PACE_NS ? took : PACE_NS);
}

void arm_try_again(struct sampler *sampler)
{
	struct threads *threads = &sampler->threads;
	uint32_t left = ARENA_TIMERS;

	for (uint32_t i = 0; i < threads->count && left; i++)
		if (threads->all[i].refused) {
			threads->all[i].refused = false;
			threads->all[i].armed = false;
			left--;
		}
}

void arm_say_lack(struct sampler *sampler)
{
	uint32_t count = sampler->lacking_ever;
	const char *why = strerror(sampler->lack);

	if (sampler->lack == EAGAIN)
		why = "no more signals may be pending (ulimit -i)";
	else if (sampler->lack == ENOSPC)
		why = "there are too many threads";
	if (count)
		sampler_note(sampler, "%u thread%s could not be sampled, or not all the time: %s.",
			     count, count == 1 ? "" : "s", why);
}

/* Counts those that mean it; check() looks at them again later on. */
static void look_at_blocked(struct sampler *sampler, struct thread *thread)
{
	if (!thread->blocked || thread->looks > BLOCKED_LOOKS)
		return;
	if (thread->looks++ == 0)
		return;
	threads_look(&sampler->threads, thread);
	sampler->blocked_ever += thread->blocked && thread->looks == 2;
}

/* A program that has not run has begun no thread, and ended none. */
static int scan(struct sampler *sampler)
{
	uint64_t ran = clocks_used(&sampler->threads);
	int r;

	if (ran && ran == sampler->scan_ran)
		return 0;
	r = threads_scan(&sampler->threads);
	sampler->scan_ran = r < 0 ? 0 : ran;
	return r;
}

void arm_find(struct sampler *sampler)
{
	struct threads *threads = &sampler->threads;

	if (scan(sampler) < 0)
		return;
	sampler->blocked = 0;
	for (uint32_t i = 0; i < threads->count; i++) {
		look_at_blocked(sampler, &threads->all[i]);
		sampler->blocked += threads->all[i].blocked;
	}
}

/* Those that slept when they were looked at last, or those that did not. */
static void arm_those(struct sampler *sampler, bool sleeping)
{
	struct threads *threads = &sampler->threads;

	for (uint32_t i = 0; i < threads->count; i++) {
		struct thread *thread = &threads->all[i];

		if (thread->armed || thread->blocked || thread->sleeping != sleeping)
			continue;
		arm(sampler, thread);
		sampler->waiting += !thread->armed;
	}
}

void arm_all(struct sampler *sampler)
{
	look_for_answer(sampler);
	look_at_refusals(sampler);
	finish_changes(sampler);
	sampler->waiting = 0;
	/* Of thousands, those that sleep can wait. */
	if (sampler->driver != SAMPLER_WALL) {
		arm_those(sampler, false);
		arm_those(sampler, true);
	}
	look_at_paces(sampler);
	sampler->waiting += count_orders(sampler);
	if (sampler->waiting)
		deliver_orders(sampler);
	else
		sampler->delivered = false;
}

bool arm_probe(struct sampler *sampler)
{
	return count_orders(sampler) || leave_order(sampler, ARENA_TIMER_NONE);
}

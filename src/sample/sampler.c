/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/sampler.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "arena/clock.h"
#include "arena/ring.h"
#include "drain/sites.h"
#include "sample/clocks.h"
#include "sample/modules.h"
#include "sample/stacks.h"
#include "sample/take.h"
#include "sample/threads.h"
#include "sample/wall.h"
#include "trace/samples.h"
#include "trace/stacks.h"
#include "util/cleanup.h"

#define NS_PER_S UINT64_C(1000000000)
#define SCAN_NS (NS_PER_S / 100) /* between two looks for new threads */
#define CHECK_NS NS_PER_S        /* between two looks whether all is well */
#define FLUSH_NS (NS_PER_S / 2)  /* a block is not held back for longer */
#define LATE_NS (NS_PER_S / 20)  /* for handlers that are still at it when we stop */
#define PASS_MOST 2000u          /* samples taken in one pass */
#define BLOCKED_LOOKS 10u        /* at a thread that blocks the signal, before it is let be */
#define DEAF_PERIODS 50u         /* of CPU time without a sample: the signal goes elsewhere */
#define TIMERS_HZ_MOST 100u      /* which every kernel's clock keeps up with */
#define PACE_NS (NS_PER_S / 10)  /* between two looks at how often threads switch */
#define STUCK_CHECKS 5u          /* with losses and nothing taken: the ring makes no sense */
#define SENT_MOST 10u            /* orders in a row that are sent at once again */
#define LOOK_SHARE 50u           /* looks for a thread that runs: one part in so many of our time */

struct sampler {
	struct attachment *attachment; /* borrowed */
	struct recorder *recorder;     /* borrowed */
	struct sampler_options options;
	bool on; /* threads are sampled; else `note` says why not, or it is over */
	enum sampler_driver driver; /* to begin with; see driver_so_far() */
	bool changes;               /* the clock of a thread does, by how often that switches */
	bool has_perf;              /* some thread had a perf event, or a timer */
	bool has_timers;
	bool user_only;
	uint64_t period_ns;
	struct threads threads;
	struct wall wall;
	struct modules modules;
	struct take *take;
	struct stack_finder *finder;
	struct samples_writer *writer;
	uint64_t samples;
	uint64_t unwritten;
	uint32_t blocked;
	uint32_t blocked_ever;  /* at two looks in a row */
	uint32_t waiting;       /* for a timer: no thread that ran has set it yet */
	bool delivered;         /* one that runs was told so at the last pass */
	uint32_t runner;        /* the thread that was found to run the last time */
	uint64_t ran;           /* CPU ns of the program when one that runs was looked for */
	uint64_t look_ns;       /* when that may be done again, unless the last time was of use */
	uint32_t sent;          /* orders that waited when one that runs was told last; 0: done */
	uint32_t unanswered;    /* times in a row that none of them was taken then */
	uint64_t unanswered_ns; /* since when, and CPU ns of the program then */
	uint64_t unanswered_ran;
	bool probed;         /* an order waits, or was taken, to see whether the handler is ours */
	uint64_t unheard_ns; /* of CPU time without a sample, at the last check; 0: all is well */
	uint32_t lacking_ever; /* a clock: neither a timer nor a perf event could be had */
	int lack;              /* errno of the last timer that could not */

	uint64_t pace_ns;  /* when threads are to be looked at for how often they switch */
	uint64_t pace_ran; /* CPU ns of the program when they were */
	uint64_t scan_ran; /* and when new threads were looked for; 0: unknown */
	uint64_t scanned_ns;
	uint64_t checked_ns;
	uint64_t flushed_ns;
	uint64_t counted;      /* CPU ns of all threads when something was heard last */
	uint64_t heard;        /* samples and losses then */
	uint64_t samples_then; /* at the last check */
	uint64_t lost_then;
	uint32_t stuck; /* checks in a row */
	uint64_t begun; /* ticks: what was sampled before is not ours */
	bool told;      /* the SAMPLER block says what is true now */
	struct meta_sampler meta;
	char note[512];
};

DEFINE_FREEP(struct sampler, sampler_free)

static __attribute__((format(printf, 2, 3))) void add_note(struct sampler *sampler,
							   const char *format, ...)
{
	size_t length = strlen(sampler->note);
	va_list arguments;

	if (length && length + 1 < sizeof(sampler->note))
		sampler->note[length++] = ' ';
	va_start(arguments, format);
	vsnprintf(sampler->note + length, sizeof(sampler->note) - length, format, arguments);
	va_end(arguments);
	sampler->told = false;
}

static struct arena_sampler *shared(const struct sampler *sampler)
{
	return &sampler->attachment->control->sampler;
}

static uint64_t lost(const struct sampler *sampler)
{
	return atomic_load(&shared(sampler)->lost) + sampler->unwritten + sampler->take->damaged;
}

static enum sampler_driver driver_so_far(const struct sampler *sampler)
{
	if (sampler->has_perf && sampler->has_timers)
		return SAMPLER_MIXED;
	if (sampler->has_perf || sampler->has_timers)
		return sampler->has_perf ? SAMPLER_PERF : SAMPLER_TIMER;
	return sampler->driver;
}

static void note_clock(struct sampler *sampler, bool *has)
{
	if (!*has)
		sampler->told = false;
	*has = true;
}

static void tell(struct sampler *sampler)
{
	struct buffer payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	struct block block = {.kind = BLOCK_SAMPLER};

	sampler->meta = (struct meta_sampler){
		.driver = driver_so_far(sampler),
		.hz = sampler->options.hz,
		.user_only = sampler->user_only,
		.lost = lost(sampler),
		.note = {sampler->note, strlen(sampler->note)},
	};
	meta_sampler_encode(&payload, &sampler->meta);
	block.raw = (uint32_t)payload.length;
	if (!payload.bad)
		recorder_put(sampler->recorder, &block, payload.bytes);
	buffer_fini(&payload);
	sampler->told = true;
}

static int on_block(void *data, const struct block *block, const uint8_t *payload)
{
	struct sampler *sampler = data;

	if (!sampler->told)
		tell(sampler);
	/* Trouble with the file is counted; the next block is tried. */
	if (recorder_put(sampler->recorder, block, payload) < 0)
		sampler->unwritten += block->events;
	return 0;
}

static void go_off(struct sampler *sampler)
{
	atomic_store(&shared(sampler)->on, ARENA_SAMPLING_OFF);
	sampler->on = false;
	sampler->blocked = 0;
	threads_fini(&sampler->threads);
}

/* Whether the program is one that can be sampled at all. */
static bool can_sample(struct sampler *sampler)
{
	uint32_t signal = atomic_load(&shared(sampler)->signal);
	int r;

	if (signal && signal < 65) {
		r = attach_reserve_ring(sampler->attachment);
		if (r == 0)
			return true;
		add_note(sampler, "No CPU samples: no room for them (%s).", strerror(-r));
		return false;
	}
	if (atomic_load(&shared(sampler)->refused) == ARENA_SIGNAL_TAKEN)
		add_note(sampler,
			 "No CPU samples: the program handles SIGURG itself; set UNWEAVE_SIGNAL to "
			 "the number of a signal that it does not use.");
	else
		add_note(sampler, "No CPU samples: UNWEAVE_SIGNAL is 0 in the program.");
	return false;
}

/* An event a thread needs a file descriptor a thread. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Of a thread that is still there: the first one need not be. ESRCH if none is. */
static struct clocks_perf try_perf(struct sampler *sampler)
{
	struct threads *threads = &sampler->threads;
	struct clocks_perf perf = {.error = ESRCH};

	threads_scan(threads);
	for (uint32_t i = 0; i < threads->count && perf.error == ESRCH; i++)
		perf = clocks_try_perf(threads->all[i].tid, sampler->period_ns);
	return perf;
}

static bool can_count(const struct threads *threads)
{
	struct pace_look look;

	return threads->count && threads_count(threads, &threads->all[0], &look) == 0;
}

/*
 * A perf event starts and stops a clock each time that its thread wakes and sleeps. In a virtual
 * machine that takes 2 us, which a thread may do for each request; a timer takes nothing. So at
 * rates at which a timer will do, a thread that switches often gets one; and all do where perf
 * events do not see the kernel's part.
 */
static void choose_driver(struct sampler *sampler)
{
	bool fast = sampler->options.hz > TIMERS_HZ_MOST;
	struct clocks_perf perf = {.error = EPERM};

	sampler->told = false;
	if (sampler->options.wall) {
		sampler->driver = SAMPLER_WALL;
		return;
	}
	sampler->driver = SAMPLER_TIMER;
	if (sampler->options.no_perf)
		return;
	perf = try_perf(sampler);
	sampler->changes = !fast && perf.allowed && !perf.user_only && can_count(&sampler->threads);
	if (perf.allowed && (fast || sampler->changes))
		sampler->driver = SAMPLER_PERF;
	sampler->user_only = sampler->driver == SAMPLER_PERF && perf.user_only;
	/* One that has ended by now needs neither. */
	if (!perf.allowed && fast && perf.error != ESRCH)
		add_note(sampler,
			 "Perf events may not be used (%s): timers are, which tick no "
			 "faster than the kernel's clock.",
			 strerror(perf.error));
	else if (sampler->user_only)
		add_note(sampler,
			 "Time in the kernel is not sampled (kernel.perf_event_paranoid).");
}

static void begin(struct sampler *sampler)
{
	struct arena_sampler *arena = shared(sampler);

	raise_file_limit();
	threads_init(&sampler->threads, (pid_t)sampler->attachment->pid,
		     (int)atomic_load(&arena->signal));
	sampler->wall.threads = &sampler->threads;
	sampler->wall.attachment = sampler->attachment;
	sampler->wall.finder = sampler->finder;
	sampler->wall.period_ns = sampler->period_ns;
	take_begin(sampler->take);
	sampler->begun = clock_ticks(sampler->attachment->clock);
	atomic_store(&arena->lost, 0);
	atomic_store(&arena->period_ns, sampler->period_ns);
	for (unsigned i = 0; i < ARENA_TIMERS; i++)
		atomic_store(&arena->timers[i], 0);
	atomic_fetch_add(&arena->session, 1);
	atomic_store(&arena->on,
		     sampler->options.wall ? ARENA_SAMPLING_ASKED : ARENA_SAMPLING_CLOCKS);
	choose_driver(sampler);
	sampler->on = true;
	sampler->checked_ns = clock_monotonic();
}

int sampler_new(struct sampler **ret, struct attachment *attachment, struct recorder *recorder,
		const struct sampler_options *options)
{
	cleanup(sampler_freep) struct sampler *sampler = calloc(1, sizeof(*sampler));

	if (!sampler)
		return -ENOMEM;
	sampler->attachment = attachment;
	sampler->recorder = recorder;
	sampler->options = *options;
	sampler->period_ns = options->hz ? NS_PER_S / options->hz : 0;
	sampler->take = calloc(1, sizeof(*sampler->take));
	if (!sampler->take || modules_init(&sampler->modules, recorder, attachment) < 0 ||
	    stack_finder_new(&sampler->finder, &sampler->modules) < 0 ||
	    samples_writer_new(&sampler->writer, on_block, sampler) < 0)
		return -ENOMEM;
	sampler->take->control = attachment->control;
	modules_look(&sampler->modules);
	if (options->hz && can_sample(sampler))
		begin(sampler);
	*ret = take(sampler);
	return 0;
}

struct sampler *sampler_free(struct sampler *sampler)
{
	if (!sampler)
		return NULL;
	if (sampler->on)
		go_off(sampler);
	stack_finder_free(sampler->finder);
	modules_fini(&sampler->modules);
	samples_writer_free(sampler->writer);
	free(sampler->take);
	free(sampler);
	return NULL;
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
	uint64_t ran = clocks_used(&sampler->threads);

	if (!sampler->delivered && (now < sampler->look_ns || ran == sampler->ran))
		return false;
	sampler->ran = ran;
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
			add_note(sampler, "Time in the kernel is not sampled where a perf event "
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

/* There may be room by now: for some, lest a program in want be asked all the time. */
static void try_again(struct sampler *sampler)
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

static void note_lack(struct sampler *sampler)
{
	uint32_t count = sampler->lacking_ever;
	const char *why = strerror(sampler->lack);

	if (sampler->lack == EAGAIN)
		why = "no more signals may be pending (ulimit -i)";
	else if (sampler->lack == ENOSPC)
		why = "there are too many threads";
	if (count)
		add_note(sampler, "%u thread%s could not be sampled, or not all the time: %s.",
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

static void look_for_threads(struct sampler *sampler)
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
static void arm_all(struct sampler *sampler, bool sleeping)
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

static void look_after_threads(struct sampler *sampler)
{
	look_for_answer(sampler);
	look_at_refusals(sampler);
	finish_changes(sampler);
	sampler->waiting = 0;
	/* Of thousands, those that sleep can wait. */
	if (sampler->driver != SAMPLER_WALL) {
		arm_all(sampler, false);
		arm_all(sampler, true);
	}
	look_at_paces(sampler);
	sampler->waiting += count_orders(sampler);
	if (sampler->waiting)
		deliver_orders(sampler);
	else
		sampler->delivered = false;
}

/* A program that stores to its arena by mistake can have left a record without a header. */
static void check_ring(struct sampler *sampler)
{
	uint64_t now = lost(sampler);

	if (sampler->samples != sampler->samples_then || now == sampler->lost_then)
		sampler->stuck = 0;
	else if (++sampler->stuck == STUCK_CHECKS)
		take_start_over(sampler->take);
	sampler->lost_then = now;
}

/* CPU ns that threads have used since a sample said so, lost ones included. */
static uint64_t count_unheard(struct sampler *sampler)
{
	const struct threads *threads = &sampler->threads;
	uint64_t heard = sampler->samples + lost(sampler), counted = 0;

	for (uint32_t i = 0; i < threads->count; i++)
		if (!threads->all[i].blocked && !threads->all[i].lacked)
			counted += clocks_counted(threads, &threads->all[i]);
	if (heard != sampler->heard || counted < sampler->counted) {
		sampler->heard = heard;
		sampler->counted = counted;
		sampler->probed = false;
	}
	return counted - sampler->counted;
}

/* Threads change their masks. True if any has, by which CPU time without samples is explained. */
static bool look_at_masks(struct sampler *sampler, bool all)
{
	struct threads *threads = &sampler->threads;
	bool changed = false;

	for (uint32_t i = 0; i < threads->count; i++) {
		bool before = threads->all[i].blocked;

		if (all || before)
			threads_look(threads, &threads->all[i]);
		changed |= threads->all[i].blocked != before;
	}
	return changed;
}

/* No thread handles it, or one that runs was told to take an order, has run on, and did not. */
static bool is_signal_gone(const struct sampler *sampler)
{
	const struct threads *threads = &sampler->threads;

	for (uint32_t i = 0; i < threads->count; i++)
		if (!threads->all[i].handled && !threads->all[i].ended)
			return true;
	return sampler->unanswered && clock_monotonic() - sampler->unanswered_ns >= CHECK_NS / 2 &&
	       clocks_used(threads) - sampler->unanswered_ran > DEAF_PERIODS * sampler->period_ns;
}

/* Has a thread look whose handler it is: one that calls a hook, and one that is seen to run. */
static void probe(struct sampler *sampler)
{
	if (sampler->probed)
		return;
	sampler->probed = count_orders(sampler) || leave_order(sampler, ARENA_TIMER_NONE);
	recorder_renew(sampler->recorder);
}

static void give_up(struct sampler *sampler)
{
	const char *name = sigabbrev_np(sampler->threads.signal);

	add_note(sampler, "CPU samples ended: the program has taken %s%s for itself.",
		 name ? "SIG" : "the ", name ? name : "signal");
	go_off(sampler);
	/* Has threads look at their signal again, and end their timers. */
	recorder_renew(sampler->recorder);
}

/* A program may take our signal over; or its threads are never met by a timer. */
static void check(struct sampler *sampler)
{
	uint64_t unheard = count_unheard(sampler);
	bool deaf = unheard > DEAF_PERIODS * sampler->period_ns;

	if (look_at_masks(sampler, deaf)) {
		deaf = false;
		sampler->heard = UINT64_MAX;
	}
	sampler->unheard_ns = deaf ? unheard : 0;
	if (deaf && is_signal_gone(sampler))
		give_up(sampler);
	else if (deaf)
		probe(sampler);
	try_again(sampler);
	check_ring(sampler);
	sampler->samples_then = sampler->samples;
}

/* `weight`: the ns that the sample stands for. */
static int put(struct sampler *sampler, const struct thread *thread, const struct taken *taken,
	       uint64_t weight, uint32_t flags)
{
	struct samples_segment segments[RING_RUNS];
	struct samples_input input = {
		.ticks = taken->ticks,
		.weight = weight,
		.tid = taken->tid,
		.flags = flags,
		.thread_name = thread ? thread->name : "",
		.segments = segments,
		.segment_count = taken->run_count,
	};
	int r;

	for (uint32_t i = 0; i < taken->run_count; i++) {
		const struct take_run *run = &taken->runs[i];

		segments[i] = (struct samples_segment){.task = run->task,
						       .site = run->site,
						       .chain = {.addresses = run->addresses,
								 .states = run->states,
								 .count = run->count},
						       .cut = run->cut};
		input.flags |= run->cut ? SAMPLE_CHAIN_CUT : 0;
		for (uint32_t f = 0; f < run->count; f++)
			modules_note(&sampler->modules, run->addresses[f]);
	}
	stack_finder_find(sampler->finder, taken, &input);
	r = samples_writer_put(sampler->writer, &input);
	if (r == -E2BIG) {
		sampler->unwritten++;
		return 0;
	}
	sampler->samples += r == 0;
	return r;
}

/* The sample with which a thread fell asleep stands for all of its sleep, once that is over. */
static int put_sleep(struct sampler *sampler, struct thread *thread)
{
	struct taken taken;
	uint64_t slept = wall_take_sleep(thread, &taken);

	return slept ? put(sampler, thread, &taken, slept, SAMPLE_ASLEEP) : 0;
}

/* In periods. */
static uint64_t take_owed(const struct sampler *sampler, struct thread *thread)
{
	uint64_t periods = thread ? thread->owed / sampler->period_ns : 0;

	if (periods)
		thread->owed %= sampler->period_ns;
	return periods;
}

static int on_sample(struct sampler *sampler, const struct taken *taken)
{
	struct thread *thread = threads_find(&sampler->threads, taken->tid);
	int r;

	if (taken->ticks < sampler->begun)
		return 0;
	if (!taken->asked || !thread)
		return put(sampler, thread, taken,
			   (1 + taken->more + take_owed(sampler, thread)) * sampler->period_ns, 0);
	r = put_sleep(sampler, thread);
	if (r >= 0)
		r = put(sampler, thread, taken, wall_weight(&sampler->wall, thread),
			wall_slept(thread, taken) ? SAMPLE_ASLEEP : 0);
	wall_answered(&sampler->wall, thread, sampler->take, taken);
	return r;
}

static int take_all(struct sampler *sampler)
{
	enum take_result result;
	struct taken taken;
	int r = 0;

	/* Events wait for us: what is more is for the next pass. */
	for (uint32_t i = 0; i < PASS_MOST && r >= 0; i++) {
		result = take_next(sampler->take, &taken);
		if (result == TAKE_SAMPLE)
			r = on_sample(sampler, &taken);
		else
			break;
	}
	return r;
}

int sampler_pass(struct sampler *sampler)
{
	uint64_t now = clock_monotonic();
	bool due = now - sampler->scanned_ns >= SCAN_NS;
	int r = 0;

	/* A thread that began to take part has looked, and says that it is not ours any more. */
	if (sampler->on && !atomic_load(&shared(sampler)->signal))
		give_up(sampler);
	if (sampler->on) {
		if (due) {
			sampler->scanned_ns = now;
			look_for_threads(sampler);
		}
		if (due || sampler->delivered)
			look_after_threads(sampler);
		/* Answers first: they are of threads as they were when they were asked. */
		r = take_all(sampler);
		if (sampler->driver == SAMPLER_WALL)
			wall_ask(&sampler->wall, now);
		if (now - sampler->checked_ns >= CHECK_NS) {
			sampler->checked_ns = now;
			check(sampler);
		}
	}
	if (r >= 0 && now - sampler->flushed_ns >= FLUSH_NS) {
		sampler->flushed_ns = now;
		r = samples_writer_flush(sampler->writer);
	}
	return r;
}

uint64_t sampler_pause_ns(const struct sampler *sampler)
{
	if (!sampler->on)
		return NS_PER_S;
	if (sampler->delivered)
		return SCAN_NS / 10;
	return sampler->driver == SAMPLER_WALL && sampler->period_ns < SCAN_NS ? sampler->period_ns
									       : SCAN_NS;
}

static bool is_empty(const struct sampler *sampler)
{
	return atomic_load(&shared(sampler)->head) == atomic_load(&shared(sampler)->tail);
}

/* What handlers were still writing when their clocks were stopped. */
static int take_rest(struct sampler *sampler)
{
	uint64_t begun = clock_monotonic(), before;
	bool more;
	int r;

	do {
		before = atomic_load(&shared(sampler)->tail);
		r = take_all(sampler);
		more = attach_is_alive(sampler->attachment)
			       ? clock_monotonic() - begun < LATE_NS
			       : atomic_load(&shared(sampler)->tail) != before;
	} while (r >= 0 && !is_empty(sampler) && more);
	/* Of a program that died in the middle of one. */
	sampler->unwritten += !is_empty(sampler);
	return r;
}

static void say_unheard(struct sampler *sampler)
{
	if (!sampler->unheard_ns || sampler->samples + lost(sampler) != sampler->heard)
		return;
	add_note(sampler, "No sample of %.1f s of CPU time%s.", (double)sampler->unheard_ns / 1e9,
		 sampler->has_timers
			 ? ": timers see what runs when the kernel's clock ticks, and threads may "
			   "run in between"
			 : "");
}

int sampler_halt(struct sampler *sampler)
{
	int r = 0;

	if (sampler->on && sampler->blocked_ever)
		add_note(sampler, "%u thread%s the signal, and %s not sampled.",
			 sampler->blocked_ever, sampler->blocked_ever == 1 ? " blocks" : "s block",
			 sampler->blocked_ever == 1 ? "was" : "were");
	if (sampler->on)
		note_lack(sampler);
	if (sampler->on) {
		atomic_store(&shared(sampler)->on, ARENA_SAMPLING_OFF);
		r = take_rest(sampler);
		say_unheard(sampler);
		for (uint32_t i = 0; i < sampler->threads.count && r >= 0; i++)
			r = put_sleep(sampler, &sampler->threads.all[i]);
		go_off(sampler);
	}
	samples_writer_flush(sampler->writer);
	return r;
}

static int note_site(void *data, const struct meta_site *site)
{
	struct sampler *sampler = data;

	if (site->code)
		modules_note(&sampler->modules, site->code);
	/* Where a call returns to may be in the next function already. */
	if (site->place)
		modules_note(&sampler->modules, site->place - 1);
	return 0;
}

int sampler_finish(struct sampler *sampler)
{
	uint32_t seen = 0;

	const struct stacks *chains = recorder_stacks(sampler->recorder);

	if (sampler->options.hz)
		tell(sampler);
	if (sampler->options.no_symbols)
		return 0;
	modules_look(&sampler->modules);
	for (uint32_t i = 1; i <= stacks_count(chains); i++)
		if (stacks_at(chains, i)->kind == UNWEAVE_FRAME_CODE)
			modules_note(&sampler->modules, stacks_at(chains, i)->address);
	sites_tell(sampler->attachment, &seen, note_site, sampler);
	return modules_tell_names(&sampler->modules);
}

int sampler_snapshot(struct sampler *sampler)
{
	int r = samples_writer_flush(sampler->writer);

	return r < 0 ? r : sampler_finish(sampler);
}

struct sampler_totals sampler_totals(const struct sampler *sampler)
{
	return (struct sampler_totals){
		.samples = sampler->samples,
		.lost = sampler->options.hz ? lost(sampler) : 0,
		.driver = driver_so_far(sampler),
		.threads = sampler->threads.count - sampler->blocked,
		.blocked = sampler->blocked,
		.note = sampler->note,
	};
}

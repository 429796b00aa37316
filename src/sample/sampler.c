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
#include <unistd.h>

#include "arena/clock.h"
#include "drain/sites.h"
#include "sample/arm.h"
#include "sample/clocks.h"
#include "sample/inside.h"
#include "trace/stacks.h"
#include "util/cleanup.h"

#define SCAN_NS (NS_PER_S / 100) /* between two looks for new threads */
#define CHECK_NS NS_PER_S        /* between two looks whether all is well */
#define FLUSH_NS (NS_PER_S / 2)  /* a block is not held back for longer */
#define LATE_NS (NS_PER_S / 20)  /* for handlers that are still at it when we stop */
#define PASS_MOST 2000u          /* samples taken in one pass */
#define DEAF_PERIODS 50u         /* of CPU time without a sample: the signal goes elsewhere */
#define TIMERS_HZ_MOST 100u      /* which every kernel's clock keeps up with */
#define STUCK_CHECKS 5u          /* with losses and nothing taken: the ring makes no sense */

DEFINE_FREEP(struct sampler, sampler_free)

void sampler_note(struct sampler *sampler, const char *format, ...)
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
		sampler_note(sampler, "No CPU samples: no room for them (%s).", strerror(-r));
		return false;
	}
	if (atomic_load(&shared(sampler)->refused) == ARENA_SIGNAL_TAKEN)
		sampler_note(
			sampler,
			"No CPU samples: the program handles SIGURG itself; set UNWEAVE_SIGNAL to "
			"the number of a signal that it does not use.");
	else
		sampler_note(sampler, "No CPU samples: UNWEAVE_SIGNAL is 0 in the program.");
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
		sampler_note(sampler,
			     "Perf events may not be used (%s): timers are, which tick no "
			     "faster than the kernel's clock.",
			     strerror(perf.error));
	else if (sampler->user_only)
		sampler_note(sampler,
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
	sampler->probed = arm_probe(sampler);
	recorder_renew(sampler->recorder);
}

static void give_up(struct sampler *sampler)
{
	const char *name = sigabbrev_np(sampler->threads.signal);

	sampler_note(sampler, "CPU samples ended: the program has taken %s%s for itself.",
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
	arm_try_again(sampler);
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
			arm_find(sampler);
		}
		if (due || sampler->delivered)
			arm_all(sampler);
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
	sampler_note(
		sampler, "No sample of %.1f s of CPU time%s.", (double)sampler->unheard_ns / 1e9,
		sampler->has_timers
			? ": timers see what runs when the kernel's clock ticks, and threads may "
			  "run in between"
			: "");
}

int sampler_halt(struct sampler *sampler)
{
	int r = 0;

	if (sampler->on && sampler->blocked_ever)
		sampler_note(sampler, "%u thread%s the signal, and %s not sampled.",
			     sampler->blocked_ever,
			     sampler->blocked_ever == 1 ? " blocks" : "s block",
			     sampler->blocked_ever == 1 ? "was" : "were");
	if (sampler->on)
		arm_say_lack(sampler);
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

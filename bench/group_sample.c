/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sample takes from the thread that it is of: sample.*
 *
 * A thread reads the clock all the time, eight functions deep in a chain and
 * twenty deep on its stack. Between two reads that a signal came in between lies what
 * that took: the interrupt, the way to the handler and back, the handler. An
 * empty handler, driven by the same kind of clock, says what is not ours.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "level.h"
#include "rows.h"
#include "sample/clocks.h"
#include "sample/take.h"
#include "taker.h"
#include "unweave/chain.h"
#include "workload.h"

#define HZ 999u
#define PERIOD_NS (1000000000u / HZ)
#define LINKS 8u
#define FRAMES 20u
#define FRAME_BYTES 96u
#define SLICE_NS UINT64_C(100000000)
#define GAPS 1000u
#define BURST 64u /* signals to itself, at a time */

enum { EMPTY, OURS, VARIANTS };

static struct {
	volatile uint64_t handled; /* by the empty handler */
	struct take take;
	_Atomic bool over;
	uint32_t taken;
	volatile uint64_t *count; /* changes with each signal of the variant under way */
	double gaps[GAPS];
	uint32_t found;
	double sum[VARIANTS]; /* of all gaps */
	uint64_t signals[VARIANTS];
} spin;

static void handle_nothing(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	spin.handled++;
}

/* On the other processor, as a recorder would be. */
static void *take_samples(void *data)
{
	struct taken taken;

	bench_pin(BENCH_CPU_DRAIN);
	while (!atomic_load(&spin.over)) {
		while (take_next(&spin.take, &taken) == TAKE_SAMPLE)
			spin.taken++;
		bench_sleep_us(1000);
	}
	return data;
}

static __attribute__((noinline)) void look_for_gaps(void)
{
	uint64_t last = clock_raw(), begun = last, seen = *spin.count;

	while (last - begun < SLICE_NS && spin.found < GAPS) {
		uint64_t count, now;

		now = clock_raw();
		count = *spin.count;
		if (count != seen) {
			/* It may have come between the two reads: the next one will tell. */
			now = clock_raw();
			spin.gaps[spin.found++] = (double)(now - last);
			seen = count;
		}
		last = now;
	}
}

static __attribute__((noinline)) void go_down(uint32_t frames)
{
	volatile char room[FRAME_BYTES];

	room[0] = (char)frames;
	if (frames)
		go_down(frames - 1);
	else
		look_for_gaps();
	bench_use((uint64_t)room[0]);
}

static int spin_here(struct unweave_link *link, void *context)
{
	(void)link;
	(void)context;
	go_down(FRAMES);
	return UNWEAVE_STEP_DONE;
}

static int go_on(struct unweave_link *link, void *context)
{
	(void)link;
	(void)context;
	return UNWEAVE_STEP_DONE;
}

static void run_chain(unweave_go innermost)
{
	struct unweave_link links[LINKS];
	struct unweave_chain chain;

	unweave_chain_init(&chain);
	for (uint32_t i = 0; i < LINKS; i++) {
		unweave_link_init(&links[i], i + 1 < LINKS ? go_on : innermost, NULL, (int32_t)i);
		unweave_chain_push(&chain, &links[i]);
	}
	unweave_chain_start(&chain, NULL, 0);
	unweave_chain_run(&chain, 0);
}

/* A slice with a perf event that sends `signal`; the median of what each took. */
static double measure_gaps(void *context, uint32_t variant, uint32_t repetition)
{
	struct thread thread = {.tid = (pid_t)syscall(SYS_gettid), .fd = -1};
	struct arena_sampler *sampler = &emit_process.control->sampler;
	int signal = variant == OURS ? (int)sampler->signal : SIGUSR1;

	(void)repetition;
	spin.found = 0;
	spin.count = variant == OURS ? (volatile uint64_t *)&sampler->head : &spin.handled;
	if (clocks_arm_perf(&thread, signal, PERIOD_NS, *(bool *)context) < 0)
		return 0;
	run_chain(spin_here);
	close(thread.fd);
	for (uint32_t i = 0; i < spin.found; i++)
		spin.sum[variant] += spin.gaps[i];
	spin.signals[variant] += spin.found;
	return spin.found ? stats_median(spin.gaps, spin.found) : 0;
}

static int report_gaps(struct bench *bench, bool user_only)
{
	struct samples samples;
	double ours, empty;
	int r = samples_take(&samples, VARIANTS, bench_amount(bench, 60, 2), measure_gaps,
			     &user_only, &bench->rng);

	if (r < 0)
		return r;
	ours = samples_median(&samples, OURS);
	empty = samples_median(&samples, EMPTY);
	rows_set("sample.x_empty", samples_best(&samples, OURS) / samples_best(&samples, EMPTY),
		 ours / empty);
	rows_note("sample.x_empty", "%.1f us against %.1f; means %.1f, %.1f; %u taken, %u lost",
		  ours / 1000, empty / 1000,
		  spin.sum[OURS] / (double)(spin.signals[OURS] + !spin.signals[OURS]) / 1000,
		  spin.sum[EMPTY] / (double)(spin.signals[EMPTY] + !spin.signals[EMPTY]) / 1000,
		  spin.taken, (unsigned)atomic_load(&emit_process.control->sampler.lost));
	samples_fini(&samples);
	return 0;
}

static double burst_ns[VARIANTS];

/* Signals to itself: what the handler takes alone is what ours takes longer than an empty one. */
static int send_burst(struct unweave_link *link, void *context)
{
	union sigval value = {.sival_ptr = (void *)(uintptr_t)RING_ORDER_SAMPLE};

	(void)link;
	(void)context;
	for (uint32_t variant = 0; variant < VARIANTS; variant++) {
		int signal = variant == OURS ? (int)emit_process.control->sampler.signal : SIGUSR1;
		uint64_t begun = clock_raw();

		for (uint32_t i = 0; i < BURST; i++)
			pthread_sigqueue(pthread_self(), signal, value);
		burst_ns[variant] = (double)(clock_raw() - begun) / BURST;
		/* So that there is room for the next. */
		bench_sleep_us(2000);
	}
	return UNWEAVE_STEP_DONE;
}

static void report_alone(struct bench *bench)
{
	uint32_t repetitions = bench_amount(bench, 200, 5);
	double all[200], best = 1e9, empty = 1e9; /* the quickest bursts */

	for (uint32_t i = 0; i < repetitions; i++) {
		run_chain(send_burst);
		all[i] = burst_ns[OURS] - burst_ns[EMPTY];
		best = burst_ns[OURS] < best ? burst_ns[OURS] : best;
		empty = burst_ns[EMPTY] < empty ? burst_ns[EMPTY] : empty;
	}
	rows_set("sample.ns", best - empty, stats_median(all, repetitions));
	rows_note("sample.ns", "the handler alone; a signal to itself with an empty one: %.0f",
		  empty);
}

static int set_up(void)
{
	struct sigaction action = {.sa_sigaction = handle_nothing,
				   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

	/* The first hook makes the arena. */
	unweave_task_complete(unweave_task_new(NULL, UNWEAVE_MODEL_CHAIN, 0, NULL), UNWEAVE_OK);
	if (!emit_process.control || !emit_process.control->sampler.signal)
		return -ENOTSUP;
	sigfillset(&action.sa_mask);
	sigaction(SIGUSR1, &action, NULL);
	spin.take.control = emit_process.control;
	take_start_over(&spin.take);
	return 0;
}

static int measure_handler(struct bench *bench)
{
	struct clocks_perf perf = clocks_try_perf((pid_t)syscall(SYS_gettid), PERIOD_NS);
	pthread_t taker;
	int r = 0;

	if (pthread_create(&taker, NULL, take_samples, NULL))
		return -EAGAIN;
	atomic_store(&emit_process.control->sampler.on, 1);
	level_set(LEVEL_SAMPLES);
	if (perf.allowed)
		r = report_gaps(bench, perf.user_only);
	else
		rows_note("sample.x_empty", "perf events may not be used here");
	report_alone(bench);
	atomic_store(&emit_process.control->sampler.on, 0);
	level_set(LEVEL_OFF);
	atomic_store(&spin.over, true);
	pthread_join(taker, NULL);
	return r;
}

/* The loop of `overhead.*`, recorded by the real recorder, with samples and without. */
#define SERVER_RUNS 8192u /* of 10 us: a slice is 80 ms */
#define SERVER_HZ 99u

enum { BARE, AGAIN, SAMPLED, SERVER_VARIANTS };

struct server {
	struct workload workload;
	struct taker *taker;
};

static double measure_server(void *context, uint32_t variant, uint32_t repetition)
{
	struct server *server = context;

	taker_sample(server->taker, variant == SAMPLED ? SERVER_HZ : 0);
	level_set(variant == SAMPLED ? LEVEL_SAMPLES : LEVEL_OFF);
	workload_run(&server->workload, HOOKS_REAL, 64, repetition % SERVER_RUNS);
	return workload_run(&server->workload, HOOKS_REAL, server->workload.slice,
			    repetition % SERVER_RUNS);
}

static void report_server(const struct server *server, const struct samples *samples)
{
	double median = samples_median(samples, BARE);
	double added = samples_difference(samples, SAMPLED, BARE);
	double best = samples_best(samples, SAMPLED) - samples_best(samples, BARE);

	rows_set("sample.server.99.pct", 100 * best / samples_best(samples, SAMPLED),
		 100 * added / (median + added));
	rows_note("sample.server.99.pct", "again %+.2f; quartiles +-%.2f; %u samples, %u lost",
		  100 * samples_difference(samples, AGAIN, BARE) / median,
		  100 * samples_scatter(samples, SAMPLED, BARE) / median,
		  (unsigned)atomic_load(&server->taker->samples),
		  (unsigned)atomic_load(&server->taker->samples_lost));
}

static int measure_loop(struct bench *bench, struct taker *taker)
{
	struct server server = {.taker = taker};
	uint32_t slice = bench_amount(bench, SERVER_RUNS, 256);
	struct samples samples;
	int r = workload_init(&server.workload, UNWEAVE_MODEL_CHAIN, WORKLOAD_HOT, slice,
			      &bench->rng);

	if (r < 0)
		return r;
	r = taker_begin(taker);
	if (r < 0) {
		bench_complain("the recorder: %s", taker->why);
	} else {
		level_set(LEVEL_OFF);
		workload_calibrate(&server.workload, 10000, &bench->rng);
		r = samples_take(&samples, SERVER_VARIANTS, bench_amount(bench, 60, 2),
				 measure_server, &server, &bench->rng);
	}
	if (r >= 0) {
		taker_sample(taker, 0);
		report_server(&server, &samples);
		samples_fini(&samples);
		r = taker_end(taker);
	}
	workload_fini(&server.workload);
	return r;
}

int group_sample(struct bench *bench)
{
	bool loop = rows_wanted("sample.server");
	struct taker *taker = loop ? taker_new(bench->directory, "sample.server") : NULL;
	int r;

	if (loop && !taker)
		return -ENOMEM;
	r = set_up();
	if (r >= 0 && (rows_wanted("sample.x") || rows_wanted("sample.ns")))
		r = measure_handler(bench);
	if (r >= 0 && loop)
		r = measure_loop(bench, taker);
	taker_free(taker);
	return r;
}

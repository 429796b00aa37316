/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `unweave top` costs, itself and the program that it watches: top.*
 *
 * The program has a million tasks that wait, and 100,000 more are created and end each second. A
 * process on another processor watches it: takes what there is as often as a screen does,
 * and each second makes a picture, looks for warnings and where the chosen task is, and fills in
 * 50 rows. That is done once as `unweave top` does it of itself, which finds that these are too
 * many events, and once with all of them.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "crowd.h"
#include "drain/find.h"
#include "rows.h"
#include "watch/lint.h"
#include "watch/watch.h"

#define TASKS 1000000u
#define TASKS_QUICK 20000u
#define STEP_NS 10000
#define SECOND UINT64_C(1000000000)
#define SLICES 8u
#define SLICE_NS (3 * SECOND)
#define ROWS 50u
#define REFRESHES 64u

enum order { ORDER_REST, ORDER_WATCH, ORDER_TABLE, ORDER_END };
enum answer { ANSWER_RESTS, ANSWER_WATCHES, ANSWER_FAILED };

/* Shared by the two processes. */
struct watcher {
	pid_t pid;
	_Atomic int order;  /* enum order, by the program */
	_Atomic int answer; /* enum answer, by the one that watches */
	uint64_t pause_ns;  /* between two pictures */
	uint32_t tasks;     /* that the first picture must have */
	/* ms of CPU for a picture, with all that was taken since the last one, by order */
	double ms[ORDER_END][REFRESHES];
	uint32_t refreshes[ORDER_END];
	double first_ms; /* of CPU until the first one that has all tasks */
	double mb;       /* of memory, at most */
	uint64_t lost;
	char why[256];
};

/* As a screen does; returns -errno. */
static int show(struct watch *watch, struct watch_lint *lint)
{
	static struct watch_row rows[ROWS];
	struct watch_query query = {.order = WATCH_BY_BUSY};
	struct watch_found found;
	uint64_t at;
	int r = watch_refresh(watch);

	if (r >= 0)
		r = watch_lint_refresh(lint);
	if (r >= 0)
		r = watch_select(watch, &query, 0, ROWS, rows, &found);
	if (r > 0)
		r = watch_where(watch, &query, rows[r - 1].task.id, &at);
	return r;
}

/* Takes what comes until a picture is due. */
static int take_for(struct watch *watch, struct watch_lint *lint, uint64_t ns)
{
	uint64_t end = clock_raw() + ns;
	int r = 0;

	for (uint64_t now = clock_raw(); r >= 0 && now < end; now = clock_raw()) {
		uint64_t pause = watch_pause_ns(watch);

		bench_sleep_us((pause < end - now ? pause : end - now) / 1000);
		r = watch_pass(watch);
		if (r >= 0)
			watch_lint_pass(lint);
	}
	return r;
}

static int watch_all(struct watcher *watcher, enum order order, struct watch *watch,
		     struct watch_lint *lint)
{
	uint64_t cpu = bench_cpu_ns();
	int r;

	do {
		r = take_for(watch, lint, watcher->pause_ns / 5);
		if (r >= 0)
			r = show(watch, lint);
	} while (r >= 0 && watch_totals(watch)->alive < watcher->tasks);
	if (order == ORDER_WATCH)
		watcher->first_ms = (double)(bench_cpu_ns() - cpu) / 1e6;
	atomic_store(&watcher->answer, ANSWER_WATCHES);
	while (r >= 0 && atomic_load(&watcher->order) == (int)order) {
		cpu = bench_cpu_ns();
		r = take_for(watch, lint, watcher->pause_ns);
		if (r >= 0)
			r = show(watch, lint);
		if (r >= 0 && watcher->refreshes[order] < REFRESHES)
			watcher->ms[order][watcher->refreshes[order]++] =
				(double)(bench_cpu_ns() - cpu) / 1e6;
		if (order == ORDER_WATCH)
			watcher->lost = watch_totals(watch)->lost;
	}
	return r;
}

static int watch_once(struct watcher *watcher, enum order order)
{
	struct diag diag = {.text = "out of memory"};
	struct attachment attachment;
	struct watch_lint *lint = NULL;
	struct watch *watch = NULL;
	struct lint_limits limits;
	int r = find_pid(&attachment, (uint32_t)getppid(), &diag);

	if (r >= 0) {
		r = watch_new(&watch, &attachment,
			      order == ORDER_TABLE ? WATCH_NO_EVENTS : WATCH_FEW_EVENTS, &diag);
		if (r >= 0 && order == ORDER_WATCH && watch_note(watch)[0])
			r = diag_set(&diag, -EBUSY, "%s", watch_note(watch));
		lint_limits_init(&limits);
		if (r >= 0)
			r = watch_lint_new(&lint, watch, &limits, NULL, &diag);
		if (r >= 0)
			r = watch_all(watcher, order, watch, lint);
		watch_lint_free(lint);
		watch_free(watch);
		attach_fini(&attachment);
	}
	if (r < 0)
		snprintf(watcher->why, sizeof(watcher->why), "%s", diag.text);
	return r;
}

static void watch_on_order(struct watcher *watcher)
{
	struct rusage usage;
	int r = 0;

	bench_pin(BENCH_CPU_DRAIN);
	for (int order; r >= 0 && (order = atomic_load(&watcher->order)) != ORDER_END;) {
		if (order != ORDER_REST)
			r = watch_once(watcher, (enum order)order);
		atomic_store(&watcher->answer, r < 0 ? ANSWER_FAILED : ANSWER_RESTS);
		bench_sleep_us(1000);
	}
	getrusage(RUSAGE_SELF, &usage);
	watcher->mb = (double)usage.ru_maxrss / 1e3;
}

/* Before the first hook of this process. NULL: no memory, or no process. */
static struct watcher *start_watcher(void)
{
	struct watcher *watcher = mmap(NULL, sizeof(*watcher), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (watcher == MAP_FAILED)
		return NULL;
	watcher->pid = fork();
	if (watcher->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		watch_on_order(watcher);
		_exit(0);
	}
	return watcher->pid > 0 ? watcher : NULL;
}

static void end_watcher(struct watcher *watcher)
{
	atomic_store(&watcher->order, ORDER_END);
	waitpid(watcher->pid, NULL, 0);
}

struct slices {
	struct crowd crowd;
	struct watcher *watcher;
	uint64_t slice_ns;
	int error;
};

enum { ALONE, AGAIN, WATCHED, TABLE, VARIANTS };

/* The program goes on until it is obeyed. */
static int give_order(struct slices *slices, enum order order, enum answer answer)
{
	struct watcher *watcher = slices->watcher;

	atomic_store(&watcher->order, order);
	while (atomic_load(&watcher->answer) != (int)answer) {
		if (atomic_load(&watcher->answer) == ANSWER_FAILED) {
			bench_complain("what watches: %s", watcher->why);
			return -EIO;
		}
		crowd_step(&slices->crowd);
	}
	return 0;
}

static int watch_as(struct slices *slices, uint32_t variant)
{
	enum order order = variant == TABLE ? ORDER_TABLE : ORDER_WATCH;
	int r = give_order(slices, ORDER_REST, ANSWER_RESTS);

	return r < 0 || variant <= AGAIN ? r : give_order(slices, order, ANSWER_WATCHES);
}

/* ns of CPU that a step takes. */
static double measure(void *context, uint32_t variant, uint32_t repetition)
{
	struct slices *slices = context;
	uint64_t first, end, cpu;

	(void)repetition;
	if (!slices->error)
		slices->error = watch_as(slices, variant);
	if (slices->error)
		return 0;
	first = slices->crowd.steps;
	cpu = bench_cpu_ns();
	end = clock_raw() + slices->slice_ns;
	while (clock_raw() < end)
		for (int i = 0; i < 16; i++)
			crowd_step(&slices->crowd);
	return (double)(bench_cpu_ns() - cpu) / (double)(slices->crowd.steps - first);
}

/* What a variant takes from the program that is alone. */
static void set_taken(const char *row, const struct samples *samples, uint32_t variant)
{
	double alone = samples_median(samples, ALONE);

	rows_set(row, 100 * (samples_best(samples, variant) / samples_best(samples, ALONE) - 1),
		 100 * samples_difference(samples, variant, ALONE) / alone);
	rows_note(row, "of %.2f µs a request; +- %.2f", alone / 1e3,
		  100 * samples_scatter(samples, variant, ALONE) / alone);
}

static void report(const struct samples *samples, const struct slices *slices)
{
	struct watcher *watcher = slices->watcher;
	double *ms = watcher->ms[ORDER_WATCH], *table_ms = watcher->ms[ORDER_TABLE];
	uint32_t count = watcher->refreshes[ORDER_WATCH], tables = watcher->refreshes[ORDER_TABLE];

	if (count) {
		double median = stats_median(ms, count);

		rows_set("top.refresh.ms", ms[0], median);
		rows_note(
			"top.refresh.ms",
			"%u tasks, %.0fk new a second; first %.0f, worst %.0f; %.0f MB; %llu lost",
			slices->crowd.count, 1e6 / samples_median(samples, ALONE),
			watcher->first_ms, ms[count - 1], watcher->mb,
			(unsigned long long)watcher->lost);
	}
	if (tables) {
		double median = stats_median(table_ms, tables);

		rows_set("top.refresh.table.ms", table_ms[0], median);
		rows_note("top.refresh.table.ms", "worst %.0f", table_ms[tables - 1]);
	}
	set_taken("top.attached.pct", samples, WATCHED);
	set_taken("top.table.pct", samples, TABLE);
	set_taken("top.again.pct", samples, AGAIN);
}

int group_top(struct bench *bench)
{
	uint32_t count = bench_amount(bench, TASKS, TASKS_QUICK);
	struct slices slices = {.watcher = start_watcher(),
				.slice_ns = bench->quick ? SECOND / 10 : SLICE_NS};
	struct samples samples;
	int r;

	if (!slices.watcher)
		return -ENOMEM;
	slices.watcher->pause_ns = bench->quick ? SECOND / 50 : SECOND;
	slices.watcher->tasks = count;
	r = crowd_init(&slices.crowd, count, &bench->rng);
	if (r < 0)
		return r;
	crowd_calibrate(&slices.crowd, STEP_NS);
	bench_progress("%u tasks, watched and not", count);
	r = samples_take(&samples, VARIANTS, bench_amount(bench, SLICES, 1), measure, &slices,
			 &bench->rng);
	end_watcher(slices.watcher);
	if (r < 0)
		return r;
	if (!slices.error)
		report(&samples, &slices);
	samples_fini(&samples);
	crowd_fini(&slices.crowd);
	return slices.error;
}

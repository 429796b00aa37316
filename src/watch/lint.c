/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/lint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena/clock.h"
#include "unweave/callback.h"
#include "util/cleanup.h"
#include "watch/lint_parts.h"

#define RUNS_KEPT_NS (300 * NS_PER_S) /* for so long a run that is over is told */

DEFINE_FREEP(struct watch_lint, watch_lint_free)

static int on_created(void *data, struct model_task *task)
{
	return lints_created(data, task);
}

static int on_run(void *data, const struct model_run *run)
{
	return lints_run(data, run);
}

static int on_wait(void *data, const struct model_wait *wait)
{
	return lints_wait(data, wait);
}

static int on_task(void *data, struct model_task *task)
{
	return lints_task(data, task);
}

static int on_idle(void *data, uint32_t thread, uint64_t start, uint64_t end)
{
	(void)thread;
	lints_idle(data, start, end);
	return 0;
}

static struct model_sink sink_of(struct lints *lints)
{
	return (struct model_sink){.created = on_created,
				   .run = on_run,
				   .wait = on_wait,
				   .task = on_task,
				   .idle = on_idle,
				   .data = lints};
}

/* All of a trace, once: the moment that is shown changes nothing in its warnings. */
static int read_trace(struct watch_lint *lint, const struct lint_limits *limits, const char *path,
		      struct diag *diag)
{
	struct lints *lints = &lint->lints;
	struct model_sink sink = sink_of(lints);
	struct model *model = NULL;
	int r = reader_open(&lint->reader, path, NULL, NULL, diag);

	if (r == 0)
		r = lints_init(lints, limits, lint->reader, watch_symbols(lint->watch));
	if (r == 0)
		r = model_new(&model, lint->reader);
	if (r == 0) {
		model_set_labels(model, naming_site_label, lints->symbols);
		r = model_read(model, &sink, diag);
	}
	if (r == 0)
		r = lints_finish(lints, !model_totals(model)->lost);
	if (r == 0)
		r = lints_locate(lints, model_tree(model));
	if (r == 0) {
		lints_join(lints);
		r = lint_tell_all(lint, model_tree(model));
	}
	model_free(model);
	return r;
}

static int watch_program(struct watch_lint *lint, const struct lint_limits *limits)
{
	int r = lints_init(&lint->lints, limits, NULL, watch_symbols(lint->watch));

	if (r < 0 || tree_new(&lint->tree) < 0 || map_init(&lint->in_circle, UINT32_MAX) < 0)
		return -ENOMEM;
	/* Without one there are chains, and no native stacks. */
	if (lint->lints.symbols && unwinder_new(&lint->unwinder, lint->lints.symbols) < 0)
		return -ENOMEM;
	lint->tap = sink_of(&lint->lints);
	watch_tap(lint->watch, &lint->tap);
	return 0;
}

int watch_lint_new(struct watch_lint **ret, struct watch *watch, const struct lint_limits *limits,
		   const char *path, struct diag *diag)
{
	cleanup(watch_lint_freep) struct watch_lint *lint = calloc(1, sizeof(*lint));
	int r;

	if (!lint)
		return diag_set(diag, -ENOMEM, "out of memory");
	lint->watch = watch;
	lint->source = watch_totals(watch)->source;
	r = path ? read_trace(lint, limits, path, diag) : watch_program(lint, limits);
	if (r < 0)
		return r == -ENOMEM ? diag_set(diag, r, "out of memory") : r;
	*ret = take(lint);
	return 0;
}

struct watch_lint *watch_lint_free(struct watch_lint *lint)
{
	if (!lint)
		return NULL;
	if (lint->tap.data)
		watch_tap(lint->watch, NULL);
	if (lint->lints.texts)
		lints_fini(&lint->lints);
	map_fini(&lint->in_circle);
	unwinder_free(lint->unwinder);
	tree_free(lint->tree);
	reader_free(lint->reader);
	free(lint->told);
	free(lint);
	return NULL;
}

int watch_lint_renew(struct watch_lint *lint)
{
	struct lint_limits limits = lint->lints.limits;

	lint->source = watch_totals(lint->watch)->source;
	lint->judged = 0;
	memset(lint->sightings, 0, sizeof(lint->sightings));
	lint->told_count = 0;
	lints_fini(&lint->lints);
	return lints_init(&lint->lints, &limits, NULL, watch_symbols(lint->watch));
}

/* Whether the runs of a task may take long; by where they run, if it is a callback. */
static bool may_block(const struct watch_thread *thread, const struct reader_site *site)
{
	return site && (lint_may_block(site->kind) || (lints_is_callback(site) && !thread->loop));
}

static const struct reader_site *site_of_task(const struct watch_lint *lint,
					      const struct watch_task *task)
{
	const struct watch_site *site = watch_site_find(lint->watch, task->site);

	return site ? site->site : NULL;
}

/* One more thing to warn of; `*bits` gets its kind. There may be a million: the worst gets a name.
 */
static int note(struct watch_lint *lint, const struct watch_task *task, enum lint_kind kind,
		uint64_t worst, struct lint_warning **ret, uint32_t *bits)
{
	struct lints_subject subject = {.site = site_of_task(lint, task), .task = task->id};
	int r = lints_note(&lint->lints, kind, &subject, worst, ret);

	if (*ret)
		(*ret)->time = task->since;
	*bits |= 1u << kind;
	return r;
}

static const struct watch_thread *thread_of(const struct watch *watch, uint32_t number)
{
	for (uint32_t i = 0; i < watch_thread_count(watch); i++)
		if (watch_thread_at(watch, i)->thread == number)
			return watch_thread_at(watch, i);
	return NULL;
}

/*
 * For how long a run goes on that may be to blame; 0: it is not, or nobody knows. Those around it
 * on its thread are kept by it.
 */
static uint64_t running_ns(struct watch_lint *lint, const struct watch_task *task)
{
	const struct watch_thread *thread = thread_of(lint->watch, task->thread);

	if (task->since == WATCH_UNKNOWN)
		return lint_unheard_ns(lint, task);
	if (!thread || thread->task != task->id || thread->task_ns == WATCH_UNKNOWN ||
	    may_block(thread, site_of_task(lint, task)))
		return 0;
	/* It waits for work inside of its run. */
	if (thread->idle && thread->idle != WATCH_UNKNOWN &&
	    thread->task_ns > watch_totals(lint->watch)->interval)
		return 0;
	return thread->task_ns;
}

static int judge_running(struct watch_lint *lint, const struct watch_task *task, uint32_t *bits)
{
	uint64_t ns = running_ns(lint, task);
	struct lint_warning *worst = NULL;
	int r;

	if (lint_judge_run(&lint->lints.limits, ns, false) != LINT_ENDLESS)
		return 0;
	r = note(lint, task, LINT_ENDLESS, ns, &worst, bits);
	if (!worst)
		return r;
	worst->thread = task->thread;
	worst->how = "in";
	/* What runs took itself off the chain, and nobody heard what that is. */
	if (task->since == WATCH_UNKNOWN) {
		worst->time = watch_totals(lint->watch)->first;
		worst->how = "awaited by";
	}
	return r;
}

/* Whether a task has ended: its id says where it was, and that is another's now. */
static bool is_gone(const struct watch_lint *lint, uint64_t task)
{
	return task && table_index(task) && !watch_task_find(lint->watch, task);
}

/* What has happened since, of what is waited for. Only of waits that were seen to begin. */
static void find_out(const struct watch_lint *lint, const struct watch_task *task,
		     struct lint_waiting *waiting)
{
	const struct watch_totals *totals = watch_totals(lint->watch);
	bool seen =
		totals->source == WATCH_EVENTS && !task->early && !task->uncertain && !totals->lost;

	waiting->gone = seen && task->waits == UNWEAVE_WAIT_TASK && is_gone(lint, task->awaits);
	if (seen && task->waits == UNWEAVE_WAIT_TIMER && task->awaits < lint->monotonic)
		waiting->overdue = lint->monotonic - task->awaits;
	waiting->kept = lint->kept;
	waiting->idled =
		lints_idled_since(&lint->lints, watch_passed(waiting->overdue, totals->now));
}

/* Of most waits nothing is said that could be judged, and there are many. */
static bool is_worth_a_look(const struct watch_lint *lint, const struct watch_task *task)
{
	return task->since != WATCH_UNKNOWN && task->since <= watch_totals(lint->watch)->now &&
	       (task->waits == UNWEAVE_WAIT_TASK || task->waits == UNWEAVE_WAIT_TIMER ||
		task->waits == UNWEAVE_WAIT_LOCK || lint->lints.limits.set[LINT_WAIT]);
}

static int judge_waiting(struct watch_lint *lint, const struct watch_task *task, uint32_t *bits)
{
	struct lint_waiting waiting = {.ns = watch_totals(lint->watch)->now - task->since,
				       .waits = (enum unweave_wait)task->waits};
	struct lint_warning *worst = NULL;
	enum lint_kind kind;
	int r;

	if (!is_worth_a_look(lint, task))
		return 0;
	find_out(lint, task, &waiting);
	kind = lint_judge_wait(&lint->lints.limits, &waiting);
	/* That it waits for long is then the least. */
	if (kind == LINT_KINDS || (kind == LINT_WAIT && map_find(&lint->in_circle, task->id)))
		return 0;
	r = note(lint, task, kind, waiting.overdue ? waiting.overdue : waiting.ns, &worst, bits);
	if (worst)
		worst->other = waiting.gone ? "" : NULL;
	return r;
}

static int judge_wakes(struct watch_lint *lint, const struct watch_task *task, uint32_t *bits)
{
	struct model *model = lint->watch->model;
	const struct model_task *told =
		model && task->slot < model_slots(model) ? model_slot(model, task->slot) : NULL;
	struct lint_waking waking = {.wakes = task->wakes,
				     .self_wakes = task->self_wakes,
				     .runs = task->runs,
				     .busy = task->busy};
	struct lint_warning *worst = NULL;
	enum lint_kind kind;
	int r;

	if (!told || told->id != task->id)
		return 0;
	waking.empty_runs = told->empty_runs;
	kind = lint_judge_wakes(&lint->lints.limits, &waking);
	if (kind == LINT_KINDS)
		return 0;
	r = note(lint, task, kind,
		 kind == LINT_EMPTY ? waking.empty_runs : lint_self_percent(&waking), &worst, bits);
	if (worst) {
		worst->of = kind == LINT_EMPTY ? waking.runs : waking.wakes;
		worst->time = task->created;
	}
	return r;
}

/* What threads do, by which tasks that wait are judged. */
static void look_at_threads(struct watch_lint *lint)
{
	const struct watch *watch = lint->watch;

	lint->kept = false;
	/* The picture may be of a while ago, when its program ended. */
	lint->monotonic =
		watch_passed(watch_passed(watch->totals.now, clock_raw()), clock_monotonic());
	for (uint32_t i = 0; watch->model && i < model_lanes(watch->model); i++) {
		struct model_lane lane;

		model_lane(watch->model, i, &lane);
		if (lane.idle)
			lints_idle(&lint->lints, lane.idle, watch->totals.now);
	}
	for (uint32_t i = 0; i < watch_thread_count(watch); i++) {
		const struct watch_thread *thread = watch_thread_at(watch, i);

		lint->kept |= thread->task && thread->task_ns != WATCH_UNKNOWN &&
			      thread->task_ns >= lint->lints.limits.at[LINT_RUN];
	}
}

static int judge_tasks(struct watch_lint *lint)
{
	struct watch *watch = lint->watch;
	int r = 0;

	for (uint32_t i = 0; i < watch_task_count(watch) && r == 0; i++) {
		const struct watch_task *task = watch_task_at(watch, i);
		uint32_t bits = map_find(&lint->in_circle, task->id) ? 1u << LINT_DEADLOCK : 0;

		if (task->state == WATCH_RUNNING)
			r = judge_running(lint, task, &bits);
		else if (task->state == WATCH_WAITING)
			r = judge_waiting(lint, task, &bits);
		if (r == 0 && task->self_wakes && task->self_wakes != WATCH_UNKNOWN)
			r = judge_wakes(lint, task, &bits);
		if (bits)
			watch_warn(watch, i, bits);
	}
	return r;
}

static int on_circle(void *data, const uint64_t *tasks, uint32_t count)
{
	struct watch_lint *lint = data;
	struct watch *watch = lint->watch;
	uint64_t now = watch_totals(watch)->now, since = 0;
	struct lint_warning *warning = NULL;
	int r;

	for (uint32_t i = 0; i < count; i++) {
		const struct watch_task *task = watch_task_find(watch, tasks[i]);

		if (!task || task->since == WATCH_UNKNOWN || task->since > now)
			return 0;
		since = task->since > since ? task->since : since;
	}
	if (now - since < lint->lints.limits.at[LINT_DEADLOCK])
		return 0;
	for (uint32_t i = 0; i < count; i++)
		if (map_put(&lint->in_circle, tasks[i], 1) < 0)
			return -ENOMEM;
	/* Each circle is a warning of its own; of very many, the first ones. */
	if (lint->lints.count >= LINTS_MOST)
		return 0;
	r = lints_add(&lint->lints, LINT_DEADLOCK, watch_task_find(watch, tasks[0])->site,
		      ++lint->circles, &warning);
	if (r < 0)
		return r;
	warning->stack = 0;
	warning->count = count;
	warning->worst = now - since;
	warning->worst_task = tasks[0];
	warning->time = since;
	for (uint32_t i = 0; i < count && i < LINT_TASKS && r == 0; i++) {
		char name[WATCH_TEXT];

		watch_name(watch, watch_task_find(watch, tasks[i]), name);
		warning->names[i] = lints_keep(&lint->lints, name);
		warning->tasks[i] = tasks[i];
		warning->task_count = i + 1;
		r = warning->names[i] ? 0 : -ENOMEM;
	}
	warning->label = warning->names[0];
	return r;
}

/* Marks what the warnings name, and was not judged by itself. */
static void mark_tasks(struct watch_lint *lint)
{
	struct watch *watch = lint->watch;

	for (uint32_t i = 0; i < lint->lints.count; i++) {
		const struct lint_warning *warning = &lint->lints.at[i];

		for (uint32_t j = 0; j < warning->task_count; j++) {
			const struct watch_task *task = watch_task_find(watch, warning->tasks[j]);

			if (task && !(task->warnings & 1u << warning->kind))
				watch_warn(watch, (uint32_t)(task - watch_task_at(watch, 0)),
					   task->warnings | 1u << warning->kind);
		}
	}
}

/* By the worst of each, where that was found in the picture. */
static int name_warnings(struct watch_lint *lint)
{
	for (uint32_t i = 0; i < lint->lints.count; i++) {
		struct lint_warning *warning = &lint->lints.at[i];
		const struct watch_task *task = watch_task_find(lint->watch, warning->worst_task);
		char name[WATCH_TEXT];

		if (!task || (warning->label && warning->label[0]))
			continue;
		watch_name(lint->watch, task, name);
		warning->label = lints_keep(&lint->lints, name);
		if (!warning->label)
			return -ENOMEM;
	}
	return 0;
}

static int judge(struct watch_lint *lint)
{
	const struct watch_totals *totals = watch_totals(lint->watch);
	struct lints *lints = &lint->lints;
	uint64_t now = totals->now;
	int r;

	r = lints_renew(lints, LINT_RUN, now > RUNS_KEPT_NS ? now - RUNS_KEPT_NS : 0);
	if (r < 0)
		return r;
	lint->circles = 0;
	map_clear(&lint->in_circle);
	lints->now = now;
	look_at_threads(lint);
	r = lints_judge_sites(lints, now, !totals->lost);
	if (r == 0 && lints->limits.at[LINT_DEADLOCK] != LINT_OFF)
		r = watch_cycles(lint->watch, on_circle, lint);
	if (r == 0)
		r = judge_tasks(lint);
	if (r == 0)
		r = lints_order(lints);
	if (r == 0)
		r = name_warnings(lint);
	if (r == 0)
		r = lint_find_places(lint);
	return r < 0 ? r : lint_tell_all(lint, lint->tree);
}

int watch_lint_refresh(struct watch_lint *lint)
{
	int r = 0;

	/* That of a program that has ended stays, and so does what was said of it. */
	if (lint->judged == lint->watch->made)
		return 0;
	/* It did without events, all of a sudden. */
	if (lint->source != watch_totals(lint->watch)->source)
		r = watch_lint_renew(lint);
	if (r == 0 && !lint->reader)
		r = judge(lint);

	if (r < 0)
		return r;
	mark_tasks(lint);
	lint->judged = lint->watch->made;
	return 0;
}

uint32_t watch_lint_count(const struct watch_lint *lint)
{
	return lint->told_count;
}

const struct watch_warning *watch_lint_at(const struct watch_lint *lint, uint32_t index)
{
	return &lint->told[index];
}

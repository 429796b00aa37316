/* SPDX-License-Identifier: Apache-2.0 */
#include "view/lints_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "util/hash.h"
#include "view/naming.h"

static int init_waits(struct lints *lints, const struct reader *reader)
{
	lints->waits = reader_waits(reader);
	lints->end = lints->waits->time;
	lints->waiting = calloc(lints->waits->count + 1, sizeof(*lints->waiting));
	if (!lints->waiting)
		return -ENOMEM;
	for (uint32_t i = 0; i < lints->waits->count; i++) {
		const struct meta_wait *said = &lints->waits->at[i];

		lints->waiting[i].said = said;
		if ((!map_find(&lints->waiting_index, said->task) &&
		     map_put(&lints->waiting_index, said->task, i) < 0) ||
		    (!map_find(&lints->targets, said->on) &&
		     map_put(&lints->targets, said->on, false) < 0))
			return -ENOMEM;
	}
	return 0;
}

int lints_init(struct lints *lints, const struct lint_limits *limits, const struct reader *reader,
	       struct symbols *symbols)
{
	*lints = (struct lints){.limits = *limits, .symbols = symbols};
	if (map_init(&lints->index, UINT32_MAX) < 0 ||
	    map_init(&lints->site_index, UINT32_MAX) < 0 ||
	    map_init(&lints->waiting_index, UINT32_MAX) < 0 ||
	    map_init(&lints->targets, UINT32_MAX) < 0 || texts_new(&lints->texts) < 0)
		return -ENOMEM;
	return reader ? init_waits(lints, reader) : 0;
}

void lints_fini(struct lints *lints)
{
	map_fini(&lints->index);
	map_fini(&lints->site_index);
	map_fini(&lints->waiting_index);
	map_fini(&lints->targets);
	texts_free(lints->texts);
	free(lints->at);
	free(lints->sites);
	free(lints->waiting);
	*lints = (struct lints){0};
}

const char *lints_keep(struct lints *lints, const char *text)
{
	uint32_t number = texts_add(lints->texts, text ? text : "");

	return number == UINT32_MAX ? NULL : texts_get(lints->texts, number);
}

static void tell_time(struct lints *lints, uint64_t time)
{
	if (time > lints->now)
		lints->now = time;
}

/* NULL: no memory. */
static struct lints_site *site_of(struct lints *lints, const struct reader_site *site)
{
	uint32_t *known = map_find(&lints->site_index, site->id);
	struct lints_site *sites;

	if (known)
		return &lints->sites[*known];
	sites = grow(lints->sites, lints->site_count, &lints->site_capacity, 16, sizeof(*sites));
	if (!sites)
		return NULL;
	lints->sites = sites;
	if (map_put(&lints->site_index, site->id, lints->site_count) < 0)
		return NULL;
	lints->sites[lints->site_count] = (struct lints_site){.site = site};
	return &lints->sites[lints->site_count++];
}

static uint64_t key_of(enum lint_kind kind, uint32_t site, uint32_t stack)
{
	return (uint64_t)kind << 60 | hash_mix((uint64_t)site << 32 | stack) >> 4;
}

static struct lint_warning *find(const struct lints *lints, enum lint_kind kind, uint32_t site,
				 uint32_t stack)
{
	uint32_t *known = map_find(&lints->index, key_of(kind, site, stack));

	return known ? &lints->at[*known] : NULL;
}

int lints_add(struct lints *lints, enum lint_kind kind, uint32_t site, uint32_t stack,
	      struct lint_warning **ret)
{
	struct lint_warning *at = grow(lints->at, lints->count, &lints->capacity, 16, sizeof(*at));

	if (!at)
		return -ENOMEM;
	lints->at = at;
	if (map_put(&lints->index, key_of(kind, site, stack), lints->count) < 0)
		return -ENOMEM;
	lints->at[lints->count] = (struct lint_warning){.key = key_of(kind, site, stack),
							.kind = kind,
							.site = site,
							.stack = stack,
							.label = "",
							.limit = lints->limits.at[kind]};
	*ret = &lints->at[lints->count++];
	return 0;
}

/* Where each is now. */
static int index_all(struct lints *lints)
{
	int r = 0;

	map_clear(&lints->index);
	for (uint32_t i = 0; i < lints->count && r == 0; i++)
		r = map_put(&lints->index, lints->at[i].key, i);
	return r;
}

int lints_renew(struct lints *lints, enum lint_kind kind, uint64_t since)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < lints->count; i++)
		if (lints->at[i].kind == kind && lints->at[i].last >= since)
			lints->at[kept++] = lints->at[i];
	lints->count = kept;
	return index_all(lints);
}

static int by_kind(const void *a, const void *b)
{
	const struct lint_warning *one = a, *two = b;

	if (one->kind != two->kind)
		return one->kind < two->kind ? -1 : 1;
	if (one->worst != two->worst)
		return one->worst < two->worst ? 1 : -1;
	return one->site < two->site ? -1 : one->site > two->site;
}

int lints_order(struct lints *lints)
{
	if (lints->count)
		qsort(lints->at, lints->count, sizeof(*lints->at), by_kind);
	return index_all(lints);
}

void lints_name_task(struct lint_warning *warning, uint64_t task)
{
	for (uint32_t i = 0; i < warning->task_count; i++)
		if (warning->tasks[i] == task)
			return;
	if (task && warning->task_count < LINT_TASKS)
		warning->tasks[warning->task_count++] = task;
}

int lints_note(struct lints *lints, enum lint_kind kind, const struct lints_subject *subject,
	       uint64_t worst, struct lint_warning **ret)
{
	uint32_t site = subject->site ? subject->site->id : 0, stack = subject->stack;
	struct lint_warning *warning = find(lints, kind, site, stack);
	int r = 0;

	*ret = NULL;
	if (!warning && lints->count >= LINTS_MOST) {
		stack = 0;
		warning = find(lints, kind, site, stack);
	}
	if (!warning)
		r = lints_add(lints, kind, site, stack, &warning);
	if (r < 0)
		return r;
	warning->count++;
	warning->last = lints->now;
	lints_name_task(warning, subject->task);
	if (warning->count > 1 && worst <= warning->worst)
		return 0;
	warning->worst = worst;
	warning->label = lints_keep(lints, subject->label);
	warning->stack = subject->stack;
	warning->worst_task = subject->task;
	if (!warning->label)
		return -ENOMEM;
	*ret = warning;
	return 0;
}

int lints_created(struct lints *lints, const struct model_task *task)
{
	struct lints_site *site;

	tell_time(lints, task->created);
	if (!task->site || naming_role(task->site) == NAMING_LOOP)
		return 0;
	site = site_of(lints, task->site);
	if (!site)
		return -ENOMEM;
	site->newest = task->id;
	lint_growth_until(&site->growth, task->created);
	if (task->before) {
		lint_growth_before(&site->growth);
		return 0;
	}
	site->growth.live++;
	site->growth.created++;
	return 0;
}

bool lints_is_callback(const struct reader_site *site)
{
	return reader_site_is_callback(site);
}

/* A pool is there for what blocks; and where callbacks run outside of loops is one. */
static bool may_block(const struct model_run *run)
{
	const struct reader_site *site = run->task->site;

	return site && (lint_may_block(site->kind) || (lints_is_callback(site) && !run->in_loop));
}

/* How long a run kept its thread, without runs inside of it and waiting for work. */
static uint64_t own_ns(const struct lints *lints, const struct model_run *run)
{
	uint64_t length = run->end - run->start, apart = run->inner + run->idle;

	if (run->open && lints->end > run->end)
		length = lints->end - run->start;
	return length > apart ? length - apart : 0;
}

static int note_run(struct lints *lints, const struct model_run *run, enum lint_kind kind,
		    uint64_t ns)
{
	struct lints_subject subject = {
		.site = run->task->site,
		.task = run->task->id,
		.label = run->task->label,
		.stack = run->hottest ? run->hottest : run->stack,
	};
	struct lint_warning *worst;
	int r = lints_note(lints, kind, &subject, ns, &worst);

	if (!worst)
		return r;
	worst->time = run->start;
	worst->thread = run->thread;
	worst->asleep = run->asleep;
	worst->how = run->hottest ? "mostly in"
		     : run->last  ? "beginning in"
		     : run->open  ? "in"
				  : "until it waited in";
	return r;
}

int lints_run(struct lints *lints, const struct model_run *run)
{
	const struct model_task *task = run->task;
	struct lints_site *site = task->site ? site_of(lints, task->site) : NULL;
	uint64_t ns = own_ns(lints, run);
	enum lint_kind kind;

	tell_time(lints, run->end);
	if (task->site && !site)
		return -ENOMEM;
	if (site)
		site->busy += ns;
	kind = lint_judge_run(&lints->limits, ns, !run->open);
	if (kind == LINT_KINDS || may_block(run))
		return 0;
	lints->kept |= run->open;
	return note_run(lints, run, kind, ns);
}

/* A fan-out is no fault: what is new is not counted, but for calls, which are always new. */
static bool counts_as_queued(const struct model_wait *wait)
{
	const struct reader_site *site = wait->task->site;

	return site && wait->woken && !wait->end_unknown && !wait->begin_unknown &&
	       (!wait->first || lints_is_callback(site)) && !lint_may_block(site->kind);
}

static int note_queued(struct lints *lints, const struct model_wait *wait)
{
	struct lints_site *site = site_of(lints, wait->task->site);
	uint64_t ns = wait->end - wait->woken;

	if (!site)
		return -ENOMEM;
	site->queueing.waits++;
	if (ns < lints->limits.at[LINT_QUEUE])
		return 0;
	site->queueing.late++;
	if (wait->woken >= site->late_until) {
		site->queueing.episodes++;
		site->late_until = wait->end;
	}
	if (ns <= site->queueing.worst)
		return 0;
	site->queueing.worst = ns;
	site->late_task = wait->task->id;
	site->late_time = wait->woken;
	site->late_stack = wait->stack;
	return 0;
}

/* A wait that nobody said more of: only its length can be judged. */
static int judge_plain_wait(struct lints *lints, const struct model_wait *wait)
{
	uint64_t end = lints->end > wait->end ? lints->end : wait->end;
	struct lint_waiting waiting = {.ns = end - wait->start};
	const struct reader_site *site = wait->task->site;
	struct lints_subject subject = {.site = site,
					.task = wait->task->id,
					.label = wait->task->label,
					.stack = wait->stack};
	struct lint_warning *worst = NULL;
	int r;

	if (site && site->kind && strcmp(site->kind, "timer") == 0)
		waiting.waits = UNWEAVE_WAIT_TIMER;
	if (lint_judge_wait(&lints->limits, &waiting) == LINT_KINDS)
		return 0;
	r = lints_note(lints, LINT_WAIT, &subject, waiting.ns, &worst);
	if (worst)
		worst->time = wait->start;
	return r;
}

static int note_waiting(struct lints *lints, const struct model_wait *wait)
{
	uint32_t *known = map_find(&lints->waiting_index, wait->task->id);
	struct lints_wait *waiting = known ? &lints->waiting[*known] : NULL;

	if (!waiting)
		return judge_plain_wait(lints, wait);
	*waiting = (struct lints_wait){
		.said = waiting->said,
		.waits = true,
		.seen = !wait->begin_unknown,
		.since = wait->start,
		.site = wait->task->site ? wait->task->site->id : 0,
		.stack = wait->stack,
		.label = lints_keep(lints, wait->task->label),
	};
	return waiting->label ? 0 : -ENOMEM;
}

int lints_wait(struct lints *lints, const struct model_wait *wait)
{
	tell_time(lints, wait->end);
	if (counts_as_queued(wait))
		return note_queued(lints, wait);
	return wait->end_unknown && !wait->woken ? note_waiting(lints, wait) : 0;
}

void lints_idle(struct lints *lints, uint64_t start, uint64_t end)
{
	if (start > lints->idle_start)
		lints->idle_start = start;
	if (end > lints->idle_end)
		lints->idle_end = end;
}

bool lints_idled_since(const struct lints *lints, uint64_t due)
{
	return lints->idle_start > due ||
	       (lints->idle_end > due &&
		lints->idle_end - due >= lints->limits.at[LINT_LOST_WAKE] / 2);
}

static int judge_wakes(struct lints *lints, const struct model_task *task)
{
	struct lint_waking waking = {
		.wakes = task->wakes,
		.self_wakes = task->self_wakes,
		.runs = task->runs,
		.empty_runs = task->empty_runs,
		.busy = task->busy,
	};
	struct lints_subject subject = {
		.site = task->site, .task = task->id, .label = task->label, .stack = task->stack};
	enum lint_kind kind = lint_judge_wakes(&lints->limits, &waking);
	struct lint_warning *worst = NULL;
	int r;

	if (kind == LINT_KINDS)
		return 0;
	r = lints_note(lints, kind, &subject,
		       kind == LINT_EMPTY ? task->empty_runs : lint_self_percent(&waking), &worst);
	if (worst) {
		worst->of = kind == LINT_EMPTY ? task->runs : task->wakes;
		worst->time = task->created;
	}
	return r;
}

int lints_task(struct lints *lints, const struct model_task *task)
{
	struct lints_site *site = task->site ? site_of(lints, task->site) : NULL;
	uint32_t *target = map_find(&lints->targets, task->id);

	if (task->site && !site)
		return -ENOMEM;
	tell_time(lints, task->ended);
	if (target && task->end != MODEL_INCOMPLETE)
		*target = true;
	if (site && site->growth.live && task->end != MODEL_INCOMPLETE) {
		lint_growth_until(&site->growth, task->ended);
		site->growth.live--;
	}
	return judge_wakes(lints, task);
}

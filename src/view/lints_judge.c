/* SPDX-License-Identifier: Apache-2.0 */
/* The warnings that only all that was told can say: of sites, and of what still goes on. */
#include <errno.h>
#include <string.h>

#include "view/lints_parts.h"
#include "view/naming.h"
#include "view/where.h"

#define QUEUES_MOST 3u /* sites whose tasks came late that are told of */

/* The site whose tasks ran longest, but for `but`; NULL: there is none. */
static const struct lints_site *busiest(const struct lints *lints, const struct lints_site *but)
{
	const struct lints_site *most = NULL;

	for (uint32_t i = 0; i < lints->site_count; i++)
		if (&lints->sites[i] != but && lints->sites[i].busy &&
		    (!most || lints->sites[i].busy > most->busy))
			most = &lints->sites[i];
	return most;
}

/* What the tasks of a site are called; NULL: no memory. */
static const char *label_of(struct lints *lints, const struct reader_site *site)
{
	char label[256] = "";

	if (lints->symbols)
		naming_label(lints->symbols, site, label, sizeof(label));
	return lints_keep(lints, label[0] ? label : site->name);
}

static int warn_of_queue(struct lints *lints, const struct lints_site *site)
{
	const struct lints_site *other = busiest(lints, site);
	struct lints_subject subject = {.site = site->site,
					.task = site->late_task,
					.label = label_of(lints, site->site),
					.stack = site->late_stack};
	struct lint_warning *worst = NULL;
	int r = subject.label ? 0 : -ENOMEM;

	if (r == 0)
		r = lints_note(lints, LINT_QUEUE, &subject, site->queueing.worst, &worst);
	if (!worst)
		return r;
	worst->count = site->queueing.late;
	worst->of = site->queueing.waits;
	worst->time = site->late_time;
	/* Its own tasks may be what keeps the threads. */
	if (!other || site->busy > other->busy)
		other = site->busy ? site : NULL;
	worst->other = other ? label_of(lints, other->site) : NULL;
	return r;
}

static int warn_of_leak(struct lints *lints, const struct lints_site *site)
{
	struct lints_subject subject = {
		.site = site->site, .task = site->newest, .label = label_of(lints, site->site)};
	struct lint_warning *worst = NULL;
	int r = subject.label ? 0 : -ENOMEM;

	if (r == 0)
		r = lints_note(lints, LINT_LEAK, &subject, site->growth.live, &worst);
	if (!worst)
		return r;
	worst->of = site->growth.created;
	worst->time = site->growth.start;
	return r;
}

int lints_judge_sites(struct lints *lints, uint64_t now, bool certain)
{
	int r = 0;

	for (uint32_t i = 0; i < lints->site_count && r == 0; i++) {
		struct lints_site *site = &lints->sites[i];

		if (lint_judge_queue(&lints->limits, &site->queueing) != LINT_KINDS)
			r = warn_of_queue(lints, site);
		/* What ended in a loss still seems to live. */
		if (r < 0 || !certain || !site->growth.start)
			continue;
		lint_growth_until(&site->growth, now);
		if (lint_judge_growth(&lints->limits, &site->growth) != LINT_KINDS)
			r = warn_of_leak(lints, site);
	}
	return r;
}

/* In a circle at most the task itself could come later; what waits for a circle is in none. */
static struct lints_wait *next_of(const struct lints *lints, const struct lints_wait *waiting)
{
	uint32_t *next = waiting->said->kind == UNWEAVE_WAIT_TASK
				 ? map_find(&lints->waiting_index, waiting->said->on)
				 : NULL;

	return next && lints->waiting[*next].waits ? &lints->waiting[*next] : NULL;
}

/* One of the circle that `from` leads to, unless an earlier walk came by; NULL: none. */
static struct lints_wait *walk(struct lints *lints, uint32_t from)
{
	struct lints_wait *at = &lints->waiting[from];

	while (at && at->waits && !at->walk) {
		at->walk = from + 1;
		at = next_of(lints, at);
	}
	return at && at->walk == from + 1 ? at : NULL;
}

/* How many are in a circle, since when all of them wait, and who is listed first. */
static uint64_t measure(const struct lints *lints, struct lints_wait **first, uint64_t *ret_since)
{
	struct lints_wait *start = *first, *at = start;
	uint64_t count = 0;

	*ret_since = 0;
	do {
		if (at < *first)
			*first = at;
		if (at->since > *ret_since)
			*ret_since = at->since;
		at = next_of(lints, at);
		count++;
	} while (at != start);
	return count;
}

/* Each circle is a warning of its own; of very many, the first ones. */
static int warn_of_circle(struct lints *lints, struct lints_wait *first, uint64_t count,
			  uint64_t ns)
{
	struct lints_wait *at = first;
	struct lint_warning *warning = NULL;
	int r = lints->count < LINTS_MOST
			? lints_add(lints, LINT_DEADLOCK, first->site,
				    (uint32_t)(first - lints->waiting) + 1, &warning)
			: 0;

	for (uint64_t i = 0; i < count; i++, at = next_of(lints, at)) {
		at->in_circle = true;
		if (!warning || i >= LINT_TASKS)
			continue;
		warning->names[i] = at->label;
		warning->tasks[i] = at->said->task;
		warning->task_count++;
	}
	if (!warning)
		return r;
	warning->count = count;
	warning->worst = ns;
	warning->worst_task = first->said->task;
	warning->label = first->label;
	warning->stack = first->stack;
	warning->time = first->since;
	return r;
}

static int judge_circles(struct lints *lints, uint64_t end)
{
	uint64_t limit = lints->limits.at[LINT_DEADLOCK];
	int r = 0;

	for (uint32_t i = 0; i < lints->waits->count && limit != LINT_OFF && r == 0; i++) {
		struct lints_wait *first = walk(lints, i);
		uint64_t since, count = first ? measure(lints, &first, &since) : 0;

		if (count && end - since >= limit)
			r = warn_of_circle(lints, first, count, end - since);
	}
	return r;
}

static int judge_waiting(struct lints *lints, const struct lints_wait *waiting, uint64_t end)
{
	const struct meta_wait *said = waiting->said;
	const uint32_t *gone = map_find(&lints->targets, said->on);
	uint64_t monotonic = lints->waits->monotonic;
	uint64_t overdue = waiting->seen && said->kind == UNWEAVE_WAIT_TIMER && monotonic > said->on
				   ? monotonic - said->on
				   : 0;
	struct lint_waiting judged = {
		.ns = end - waiting->since,
		.waits = (enum unweave_wait)said->kind,
		.gone = waiting->seen && said->kind == UNWEAVE_WAIT_TASK && gone && *gone,
		.overdue = overdue,
		.kept = lints->kept,
		.idled = overdue < end && lints_idled_since(lints, end - overdue),
	};
	enum lint_kind kind = lint_judge_wait(&lints->limits, &judged);
	struct reader_site site = {.id = waiting->site};
	struct lints_subject subject = {.site = &site,
					.task = said->task,
					.label = waiting->label,
					.stack = waiting->stack};
	struct lint_warning *worst = NULL;
	int r;

	if (kind == LINT_KINDS)
		return 0;
	r = lints_note(lints, kind, &subject, judged.overdue ? judged.overdue : judged.ns, &worst);
	if (!worst)
		return r;
	worst->time = waiting->since;
	worst->other = judged.gone ? "" : NULL;
	return r;
}

int lints_finish(struct lints *lints, bool certain)
{
	uint64_t end = lints->end > lints->now ? lints->end : lints->now;
	int r = lints_judge_sites(lints, end, certain);

	/* Who waited for work until the last event did so until the end. */
	if (lints->idle_end && lints->idle_end == lints->now)
		lints->idle_end = end;
	if (r == 0 && lints->waits && certain)
		r = judge_circles(lints, end);
	for (uint32_t i = 0; lints->waits && certain && i < lints->waits->count && r == 0; i++)
		if (lints->waiting[i].waits && !lints->waiting[i].in_circle)
			r = judge_waiting(lints, &lints->waiting[i], end);
	return r < 0 ? r : lints_order(lints);
}

static int locate(struct lints *lints, struct lint_warning *warning, const struct tree *tree)
{
	struct where where = where_find(lints->symbols, tree, warning->stack);
	char name[256] = "";

	warning->function = where.function;
	warning->file = where.caller ? where.caller->file : where.file;
	warning->line = where.caller ? where.caller->line : where.line;
	warning->caller = where.caller ? where.caller->function : NULL;
	if (where.function)
		return 0;
	naming_function(lints->symbols, tree_at(tree, warning->stack)->address, name, sizeof(name));
	warning->function = lints_keep(lints, name);
	return warning->function ? 0 : -ENOMEM;
}

static int locate_origin(struct lints *lints, struct lint_warning *warning)
{
	uint32_t *site = map_find(&lints->site_index, warning->site);
	struct symbol_frame origin;

	if (!site)
		return 0;
	origin = naming_origin(lints->symbols, lints->sites[*site].site);
	if (!origin.function || !origin.function[0])
		return 0;
	warning->function = lints_keep(lints, origin.function);
	warning->file = origin.file && origin.file[0] ? lints_keep(lints, origin.file) : NULL;
	warning->line = origin.line;
	warning->how = "created in";
	return warning->function ? 0 : -ENOMEM;
}

int lints_locate(struct lints *lints, const struct tree *tree)
{
	int r = 0;

	for (uint32_t i = 0; i < lints->count && r == 0; i++)
		r = lints->at[i].kind == LINT_LEAK || !lints->at[i].stack
			    ? locate_origin(lints, &lints->at[i])
			    : locate(lints, &lints->at[i], tree);
	return r;
}

static bool is_same(const char *one, const char *two)
{
	return one == two || (one && two && strcmp(one, two) == 0);
}

/* Whether the second can be told with the first. */
static bool are_alike(const struct lint_warning *one, const struct lint_warning *two)
{
	return one->kind == two->kind && one->site == two->site && one->kind != LINT_DEADLOCK &&
	       is_same(one->function, two->function) && is_same(one->caller, two->caller);
}

void lints_join(struct lints *lints)
{
	uint32_t kept = 0, queues = 0;

	for (uint32_t i = 0; i < lints->count; i++) {
		struct lint_warning *warning = &lints->at[i];
		uint32_t to = 0;

		while (to < kept && !are_alike(&lints->at[to], warning))
			to++;
		/* All of these have the same cause. */
		if (warning->kind == LINT_QUEUE && queues++ >= QUEUES_MOST)
			continue;
		if (to == kept) {
			lints->at[kept++] = *warning;
			continue;
		}
		/* Those before it are worse. */
		lints->at[to].count += warning->count;
		for (uint32_t task = 0; task < warning->task_count; task++)
			lints_name_task(&lints->at[to], warning->tasks[task]);
	}
	lints->count = kept;
}

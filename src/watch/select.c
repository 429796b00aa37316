/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a screen out of all tasks. A million tasks are gone through once, for
 * the keys that put them in order; of those only the part that is shown is sorted,
 * and only what is shown gets its texts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "watch/query.h"

static int add_pick(struct watch *watch, uint64_t key, uint32_t index)
{
	struct pick *picks =
		grow(watch->picks, watch->pick_count, &watch->pick_capacity, 4096, sizeof(*picks));

	if (!picks)
		return -ENOMEM;
	watch->picks = picks;
	picks[watch->pick_count++] = (struct pick){key, index};
	return 0;
}

/* Those of a group have been put together before. */
static int pick_groups(const struct choice *choice)
{
	struct watch *watch = choice->watch;
	int r = groups_make(choice);

	for (uint32_t i = 0; i < watch->group_count && r == 0; i++)
		r = add_pick(watch,
			     order_key(choice, &watch->groups[i].sum, watch->groups[i].tasks), i);
	return r;
}

static int pick_tasks(const struct choice *choice)
{
	struct watch *watch = choice->watch;
	int r = 0;

	for (uint32_t i = 0; i < watch->task_count && r == 0; i++)
		if (filter_wants(choice, &watch->tasks[i]))
			r = add_pick(watch, order_key(choice, &watch->tasks[i], 1), i);
	return r;
}

/* Whether the picks that are there are those of this query. */
static bool is_picked(const struct watch *watch, const struct watch_query *query)
{
	const struct watch_query *last = &watch->picked;
	const char *filter = query->filter ? query->filter : "";

	return watch->picked_for == watch->pictures && last->order == query->order &&
	       last->ascending == query->ascending && last->states == query->states &&
	       last->warnings == query->warnings && last->of_site == query->of_site &&
	       last->site == query->site && last->of_parent == query->of_parent &&
	       last->parent == query->parent && last->group == query->group &&
	       strcmp(watch->picked_filter, filter) == 0;
}

static void note_picked(struct watch *watch, const struct watch_query *query)
{
	const char *filter = query->filter ? query->filter : "";

	if (strlen(filter) >= sizeof(watch->picked_filter))
		return;
	strcpy(watch->picked_filter, filter);
	watch->picked = *query;
	watch->picked_for = watch->pictures;
}

/* Fills in `watch->picks`, in no order. -ENOMEM. */
static int pick(struct choice *choice)
{
	struct watch *watch = choice->watch;
	int r;

	if (is_picked(watch, choice->query))
		return 0;
	watch->picked_for = 0;
	watch->pick_count = 0;
	r = order_prepare(choice);
	if (r < 0)
		return r;
	filter_prepare(choice);
	r = choice->query->group ? pick_groups(choice) : pick_tasks(choice);
	if (r == 0)
		note_picked(watch, choice->query);
	return r;
}

static void fill_group(struct watch *watch, const struct watch_query *query,
		       const struct group *group, struct watch_row *ret)
{
	const struct watch_task *parent = watch_task_find(watch, group->sum.id);

	*ret = (struct watch_row){.task = group->sum,
				  .tasks = group->tasks,
				  .age = watch_age(watch, &group->sum),
				  .in_state = watch_in_state(watch, &group->sum)};
	memcpy(ret->states, group->states, sizeof(ret->states));
	if (query->group == WATCH_GROUP_SITE) {
		watch_site_name(watch, group->sum.site, ret->name);
		watch_site_place(watch, group->sum.site, ret->place);
	} else if (parent) {
		watch_name(watch, parent, ret->name);
		watch_site_place(watch, parent->site, ret->place);
	}
}

void select_row(struct watch *watch, const struct watch_task *task, struct watch_row *ret)
{
	*ret = (struct watch_row){.task = *task,
				  .tasks = 1,
				  .age = watch_age(watch, task),
				  .in_state = watch_in_state(watch, task)};
	ret->states[task->state] = 1;
	watch_name(watch, task, ret->name);
	watch_site_place(watch, task->site, ret->place);
}

int watch_select(struct watch *watch, const struct watch_query *query, uint64_t first,
		 uint32_t count, struct watch_row *rows, struct watch_found *ret)
{
	struct choice choice = {.watch = watch, .query = query};
	uint64_t end;
	int r = pick(&choice);

	if (r < 0)
		return r;
	*ret = (struct watch_found){.rows = watch->pick_count};
	for (uint32_t i = 0; i < watch->group_count && query->group; i++)
		ret->tasks += watch->groups[i].tasks;
	if (!query->group)
		ret->tasks = watch->pick_count;
	if (first >= watch->pick_count || !count)
		return 0;
	end = watch->pick_count - first < count ? watch->pick_count : first + count;
	order_part(&choice, watch->picks, watch->pick_count, first, end);
	for (uint64_t i = first; i < end; i++) {
		uint32_t index = watch->picks[i].index;

		if (query->group)
			fill_group(watch, query, &watch->groups[index], &rows[i - first]);
		else
			select_row(watch, &watch->tasks[index], &rows[i - first]);
	}
	return (int)(end - first);
}

int watch_where(struct watch *watch, const struct watch_query *query, uint64_t id, uint64_t *ret)
{
	struct choice choice = {.watch = watch, .query = query};
	const struct pick *found = NULL;
	int r = pick(&choice);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < watch->pick_count && !found; i++)
		if (order_picked(&choice, &watch->picks[i])->id == id)
			found = &watch->picks[i];
	if (!found)
		return -ENOENT;
	*ret = order_place(&choice, watch->picks, watch->pick_count, found);
	return 0;
}

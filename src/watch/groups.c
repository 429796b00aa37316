/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that are one row: those of a site, or of a parent. */
#include <errno.h>

#include "util/grow.h"
#include "watch/query.h"

static uint64_t group_id(const struct watch_query *query, const struct watch_task *task)
{
	return query->group == WATCH_GROUP_SITE ? task->site : task->parent;
}

static void add_to_group(struct group *group, const struct watch_task *task)
{
	struct watch_task *sum = &group->sum;

	group->tasks++;
	group->states[task->state]++;
	if (task->created < sum->created)
		sum->created = task->created;
	if (task->since < sum->since)
		sum->since = task->since;
	sum->warnings |= task->warnings;
	sum->before |= task->before;
	sum->early |= task->early;
	sum->uncertain |= task->uncertain;
	if (task->untold)
		return;
	sum->untold = false;
	sum->busy = watch_plus(sum->busy, task->busy);
	sum->waited = watch_plus(sum->waited, task->waited);
	sum->queued = watch_plus(sum->queued, task->queued);
	sum->runs = watch_plus(sum->runs, task->runs);
	sum->wakes = watch_plus(sum->wakes, task->wakes);
	sum->self_wakes = watch_plus(sum->self_wakes, task->self_wakes);
}

/* What they did is not known as long as nothing was heard of any. */
static void end_group(struct group *group)
{
	struct watch_task *sum = &group->sum;

	if (!sum->untold)
		return;
	sum->busy = sum->waited = sum->queued = WATCH_UNKNOWN;
	sum->runs = sum->wakes = sum->self_wakes = WATCH_UNKNOWN;
}

static struct group *add_group(struct watch *watch, const struct watch_query *query,
			       const struct watch_task *first)
{
	struct group *groups = grow(watch->groups, watch->group_count, &watch->group_capacity, 256,
				    sizeof(*groups));

	if (!groups)
		return NULL;
	watch->groups = groups;
	groups += watch->group_count++;
	*groups =
		(struct group){.sum = {.id = query->group == WATCH_GROUP_PARENT ? first->parent : 0,
				       .site = first->site,
				       .state = first->state,
				       .created = WATCH_UNKNOWN,
				       .since = WATCH_UNKNOWN,
				       .untold = true}};
	return groups;
}

static int group_tasks(const struct choice *choice, struct map *index)
{
	struct watch *watch = choice->watch;

	watch->group_count = 0;
	for (uint32_t i = 0; i < watch->task_count; i++) {
		const struct watch_task *task = &watch->tasks[i];
		uint64_t id = group_id(choice->query, task);
		struct group *group;
		uint32_t *known;

		if (!filter_wants(choice, task))
			continue;
		known = map_find(index, id);
		if (!known && map_put(index, id, watch->group_count) < 0)
			return -ENOMEM;
		group = known ? &watch->groups[*known] : add_group(watch, choice->query, task);
		if (!group)
			return -ENOMEM;
		add_to_group(group, task);
	}
	for (uint32_t i = 0; i < watch->group_count; i++)
		end_group(&watch->groups[i]);
	return 0;
}

int groups_make(const struct choice *choice)
{
	struct map index;
	int r = map_init(&index, UINT32_MAX);

	if (r < 0)
		return r;
	r = group_tasks(choice, &index);
	map_fini(&index);
	return r;
}

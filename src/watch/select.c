/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a screen out of all tasks. A million tasks are gone through once, for
 * the keys that put them in order; of those only the part that is shown is sorted,
 * and only what is shown gets its texts.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "watch/inside.h"

#define FEW 24u /* that are sorted as they are */

/* A query, and what can be found out for all rows at once. */
struct choice {
	struct watch *watch;
	const struct watch_query *query;
	const char *filter; /* NULL: none */
	uint64_t id;        /* that the filter is; 0: it is no number */
	uint32_t states;    /* that the filter is part of the name of */
};

/* The name of its own that a task has, until the next event; NULL: none. */
static const char *own_name(const struct watch *watch, const struct watch_task *task,
			    char room[TABLE_NAME_BYTES])
{
	struct table_task copy;

	if (watch->model) {
		const struct model_task *live = task->slot < model_slots(watch->model)
							? model_slot(watch->model, task->slot)
							: NULL;

		return live && live->id == task->id ? model_own_name(live) : NULL;
	}
	if (!table_find(&watch->attachment->table, task->id, &copy) || !copy.name[0])
		return NULL;
	memcpy(room, copy.name, TABLE_NAME_BYTES);
	return room;
}

static const char *name_of(struct watch *watch, const struct watch_task *task,
			   char room[TABLE_NAME_BYTES])
{
	const char *own = own_name(watch, task, room);
	struct site *site = own ? NULL : site_get(watch, task->site);

	return own ? own : site ? site_name(watch, site) : "";
}

void watch_name(struct watch *watch, const struct watch_task *task, char to[WATCH_TEXT])
{
	char room[TABLE_NAME_BYTES];

	snprintf(to, WATCH_TEXT, "%s", name_of(watch, task, room));
}

const char *watch_state_name(enum watch_state state)
{
	static const char *const names[WATCH_STATES] = {
		[WATCH_STILL] = "not running", [WATCH_RUNNING] = "running",
		[WATCH_QUEUED] = "queued",     [WATCH_WAITING] = "waiting",
		[WATCH_STANDING] = "standing",
	};

	return names[state];
}

static bool contains(const char *text, const char *part)
{
	return text && strcasestr(text, part);
}

static bool site_matches(struct watch *watch, struct site *site, const char *filter)
{
	return contains(site_name(watch, site), filter) ||
	       contains(site_place(watch, site), filter) ||
	       (site->told.site && contains(site->told.site->kind, filter));
}

static void prepare_filter(struct choice *choice)
{
	struct watch *watch = choice->watch;
	const char *filter = choice->query->filter;
	char *end;

	if (!filter || !filter[0])
		return;
	choice->filter = filter;
	choice->id = isdigit((unsigned char)filter[0]) ? strtoull(filter, &end, 10) : 0;
	if (choice->id && *end)
		choice->id = 0;
	for (uint32_t i = 0; i < WATCH_STATES; i++)
		choice->states |= (uint32_t)contains(watch_state_name(i), filter) << i;
	for (uint32_t i = 0; i < watch->sites.count; i++)
		watch->sites.at[i]->matches = site_matches(watch, watch->sites.at[i], filter);
}

static bool passes_filter(const struct choice *choice, const struct watch_task *task)
{
	const struct site *site;
	char room[TABLE_NAME_BYTES];
	const char *own;

	if (choice->states >> task->state & 1 || (choice->id && choice->id == task->id))
		return true;
	own = own_name(choice->watch, task, room);
	if (contains(own, choice->filter))
		return true;
	site = site_get(choice->watch, task->site);
	return site && site->matches;
}

static bool is_wanted(const struct choice *choice, const struct watch_task *task)
{
	const struct watch_query *query = choice->query;

	if (query->states && !(query->states >> task->state & 1))
		return false;
	if (query->warnings && !(query->warnings & task->warnings))
		return false;
	if (query->of_site && query->site != task->site)
		return false;
	if (query->of_parent && query->parent != task->parent)
		return false;
	return !choice->filter || passes_filter(choice, task);
}

static int by_place(const void *a, const void *b)
{
	const struct site *one = *(struct site *const *)a, *two = *(struct site *const *)b;
	int order = strcmp(one->place ? one->place : "", two->place ? two->place : "");

	return order ? order : one->told.id < two->told.id ? -1 : one->told.id > two->told.id;
}

/* Each site's place among the others. -ENOMEM. */
static int rank_sites(struct watch *watch)
{
	uint32_t count = watch->sites.count;
	struct site **sorted = calloc(count + 1, sizeof(struct site *));

	if (!sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		sorted[i] = watch->sites.at[i];
		site_place(watch, sorted[i]);
	}
	qsort(sorted, count, sizeof(struct site *), by_place);
	for (uint32_t i = 0; i < count; i++)
		sorted[i]->rank = i;
	free(sorted);
	return 0;
}

/* The first bytes of a text as a number that is in its order. */
static uint64_t prefix_of(const char *text)
{
	uint64_t key = 0;

	for (unsigned i = 0; i < 8; i++) {
		key = key << 8 | (uint8_t)*text;
		text += *text != '\0';
	}
	return key;
}

static uint64_t since(const struct watch *watch, uint64_t time)
{
	return time == WATCH_UNKNOWN ? WATCH_UNKNOWN : watch_passed(time, watch->totals.now);
}

/* What a task, or the sum of some, is sorted by, as it is. */
static uint64_t value_of(const struct choice *choice, const struct watch_task *task, uint64_t tasks)
{
	struct watch *watch = choice->watch;
	char room[TABLE_NAME_BYTES];

	switch (choice->query->order) {
	case WATCH_BY_WARNINGS:
		return (uint64_t)__builtin_popcount(task->warnings);
	case WATCH_BY_STATE:
		return task->state;
	case WATCH_BY_NAME:
		return prefix_of(name_of(watch, task, room));
	case WATCH_BY_SITE: {
		struct site *site = site_get(watch, task->site);

		return site ? site->rank : WATCH_UNKNOWN;
	}
	case WATCH_BY_PARENT:
		return task->parent;
	case WATCH_BY_AGE:
		return since(watch, task->created);
	case WATCH_BY_IN_STATE:
		return since(watch, task->since);
	case WATCH_BY_BUSY:
		return task->busy;
	case WATCH_BY_QUEUED:
		return task->queued;
	case WATCH_BY_WAITED:
		return task->waited;
	case WATCH_BY_RUNS:
		return task->runs;
	case WATCH_BY_WAKES:
		return task->wakes;
	case WATCH_BY_SELF_WAKES:
		return task->self_wakes;
	case WATCH_BY_TASKS:
		return choice->query->group ? tasks : task->id;
	default:
		return task->id;
	}
}

/* The same so that the least comes first, and what is unknown last. */
static uint64_t key_of(const struct choice *choice, const struct watch_task *task, uint64_t tasks)
{
	uint64_t value = value_of(choice, task, tasks);

	if (value == WATCH_UNKNOWN)
		return UINT64_MAX;
	return choice->query->ascending ? value : UINT64_MAX - 1 - value;
}

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

static uint64_t group_id(const struct watch_query *query, const struct watch_task *task)
{
	return query->group == WATCH_GROUP_SITE ? task->site : task->parent;
}

static uint64_t plus(uint64_t sum, uint64_t more)
{
	return sum == WATCH_UNKNOWN || more == WATCH_UNKNOWN ? WATCH_UNKNOWN : sum + more;
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
	sum->busy = plus(sum->busy, task->busy);
	sum->waited = plus(sum->waited, task->waited);
	sum->queued = plus(sum->queued, task->queued);
	sum->runs = plus(sum->runs, task->runs);
	sum->wakes = plus(sum->wakes, task->wakes);
	sum->self_wakes = plus(sum->self_wakes, task->self_wakes);
	sum->warnings |= task->warnings;
	sum->before |= task->before;
	sum->uncertain |= task->uncertain;
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
				       .since = WATCH_UNKNOWN}};
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

		if (!is_wanted(choice, task))
			continue;
		known = map_find(index, id);
		if (!known && map_put(index, id, watch->group_count) < 0)
			return -ENOMEM;
		group = known ? &watch->groups[*known] : add_group(watch, choice->query, task);
		if (!group)
			return -ENOMEM;
		add_to_group(group, task);
	}
	return 0;
}

static int pick_groups(const struct choice *choice)
{
	struct watch *watch = choice->watch;
	struct map index;
	int r = map_init(&index, UINT32_MAX);

	if (r < 0)
		return r;
	r = group_tasks(choice, &index);
	map_fini(&index);
	for (uint32_t i = 0; i < watch->group_count && r == 0; i++)
		r = add_pick(watch, key_of(choice, &watch->groups[i].sum, watch->groups[i].tasks),
			     i);
	return r;
}

static int pick_tasks(const struct choice *choice)
{
	struct watch *watch = choice->watch;
	int r = 0;

	for (uint32_t i = 0; i < watch->task_count && r == 0; i++)
		if (is_wanted(choice, &watch->tasks[i]))
			r = add_pick(watch, key_of(choice, &watch->tasks[i], 1), i);
	return r;
}

/* Fills in `watch->picks`, in no order. -ENOMEM. */
static int pick(struct choice *choice)
{
	int r = choice->query->order == WATCH_BY_SITE ? rank_sites(choice->watch) : 0;

	if (r < 0)
		return r;
	prepare_filter(choice);
	choice->watch->pick_count = 0;
	return choice->query->group ? pick_groups(choice) : pick_tasks(choice);
}

static const struct watch_task *picked(const struct choice *choice, const struct pick *pick)
{
	const struct watch *watch = choice->watch;

	return choice->query->group ? &watch->groups[pick->index].sum : &watch->tasks[pick->index];
}

/* Of two with the same key: names are longer than keys, and the rest is by ids. */
static bool tie_comes_first(const struct choice *choice, const struct pick *one,
			    const struct pick *two)
{
	const struct watch_task *a = picked(choice, one), *b = picked(choice, two);
	char rooms[2][TABLE_NAME_BYTES];

	if (choice->query->order == WATCH_BY_NAME) {
		int order = strcmp(name_of(choice->watch, a, rooms[0]),
				   name_of(choice->watch, b, rooms[1]));

		if (order)
			return choice->query->ascending ? order < 0 : order > 0;
	}
	return a->id != b->id ? a->id < b->id : one->index < two->index;
}

static inline bool comes_first(const struct choice *choice, const struct pick *one,
			       const struct pick *two)
{
	return one->key != two->key ? one->key < two->key : tie_comes_first(choice, one, two);
}

static void swap(struct pick *one, struct pick *two)
{
	struct pick kept = *one;

	*one = *two;
	*two = kept;
}

static void sort_few(const struct choice *choice, struct pick *picks, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		for (uint32_t at = i; at && comes_first(choice, &picks[at], &picks[at - 1]); at--)
			swap(&picks[at], &picks[at - 1]);
}

/* Puts the median of three where it divides the picks; returns where. */
static uint32_t divide(const struct choice *choice, struct pick *picks, uint32_t count)
{
	uint32_t middle = count / 2, last = count - 1, at = 0;

	if (comes_first(choice, &picks[middle], &picks[0]))
		swap(&picks[middle], &picks[0]);
	if (comes_first(choice, &picks[last], &picks[0]))
		swap(&picks[last], &picks[0]);
	if (comes_first(choice, &picks[last], &picks[middle]))
		swap(&picks[last], &picks[middle]);
	swap(&picks[middle], &picks[last]);
	for (uint32_t i = 0; i < last; i++)
		if (comes_first(choice, &picks[i], &picks[last]))
			swap(&picks[i], &picks[at++]);
	swap(&picks[at], &picks[last]);
	return at;
}

/* Has those from `first` to `end` where they belong; of the others, only on which side. */
static void sort_part(const struct choice *choice, struct pick *picks, uint32_t count,
		      uint64_t first, uint64_t end)
{
	uint32_t at;

	while (count > FEW) {
		at = divide(choice, picks, count);
		if (first < at)
			sort_part(choice, picks, at, first, end < at ? end : at);
		if (end <= at + 1)
			return;
		picks += at + 1;
		count -= at + 1;
		first = first > at ? first - at - 1 : 0;
		end -= at + 1;
	}
	sort_few(choice, picks, count);
}

static void fill_group(struct watch *watch, const struct watch_query *query,
		       const struct group *group, struct watch_row *ret)
{
	const struct watch_task *parent = watch_task_find(watch, group->sum.id);

	*ret = (struct watch_row){.task = group->sum,
				  .tasks = group->tasks,
				  .age = since(watch, group->sum.created),
				  .in_state = since(watch, group->sum.since)};
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
				  .age = since(watch, task->created),
				  .in_state = since(watch, task->since)};
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
	sort_part(&choice, watch->picks, watch->pick_count, first, end);
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
	uint64_t before = 0;
	int r = pick(&choice);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < watch->pick_count && !found; i++)
		if (picked(&choice, &watch->picks[i])->id == id)
			found = &watch->picks[i];
	if (!found)
		return -ENOENT;
	for (uint32_t i = 0; i < watch->pick_count; i++)
		before += comes_first(&choice, &watch->picks[i], found);
	*ret = before;
	return 0;
}

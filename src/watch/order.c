/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What puts rows in order. Each has one number for a key, so that a million can be compared
 * without looking at them again, and only the part that is shown is sorted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "watch/query.h"

#define FEW 24u /* that are sorted as they are */

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

int order_prepare(struct choice *choice)
{
	return choice->query->order == WATCH_BY_SITE ? rank_sites(choice->watch) : 0;
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
		return watch_since(watch, task->created);
	case WATCH_BY_IN_STATE:
		return watch_since(watch, task->since);
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

/* The same turned around if need be; what is unknown comes last. */
uint64_t order_key(const struct choice *choice, const struct watch_task *task, uint64_t tasks)
{
	uint64_t value = value_of(choice, task, tasks);

	if (value == WATCH_UNKNOWN)
		return UINT64_MAX;
	return choice->query->ascending ? value : UINT64_MAX - 1 - value;
}

/*
 * Of two with the same key. Names are longer than keys; else the order of the picture counts, in
 * which a task stays before another as long as both live.
 */
static bool tie_first(const struct choice *choice, const struct pick *one, const struct pick *two)
{
	char rooms[2][TABLE_NAME_BYTES];

	if (choice->query->order == WATCH_BY_NAME) {
		int order = strcmp(name_of(choice->watch, order_picked(choice, one), rooms[0]),
				   name_of(choice->watch, order_picked(choice, two), rooms[1]));

		if (order)
			return choice->query->ascending ? order < 0 : order > 0;
	}
	return one->index < two->index;
}

bool order_first(const struct choice *choice, const struct pick *one, const struct pick *two)
{
	return one->key != two->key ? one->key < two->key : tie_first(choice, one, two);
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
		for (uint32_t at = i; at && order_first(choice, &picks[at], &picks[at - 1]); at--)
			swap(&picks[at], &picks[at - 1]);
}

/* Puts the median of three where it divides the picks; returns where. */
static uint32_t divide(const struct choice *choice, struct pick *picks, uint32_t count)
{
	uint32_t middle = count / 2, last = count - 1, at = 0;

	if (order_first(choice, &picks[middle], &picks[0]))
		swap(&picks[middle], &picks[0]);
	if (order_first(choice, &picks[last], &picks[0]))
		swap(&picks[last], &picks[0]);
	if (order_first(choice, &picks[last], &picks[middle]))
		swap(&picks[last], &picks[middle]);
	swap(&picks[middle], &picks[last]);
	for (uint32_t i = 0; i < last; i++)
		if (order_first(choice, &picks[i], &picks[last]))
			swap(&picks[i], &picks[at++]);
	swap(&picks[at], &picks[last]);
	return at;
}

void order_part(const struct choice *choice, struct pick *picks, uint32_t count, uint64_t first,
		uint64_t end)
{
	uint32_t at;

	while (count > FEW) {
		at = divide(choice, picks, count);
		if (first < at)
			order_part(choice, picks, at, first, end < at ? end : at);
		if (end <= at + 1)
			return;
		picks += at + 1;
		count -= at + 1;
		first = first > at ? first - at - 1 : 0;
		end -= at + 1;
	}
	sort_few(choice, picks, count);
}

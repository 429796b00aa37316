/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What puts rows in order. Each has one number for a key, so that a million can be compared
 * without looking at them again, and only the part that is shown is sorted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "watch/query.h"

#define KEY_BYTES 8u /* of a name */

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

/* The next bytes of a text as a number that is in its order. */
static uint64_t part_of(const char *text)
{
	uint64_t key = 0;

	for (unsigned i = 0; i < KEY_BYTES; i++) {
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
		return part_of(name_of(watch, task, room));
	case WATCH_BY_SITE: {
		struct site *site = site_get(watch, task->site);

		return site ? site->rank : WATCH_UNKNOWN;
	}
	case WATCH_BY_PARENT:
		return task->parent;
	case WATCH_BY_AGE:
		return watch_age(watch, task);
	case WATCH_BY_IN_STATE:
		return watch_in_state(watch, task);
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

/* Turned around if need be; what is unknown comes last. */
static uint64_t turned(const struct choice *choice, uint64_t value)
{
	if (value == WATCH_UNKNOWN)
		return UINT64_MAX;
	return choice->query->ascending ? value : UINT64_MAX - 1 - value;
}

uint64_t order_key(const struct choice *choice, const struct watch_task *task, uint64_t tasks)
{
	return turned(choice, value_of(choice, task, tasks));
}

/* The parts of a row of picks by their keys: those below one, the same, and those above. */
struct parts {
	uint32_t same, above; /* where they begin */
};

static void swap(struct pick *one, struct pick *two)
{
	struct pick kept = *one;

	*one = *two;
	*two = kept;
}

/* A key from the middle, mostly: the median of three. */
static uint64_t middle_key(const struct pick *picks, uint32_t count)
{
	uint64_t a = picks[count / 4].key, b = picks[count / 2].key,
		 c = picks[count - 1 - count / 4].key;

	if (a > b) {
		uint64_t kept = a;

		a = b;
		b = kept;
	}
	return c <= a ? a : c < b ? c : b;
}

static struct parts divide(struct pick *picks, uint32_t count)
{
	uint64_t key = middle_key(picks, count);
	struct parts parts = {0, count};
	uint32_t at = 0;

	while (at < parts.above) {
		if (picks[at].key < key)
			swap(&picks[at++], &picks[parts.same++]);
		else if (picks[at].key > key)
			swap(&picks[at], &picks[--parts.above]);
		else
			at++;
	}
	return parts;
}

static void sort_by(const struct choice *choice, struct pick *picks, uint32_t count, uint64_t first,
		    uint64_t end, uint32_t bytes);

/* Of what comes after these bytes of a name, which may be another by now. */
static uint64_t name_key(const struct choice *choice, const struct pick *pick, uint32_t bytes)
{
	char room[TABLE_NAME_BYTES];
	const char *name = name_of(choice->watch, order_picked(choice, pick), room);

	return turned(choice, strnlen(name, bytes) < bytes ? 0 : part_of(name + bytes));
}

/*
 * Those with the same key. Names are longer than keys: their next bytes decide. Else the order of
 * the picture counts, in which a task stays before another as long as both live.
 */
static void sort_same(const struct choice *choice, struct pick *picks, uint32_t count,
		      uint64_t first, uint64_t end, uint32_t bytes)
{
	uint64_t key = picks[0].key, value = choice->query->ascending ? key : UINT64_MAX - 1 - key;
	bool more = bytes && value & 0xff; /* no name has ended here */

	if (count < 2)
		return;
	for (uint32_t i = 0; i < count; i++)
		picks[i].key = more ? name_key(choice, &picks[i], bytes) : picks[i].index;
	sort_by(choice, picks, count, first, end, more ? bytes + KEY_BYTES : 0);
	for (uint32_t i = 0; i < count; i++)
		picks[i].key = key;
}

/* `bytes` of a name are in the keys so far; 0: they are no names. */
static void sort_by(const struct choice *choice, struct pick *picks, uint32_t count, uint64_t first,
		    uint64_t end, uint32_t bytes)
{
	while (count > 1 && first < end) {
		struct parts parts = divide(picks, count);
		uint64_t same = first > parts.same ? first - parts.same : 0;

		if (first < parts.same)
			sort_by(choice, picks, parts.same, first,
				end < parts.same ? end : parts.same, bytes);
		if (end > parts.same && first < parts.above)
			sort_same(choice, picks + parts.same, parts.above - parts.same, same,
				  (end < parts.above ? end : parts.above) - parts.same, bytes);
		if (end <= parts.above)
			return;
		picks += parts.above;
		count -= parts.above;
		first = first > parts.above ? first - parts.above : 0;
		end -= parts.above;
	}
}

void order_part(const struct choice *choice, struct pick *picks, uint32_t count, uint64_t first,
		uint64_t end)
{
	sort_by(choice, picks, count, first, end,
		choice->query->order == WATCH_BY_NAME ? KEY_BYTES : 0);
}

/* The same for one against another with the same key. */
static bool tie_first(const struct choice *choice, const struct pick *one, const struct pick *two,
		      const char *name_of_two)
{
	char room[TABLE_NAME_BYTES];

	if (choice->query->order == WATCH_BY_NAME) {
		int order = strcmp(name_of(choice->watch, order_picked(choice, one), room),
				   name_of_two);

		if (order)
			return choice->query->ascending ? order < 0 : order > 0;
	}
	return one->index < two->index;
}

uint64_t order_place(const struct choice *choice, const struct pick *picks, uint32_t count,
		     const struct pick *of)
{
	char room[TABLE_NAME_BYTES];
	const char *name = name_of(choice->watch, order_picked(choice, of), room);
	uint64_t before = 0;

	for (uint32_t i = 0; i < count; i++)
		before += picks[i].key < of->key ||
			  (picks[i].key == of->key && tie_first(choice, &picks[i], of, name));
	return before;
}

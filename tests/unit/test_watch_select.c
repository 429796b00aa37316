/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that a query finds, against all tasks put in order by qsort(). */
#include <errno.h>

#include "watch_trace.h"

#define TASKS 3000u
#define SITES 7u
#define PARENTS 5u

/* Tasks of all kinds that live at the end, with some figures the same and others not. */
static void make_many(void)
{
	static const char *const names[] = {"accept", "read",  "write", "",
					    "Flush",  "timer", "sync"};
	uint64_t time = 100 * MS;
	struct encoder *one;
	char text[16];

	seed = 20261115;
	begin_trace();
	for (uint32_t i = 3; i < SITES; i++)
		maker_site(&maker, i, names[i % 7], "function", i % 2 ? "a.c" : "b.c", i);
	one = maker_stream(&maker, 1, false, 0);
	put(one, UNWEAVE_EVENT_RESET, time, 0);
	for (uint64_t i = 1; i <= TASKS; i++) {
		uint64_t id = i << 1, parent = any(PARENTS) << 1;

		put_full(one, CREATE, time += any(3) * MS, id, parent, any(SITES), 0);
		if (any(3) == 0) {
			snprintf(text, sizeof(text), "own name %u", (unsigned)any(50));
			maker_put(one, (struct unweave_event){.kind = UNWEAVE_EVENT_NAME,
							      .time = time,
							      .task = id,
							      .text = text});
		}
	}
	for (uint32_t i = 0; i < 2 * TASKS; i++) {
		uint64_t id = (1 + any(TASKS)) << 1;

		put(one, RESUME, time += any(2) * MS, id);
		if (any(4) == 0)
			put_full(one, WAKE, time, id, id, UNWEAVE_SOURCE_TASK, 0);
		put(one, SUSPEND, time += any(3) * MS, id);
		if (any(2))
			put_full(one, WAKE, time, id, any(2) ? id : 0, UNWEAVE_SOURCE_IO, 0);
	}
	open_watch();
	for (uint32_t i = 0; i < watch_task_count(watch); i++)
		watch_warn(watch, i, (uint32_t)any(8));
}

static const struct watch_query *asked;

static uint64_t since(uint64_t time)
{
	return watch_totals(watch)->now - time;
}

static int compare_numbers(uint64_t one, uint64_t two)
{
	return one < two ? -1 : one > two;
}

/* By the column alone, the least first. */
static int compare_by(const struct watch_task *a, const struct watch_task *b)
{
	char one[WATCH_TEXT], two[WATCH_TEXT];

	switch (asked->order) {
	case WATCH_BY_WARNINGS:
		return compare_numbers((uint64_t)__builtin_popcount(a->warnings),
				       (uint64_t)__builtin_popcount(b->warnings));
	case WATCH_BY_STATE:
		return compare_numbers(a->state, b->state);
	case WATCH_BY_NAME:
		watch_name(watch, a, one);
		watch_name(watch, b, two);
		return strcmp(one, two);
	case WATCH_BY_SITE:
		watch_site_place(watch, a->site, one);
		watch_site_place(watch, b->site, two);
		return strcmp(one, two);
	case WATCH_BY_PARENT:
		return compare_numbers(a->parent, b->parent);
	case WATCH_BY_AGE:
		return compare_numbers(since(a->created), since(b->created));
	case WATCH_BY_IN_STATE:
		return compare_numbers(since(a->since), since(b->since));
	case WATCH_BY_BUSY:
		return compare_numbers(a->busy, b->busy);
	case WATCH_BY_QUEUED:
		return compare_numbers(a->queued, b->queued);
	case WATCH_BY_WAITED:
		return compare_numbers(a->waited, b->waited);
	case WATCH_BY_RUNS:
		return compare_numbers(a->runs, b->runs);
	case WATCH_BY_WAKES:
		return compare_numbers(a->wakes, b->wakes);
	case WATCH_BY_SELF_WAKES:
		return compare_numbers(a->self_wakes, b->self_wakes);
	default:
		return compare_numbers(a->id, b->id);
	}
}

static int compare_tasks(const void *a, const void *b)
{
	const struct watch_task *one = *(struct watch_task *const *)a;
	const struct watch_task *two = *(struct watch_task *const *)b;
	int order = asked->ascending ? compare_by(one, two) : compare_by(two, one);

	return order ? order : one < two ? -1 : one > two;
}

static const struct watch_task *sorted[TASKS];

static void compare_window(uint64_t first, uint32_t count)
{
	static struct watch_row rows[TASKS];
	struct watch_found found;
	uint64_t left = first < TASKS ? TASKS - first : 0, at = 0;
	int got = watch_select(watch, asked, first, count, rows, &found);

	CHECK_EQ(found.rows, TASKS);
	CHECK_EQ(found.tasks, TASKS);
	CHECK_EQ(got, left < count ? left : count);
	for (int i = 0; i < got; i++)
		CHECK_EQ(rows[i].task.id, sorted[first + (uint64_t)i]->id);
	if (got > 0) {
		CHECK_EQ(watch_where(watch, asked, rows[got - 1].task.id, &at), 0);
		CHECK_EQ(at, first + (uint64_t)got - 1);
	}
}

static void any_part_is_as_if_all_had_been_sorted(void)
{
	make_many();
	CHECK_EQ(watch_task_count(watch), TASKS);
	for (unsigned order = 0; order < 2 * WATCH_COLUMNS; order++) {
		struct watch_query query = {.order = order / 2, .ascending = order % 2};

		asked = &query;
		for (uint32_t i = 0; i < TASKS; i++)
			sorted[i] = watch_task_at(watch, i);
		/* Ranks of places with the same text are by the site: not compared. */
		if (query.order == WATCH_BY_SITE)
			continue;
		qsort(sorted, TASKS, sizeof(sorted[0]), compare_tasks);
		compare_window(0, 50);
		compare_window(any(TASKS), 20);
		compare_window(any(TASKS), 200);
		compare_window(TASKS - 3, 50);
		compare_window(TASKS, 5);
		compare_window(0, TASKS);
	}
	close_watch();
}

static void tasks_of_a_place_are_side_by_side(void)
{
	static struct watch_row rows[TASKS];
	struct watch_query query = {.order = WATCH_BY_SITE, .ascending = true};
	struct watch_found found;

	make_many();
	CHECK_EQ(watch_select(watch, &query, 0, TASKS, rows, &found), TASKS);
	for (uint32_t i = 1; i < TASKS; i++)
		CHECK(strcmp(rows[i - 1].place, rows[i].place) <= 0);
	close_watch();
}

static bool contains(const char *text, const char *part)
{
	return strcasestr(text, part) != NULL;
}

static bool matches(const struct watch_row *row, const char *filter)
{
	char id[32];

	snprintf(id, sizeof(id), "%" PRIu64, row->task.id);
	return contains(row->name, filter) || contains(row->place, filter) ||
	       contains(watch_state_name(row->task.state), filter) || strcmp(id, filter) == 0;
}

static void a_filter_finds_those_and_only_those(void)
{
	static const char *const filters[] = {"accept", "B.C:", "name 7", "wait", "flush",
					      "18",     "zzz",  "handle", ""};
	static struct watch_row all[TASKS], rows[TASKS];
	struct watch_found found;

	make_many();
	CHECK_EQ(watch_select(watch, &(struct watch_query){.order = WATCH_BY_ID}, 0, TASKS, all,
			      &found),
		 TASKS);
	for (unsigned i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		struct watch_query query = {.order = WATCH_BY_ID, .filter = filters[i]};
		int got = watch_select(watch, &query, 0, TASKS, rows, &found), at = 0;
		char own[WATCH_TEXT];

		CHECK_EQ(found.rows, got);
		for (uint32_t n = 0; n < TASKS; n++) {
			/* A task with a name of its own is found by its site's, too. */
			watch_site_name(watch, all[n].task.site, own);
			if (!matches(&all[n], filters[i]) && !contains(own, filters[i]))
				continue;
			CHECK(at < got && rows[at].task.id == all[n].task.id);
			at++;
		}
		CHECK_EQ(at, got);
	}
	close_watch();
}

static void only_those_of_a_state_a_site_a_parent_or_a_warning(void)
{
	struct watch_query queries[] = {
		{.states = 1u << WATCH_QUEUED},
		{.of_site = true, .site = 3},
		{.of_parent = true, .parent = 4},
		{.warnings = 2},
		{.states = 1u << WATCH_WAITING, .of_site = true, .site = 1, .warnings = 5},
	};
	static struct watch_row rows[TASKS];
	struct watch_found found;

	make_many();
	for (unsigned i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		const struct watch_query *query = &queries[i];
		uint64_t expect = 0;

		for (uint32_t n = 0; n < TASKS; n++) {
			const struct watch_task *task = watch_task_at(watch, n);

			expect += (!query->states || query->states >> task->state & 1) &&
				  (!query->warnings || query->warnings & task->warnings) &&
				  (!query->of_site || task->site == query->site) &&
				  (!query->of_parent || task->parent == query->parent);
		}
		CHECK(expect > 0 && expect < TASKS);
		CHECK_EQ(watch_select(watch, query, 0, TASKS, rows, &found), expect);
	}
	close_watch();
}

static void a_group_has_the_sums_of_its_tasks(void)
{
	static struct watch_row rows[TASKS];
	struct watch_found found;

	make_many();
	for (int group = WATCH_GROUP_SITE; group <= WATCH_GROUP_PARENT; group++) {
		struct watch_query query = {.order = WATCH_BY_BUSY, .group = group};
		int got = watch_select(watch, &query, 0, TASKS, rows, &found);

		CHECK_EQ(got, group == WATCH_GROUP_SITE ? SITES : PARENTS);
		CHECK_EQ(found.tasks, TASKS);
		for (int i = 0; i < got; i++) {
			uint64_t tasks = 0, busy = 0, runs = 0, waiting = 0, oldest = UINT64_MAX;

			for (uint32_t n = 0; n < TASKS; n++) {
				const struct watch_task *task = watch_task_at(watch, n);

				if (group == WATCH_GROUP_SITE ? task->site != rows[i].task.site
							      : task->parent != rows[i].task.id)
					continue;
				tasks++;
				busy += task->busy;
				runs += task->runs;
				waiting += task->state == WATCH_WAITING;
				oldest = task->created < oldest ? task->created : oldest;
			}
			CHECK_EQ(rows[i].tasks, tasks);
			CHECK_EQ(rows[i].task.busy, busy);
			CHECK_EQ(rows[i].task.runs, runs);
			CHECK_EQ(rows[i].states[WATCH_WAITING], waiting);
			CHECK_EQ(rows[i].age, since(oldest));
			CHECK(!i || rows[i].task.busy <= rows[i - 1].task.busy);
		}
	}
	close_watch();
}

static void a_task_that_is_not_there_is_nowhere(void)
{
	struct watch_query query = {.order = WATCH_BY_BUSY};
	uint64_t at = 77;

	make_many();
	CHECK_EQ(watch_where(watch, &query, (TASKS + 1) << 1, &at), -ENOENT);
	query.filter = "zzz";
	CHECK_EQ(watch_where(watch, &query, 2, &at), -ENOENT);
	CHECK_EQ(at, 77);
	close_watch();
}

int main(void)
{
	RUN(any_part_is_as_if_all_had_been_sorted);
	RUN(tasks_of_a_place_are_side_by_side);
	RUN(a_filter_finds_those_and_only_those);
	RUN(only_those_of_a_state_a_site_a_parent_or_a_warning);
	RUN(a_group_has_the_sums_of_its_tasks);
	RUN(a_task_that_is_not_there_is_nowhere);
	return check_done();
}

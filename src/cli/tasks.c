/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tasks.h"

#include <stdlib.h>

#include "util/grow.h"

#define PAGE_TASKS 512u
#define PAGES_MAX (1u << 19) /* some 150 MB */

struct tasks_page {
	uint64_t bits[TASKS_MARKS][PAGE_TASKS / 64];
};

int tasks_init(struct tasks *tasks)
{
	*tasks = (struct tasks){0};
	return map_init(&tasks->index, PAGES_MAX);
}

void tasks_fini(struct tasks *tasks)
{
	map_fini(&tasks->index);
	free(tasks->pages);
	*tasks = (struct tasks){0};
}

static struct tasks_page *page_new(struct tasks *tasks, uint64_t number)
{
	struct tasks_page *pages =
		grow(tasks->pages, tasks->count, &tasks->capacity, 16, sizeof(*pages));

	if (!pages)
		return NULL;
	tasks->pages = pages;
	if (map_put(&tasks->index, number, tasks->count) < 0)
		return NULL;
	tasks->pages[tasks->count] = (struct tasks_page){0};
	return &tasks->pages[tasks->count++];
}

static bool set(struct tasks *tasks, struct tasks_page *page, uint64_t task, enum tasks_mark mark)
{
	uint64_t *word = &page->bits[mark][task % PAGE_TASKS / 64];
	uint64_t bit = UINT64_C(1) << task % 64;
	bool is_new = !(*word & bit);

	tasks->marked[mark] += is_new;
	*word |= bit;
	return is_new;
}

bool tasks_mark(struct tasks *tasks, uint64_t task, enum tasks_mark mark)
{
	uint32_t *found = map_find(&tasks->index, task / PAGE_TASKS);
	struct tasks_page *page =
		found ? &tasks->pages[*found] : page_new(tasks, task / PAGE_TASKS);

	if (!page) {
		tasks->full = true;
		return false;
	}
	set(tasks, page, task, TASKS_SEEN);
	return set(tasks, page, task, mark);
}

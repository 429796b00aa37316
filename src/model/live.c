/* SPDX-License-Identifier: Apache-2.0 */
#include "model/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"

#define SLOTS_MAX (1u << 26)
#define LOOPS_MOST 1024u /* 16 KB each; programs have dozens */
#define AHEAD 16u        /* slots that are asked for before they are needed */
#define SPARE 4096u      /* ended tasks that may stay in the index in any case */

int live_init(struct live *live)
{
	*live = (struct live){0};
	if (map_init(&live->index, UINT32_MAX) < 0 || map_init(&live->site_index, UINT32_MAX) < 0)
		return -ENOMEM;
	return 0;
}

void live_fini(struct live *live)
{
	for (uint32_t i = 0; i < live->slot_count; i++) {
		free(live_at(live, i)->name);
		free(live_at(live, i)->loop);
	}
	for (uint32_t i = 0; i < live->slot_count; i += LIVE_SEGMENT)
		free(live->segments[i / LIVE_SEGMENT]);
	free(live->segments);
	map_fini(&live->index);
	for (uint32_t i = 0; i < live->site_count; i++)
		free(live->sites[i].label);
	free(live->sites);
	map_fini(&live->site_index);
	*live = (struct live){0};
}

static uint64_t *grave_of(const struct live *live, uint64_t id)
{
	return (uint64_t *)&live->graves[hash_mix(id) >> 52];
}
_Static_assert(LIVE_GRAVES == 1u << (64 - 52), "a hash chooses a grave");

bool live_ended(const struct live *live, uint64_t id)
{
	return *grave_of(live, id) == id;
}

static int add_segment(struct live *live)
{
	uint32_t at = live->slot_count / LIVE_SEGMENT;
	struct live_task **segments;

	if (live->slot_count >= SLOTS_MAX)
		return -ENOMEM;
	segments = grow(live->segments, at, &live->segment_capacity, 16, sizeof(*segments));
	if (!segments)
		return -ENOMEM;
	live->segments = segments;
	live->segments[at] = aligned_alloc(64, LIVE_SEGMENT * sizeof(**live->segments));
	if (!live->segments[at])
		return -ENOMEM;
	memset(live->segments[at], 0, LIVE_SEGMENT * sizeof(**live->segments));
	for (uint32_t i = LIVE_SEGMENT; i; i--) {
		struct live_task *task = &live->segments[at][i - 1];

		task->slot = live->slot_count + i - 1;
		task->next_free = live->free;
		live->free = task->slot + 1;
	}
	live->slot_count += LIVE_SEGMENT;
	return 0;
}

/* The index with only those that live. There is room: it had more. */
static void index_anew(struct live *live)
{
	map_clear(&live->index);
	for (uint32_t i = 0; i < live->slot_count; i++) {
		/* Of a million, each is put where nothing is in the cache. */
		if (i + AHEAD < live->slot_count)
			live_prefetch(live, live_at(live, i + AHEAD)->told.id);
		if (live_at(live, i)->told.id)
			map_put(&live->index, live_at(live, i)->told.id, i);
	}
}

struct live_task *live_add(struct live *live, uint64_t id)
{
	uint32_t *known = map_find(&live->index, id);
	struct live_task *task;
	uint32_t slot;

	if (!live->free && add_segment(live) < 0)
		return NULL;
	slot = live->free - 1;
	task = live_at(live, slot);
	if (known)
		*known = slot;
	else if (map_put(&live->index, id, slot) < 0)
		return NULL;
	live->free = task->next_free;
	*task = (struct live_task){.slot = slot};
	task->told.id = id;
	task->told.label = "";
	live->count++;
	return task;
}

void live_end(struct live *live, struct live_task *task)
{
	*grave_of(live, task->told.id) = task->told.id;
	free(task->name);
	live->loop_count -= task->loop != NULL;
	free(task->loop);
	task->name = NULL;
	task->loop = NULL;
	task->told.id = 0;
	task->next_free = live->free;
	live->free = task->slot + 1;
	live->count--;
	if (live->index.count > 2 * (uint64_t)live->count + SPARE)
		index_anew(live);
}

int live_add_loop(struct live *live, struct live_task *task)
{
	if (task->loop || live->loop_count >= LOOPS_MOST)
		return 0;
	task->loop = calloc(1, sizeof(*task->loop));
	if (!task->loop)
		return -ENOMEM;
	task->loop->task = &task->told;
	live->loop_count++;
	return 0;
}

static char *label_of(const struct live *live, const struct reader_site *site)
{
	char *label = NULL;

	if (!site)
		return strdup("");
	if (live->label)
		return live->label(live->label_data, site);
	if (site->name[0])
		return strdup(site->name);
	if (!site->function[0])
		return strdup(site->kind ? site->kind : "");
	return asprintf(&label, "task in %s", site->function) < 0 ? NULL : label;
}

static uint8_t role_of(const struct reader_site *site)
{
	if (!site)
		return 0;
	return (uint8_t)((site->flags & LIVE_ROLES) |
			 (reader_site_is_callback(site) ? LIVE_CALLBACK : 0));
}

/* Until the next one is added; NULL: no memory. */
static const struct live_site *site_of(struct live *live, struct causes *causes, uint32_t site)
{
	const uint32_t *found = map_find(&live->site_index, site);
	const struct reader_site *told;
	struct live_site *sites;
	int64_t stack;
	char *label;

	if (found)
		return &live->sites[*found];
	sites = grow(live->sites, live->site_count, &live->site_capacity, 16, sizeof(*sites));
	if (!sites)
		return NULL;
	live->sites = sites;
	told = model_site(&causes->sites, site);
	stack = causes_of(causes, site);
	label = stack < 0 ? NULL : label_of(live, told);
	if (!label || map_put(&live->site_index, site, live->site_count) < 0) {
		free(label);
		return NULL;
	}
	sites += live->site_count++;
	*sites = (struct live_site){
		.site = told, .label = label, .stack = (uint32_t)stack, .role = role_of(told)};
	return sites;
}

int live_set_site(struct live *live, struct live_task *task, struct causes *causes, uint64_t id)
{
	const struct live_site *site;

	if (!id || id > UINT32_MAX)
		return 0;
	site = site_of(live, causes, (uint32_t)id);
	if (!site)
		return -ENOMEM;
	task->told.site = site->site;
	task->role |= site->role;
	/* What stands does not wait, whatever was thought of it before. */
	if (task->role & UNWEAVE_SITE_STANDING && task->state == LIVE_WAITS) {
		task->state = LIVE_UNKNOWN;
		task->woken = 0;
	}
	if (site->stack)
		task->told.stack = site->stack;
	if (!task->name)
		task->told.label = site->label;
	return 0;
}

int live_set_name(struct live_task *task, const char *name, struct live *live)
{
	char *copy = name && name[0] ? strdup(name) : NULL;

	if (name && name[0] && !copy)
		return -ENOMEM;
	free(task->name);
	task->name = copy;
	if (copy) {
		task->told.label = copy;
	} else {
		const uint32_t *site =
			task->told.site ? map_find(&live->site_index, task->told.site->id) : NULL;

		task->told.label = site ? live->sites[*site].label : "";
	}
	return 0;
}

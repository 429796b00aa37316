/* SPDX-License-Identifier: Apache-2.0 */
#include "model/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MAX (1u << 26)
#define SPARE 4096u /* ended tasks that may stay in the index in any case */

int live_init(struct live *live)
{
	*live = (struct live){0};
	if (map_init(&live->index, UINT32_MAX) < 0 || map_init(&live->site_index, UINT32_MAX) < 0)
		return -ENOMEM;
	return 0;
}

void live_fini(struct live *live)
{
	for (uint32_t i = 0; i < live->slot_count; i++)
		free(live_at(live, i)->name);
	for (uint32_t i = 0; i < live->slot_count; i += LIVE_SEGMENT)
		free(live->segments[i / LIVE_SEGMENT]);
	free(live->segments);
	map_fini(&live->index);
	for (uint32_t i = 0; i < live->site_count; i++)
		free(live->site_labels[i]);
	free(live->site_labels);
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

	if (live->slot_count >= SLOTS_MAX)
		return -ENOMEM;
	if (at == live->segment_capacity) {
		uint32_t capacity = at ? at * 2 : 16;
		struct live_task **segments =
			reallocarray(live->segments, capacity, sizeof(*segments));

		if (!segments)
			return -ENOMEM;
		live->segments = segments;
		live->segment_capacity = capacity;
	}
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
	for (uint32_t i = 0; i < live->slot_count; i++)
		if (live_at(live, i)->told.id)
			map_put(&live->index, live_at(live, i)->told.id, i);
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
	task->name = NULL;
	task->told.id = 0;
	task->next_free = live->free;
	live->free = task->slot + 1;
	live->count--;
	if (live->index.count > 2 * (uint64_t)live->count + SPARE)
		index_anew(live);
}

static char *label_of(const struct reader_site *site)
{
	char *label = NULL;

	if (!site || (!site->name[0] && !site->function[0]))
		return strdup("");
	if (site->name[0])
		return strdup(site->name);
	return asprintf(&label, "task in %s", site->function) < 0 ? NULL : label;
}

/* NULL: no memory. */
static const char *site_label(struct live *live, const struct reader *reader, uint32_t site)
{
	const uint32_t *found = map_find(&live->site_index, site);
	char *label;

	if (found)
		return live->site_labels[*found];
	if (live->site_count == live->site_capacity) {
		uint32_t capacity = live->site_capacity ? live->site_capacity * 2 : 16;
		char **labels = reallocarray(live->site_labels, capacity, sizeof(*labels));

		if (!labels)
			return NULL;
		live->site_labels = labels;
		live->site_capacity = capacity;
	}
	label = label_of(reader_site(reader, site));
	if (!label || map_put(&live->site_index, site, live->site_count) < 0) {
		free(label);
		return NULL;
	}
	return live->site_labels[live->site_count++] = label;
}

int live_set_site(struct live *live, struct live_task *task, const struct reader *reader,
		  uint64_t site)
{
	const char *label;

	if (!site || site > UINT32_MAX)
		return 0;
	label = site_label(live, reader, (uint32_t)site);
	if (!label)
		return -ENOMEM;
	task->told.site = reader_site(reader, (uint32_t)site);
	if (!task->name)
		task->told.label = label;
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

		task->told.label = site ? live->site_labels[*site] : "";
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/naming.h"

#define TASKS_MAX (1u << 20) /* some 60 MB, without names */

struct labels_entry {
	uint64_t task;
	char *name; /* its own; or NULL */
	uint32_t site;
	bool done;
};

int labels_init(struct labels *labels)
{
	*labels = (struct labels){0};
	return map_init(&labels->index, TASKS_MAX);
}

void labels_fini(struct labels *labels)
{
	for (uint32_t i = 0; i < labels->count; i++)
		free(labels->entries[i].name);
	free(labels->entries);
	map_fini(&labels->index);
	*labels = (struct labels){0};
}

/* Keeps only the tasks that live. */
static void forget_done(struct labels *labels)
{
	uint32_t kept = 0;

	map_clear(&labels->index);
	for (uint32_t i = 0; i < labels->count; i++) {
		struct labels_entry entry = labels->entries[i];

		/* There is room for as many as there were. */
		if (!entry.done && map_put(&labels->index, entry.task, kept) == 0)
			labels->entries[kept++] = entry;
		else
			free(entry.name);
	}
	labels->count = kept;
	labels->done = 0;
}

static bool make_room(struct labels *labels)
{
	uint32_t capacity = labels->capacity ? labels->capacity * 2 : 64;
	struct labels_entry *entries;

	if (labels->count < labels->capacity)
		return true;
	/* A done task may still be awaited, late: its name stays as long as there is room. */
	if (capacity > TASKS_MAX) {
		if (labels->done < labels->count / 2)
			return false;
		forget_done(labels);
		return true;
	}
	entries = reallocarray(labels->entries, capacity, sizeof(*entries));
	if (!entries)
		return false;
	labels->entries = entries;
	labels->capacity = capacity;
	return true;
}

static struct labels_entry *find(const struct labels *labels, uint64_t task)
{
	const uint32_t *found = map_find(&labels->index, task);

	return found ? &labels->entries[*found] : NULL;
}

static struct labels_entry *find_or_add(struct labels *labels, uint64_t task)
{
	struct labels_entry *entry = find(labels, task);

	if (entry)
		return entry;
	if (!make_room(labels) || map_put(&labels->index, task, labels->count) < 0)
		return NULL;
	entry = &labels->entries[labels->count++];
	*entry = (struct labels_entry){.task = task};
	return entry;
}

void labels_note(struct labels *labels, const struct unweave_event *event)
{
	struct labels_entry *entry;

	switch (event->kind) {
	case UNWEAVE_EVENT_CREATE:
	case UNWEAVE_EVENT_TASK:
		entry = event->value <= UINT32_MAX ? find_or_add(labels, event->task) : NULL;
		if (entry)
			entry->site = (uint32_t)event->value;
		break;
	case UNWEAVE_EVENT_NAME:
		entry = find_or_add(labels, event->task);
		if (entry) {
			free(entry->name);
			entry->name = event->text && event->text[0] ? strdup(event->text) : NULL;
		}
		break;
	case UNWEAVE_EVENT_COMPLETE:
		entry = find(labels, event->task);
		if (entry && !entry->done) {
			entry->done = true;
			labels->done++;
		}
		break;
	default:
		break;
	}
}

struct label label_of_site(const struct reader *reader, struct symbols *symbols, uint64_t site)
{
	struct label label = {.text = ""};

	if (site && site <= UINT32_MAX)
		label.site = reader_site(reader, (uint32_t)site);
	if (label.site)
		naming_label(symbols, label.site, label.text, sizeof(label.text));
	return label;
}

struct label labels_of_task(const struct labels *labels, const struct reader *reader,
			    struct symbols *symbols, uint64_t task)
{
	const struct labels_entry *entry = find(labels, task);
	struct label label = label_of_site(reader, symbols, entry ? entry->site : 0);

	if (entry && entry->name)
		snprintf(label.text, sizeof(label.text), "%s", entry->name);
	return label;
}

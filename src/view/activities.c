/* SPDX-License-Identifier: Apache-2.0 */
#include "view/activities.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"

#define DEPTH_MOST 16u
#define LABELS_MOST 65536u /* a program may give each of its tasks a name of its own */

/* What is kept of a task: while it lives, and while one that it created lives. */
struct own {
	struct own *parent;      /* a reference, until this one has ended */
	struct model_task *task; /* NULL: it is gone */
	uint64_t threads;        /* a bit for each that it ran on */
	uint32_t references;
	uint32_t activity; /* + 1, once it has ended */
};

int activities_init(struct activities *activities, struct symbols *symbols)
{
	*activities = (struct activities){.symbols = symbols};
	if (map_init(&activities->index, UINT32_MAX) < 0 ||
	    map_init(&activities->site_index, UINT32_MAX) < 0 || texts_new(&activities->texts) < 0)
		return -ENOMEM;
	return 0;
}

void activities_fini(struct activities *activities)
{
	free(activities->at);
	free(activities->sites);
	map_fini(&activities->index);
	map_fini(&activities->site_index);
	texts_free(activities->texts);
	*activities = (struct activities){0};
}

static void release(struct own *own)
{
	while (own && --own->references == 0) {
		struct own *parent = own->parent;

		free(own);
		own = parent;
	}
}

/* Refers to the parent's, if that is known by now. */
static void find_parent(struct own *own, struct model *model)
{
	struct model_task *parent;

	if (own->parent || !own->task->parent || own->task->parent == own->task->id)
		return;
	parent = model_task(model, own->task->parent);
	if (!parent || !parent->user)
		return;
	own->parent = parent->user;
	own->parent->references++;
}

int activities_created(struct activities *activities, struct model *model, struct model_task *task)
{
	struct own *own = calloc(1, sizeof(*own));

	(void)activities;
	if (!own)
		return -ENOMEM;
	own->references = 1;
	own->task = task;
	task->user = own;
	find_parent(own, model);
	return 0;
}

bool activities_first_on(struct model_task *task, uint32_t index)
{
	struct own *own = task->user;
	uint64_t bit = UINT64_C(1) << index;
	bool first = !(own->threads & bit);

	own->threads |= bit;
	return first;
}

/* UINT32_MAX: no memory. */
static uint32_t add_activity(struct activities *activities, uint32_t parent, uint32_t label,
			     enum naming_role role)
{
	uint64_t key = (uint64_t)parent << 32 | label << 2 | role;
	uint32_t *known = map_find(&activities->index, key);
	struct activity *at;

	if (known)
		return *known;
	at = grow(activities->at, activities->count, &activities->capacity, 64, sizeof(*at));
	if (!at)
		return UINT32_MAX;
	activities->at = at;
	if (map_put(&activities->index, key, activities->count) < 0)
		return UINT32_MAX;
	activities->at[activities->count] = (struct activity){
		.parent = parent,
		.label = label,
		.depth = parent ? activities->at[parent - 1].depth + 1 : 0,
		.role = role,
		.kind = "",
		.sums.first = UINT64_MAX,
	};
	return activities->count++;
}

/* The activity of tasks like this below a parent (+ 1), or one of those around it. */
static uint32_t activity_below(struct activities *activities, uint32_t parent,
			       const struct model_task *task)
{
	enum naming_role role = naming_role(task->site);
	const char *text = task->label;
	uint32_t label;

	if (!text[0])
		text = "(unnamed)";
	if (texts_count(activities->texts) >= LABELS_MOST)
		text = "(others)";
	label = texts_add(activities->texts, text);
	if (label == UINT32_MAX)
		return UINT32_MAX;
	for (uint32_t at = parent; at; at = activities->at[at - 1].parent)
		if (activities->at[at - 1].label == label && activities->at[at - 1].role == role)
			return at - 1;
	/* A line of tasks with a name each would be as deep as it is long. */
	while (parent && activities->at[parent - 1].depth + 1 >= DEPTH_MOST)
		parent = activities->at[parent - 1].parent;
	return add_activity(activities, parent, label, role);
}

/* As things are called now. Parents live, or have theirs; so a loop among ids ends it. */
static uint32_t activity_of(struct activities *activities, struct model *model, struct own *own)
{
	enum { DEEPEST = 64 };
	struct own *path[DEEPEST];
	uint32_t count = 0, parent = 0;

	for (; own && own->task && count < DEEPEST; own = own->parent) {
		path[count++] = own;
		find_parent(own, model);
	}
	if (own)
		parent = own->activity;
	while (count) {
		uint32_t at = activity_below(activities, parent, path[--count]->task);

		if (at == UINT32_MAX)
			return UINT32_MAX;
		parent = at + 1;
	}
	return parent - 1;
}

static void add_sums(struct activities_sums *sums, const struct model_task *task)
{
	uint64_t duration = task->ended - task->created;
	bool stands = naming_role(task->site) != NAMING_TASK;

	sums->tasks++;
	sums->incomplete += task->end == MODEL_INCOMPLETE && !stands;
	sums->open += task->end == MODEL_INCOMPLETE && stands;
	sums->errors += task->end == MODEL_ERROR;
	sums->cancelled += task->end == MODEL_CANCELLED;
	if (task->created < sums->first)
		sums->first = task->created;
	if (task->ended > sums->last)
		sums->last = task->ended;
	sums->duration += duration;
	if (duration > sums->longest)
		sums->longest = duration;
	sums->cpu += task->cpu;
	sums->busy += task->busy;
	sums->pending += task->pending;
	sums->queued += task->queued;
	sums->runs += task->runs;
}

static const char *site_label(struct activities *activities, const struct reader_site *site)
{
	char text[300];
	uint32_t number;

	naming_label(activities->symbols, site, text, sizeof(text));
	if (!text[0])
		snprintf(text, sizeof(text), "site %u", site->id);
	number = texts_add(activities->texts, text);
	return number == UINT32_MAX ? NULL : texts_get(activities->texts, number);
}

static struct activities_site *site_of(struct activities *activities,
				       const struct reader_site *site)
{
	uint32_t *known = map_find(&activities->site_index, site->id);
	struct activities_site *at;
	struct activities_site *sites;

	if (known)
		return &activities->sites[*known];
	sites = grow(activities->sites, activities->site_count, &activities->site_capacity, 16,
		     sizeof(*sites));
	if (!sites)
		return NULL;
	activities->sites = sites;
	at = &activities->sites[activities->site_count];
	*at = (struct activities_site){.site = site, .sums.first = UINT64_MAX};
	at->label = site_label(activities, site);
	if (!at->label || map_put(&activities->site_index, site->id, activities->site_count) < 0)
		return NULL;
	activities->site_count++;
	return at;
}

/* From now on it is there for those that it created. */
static void retire(struct model_task *task, uint32_t activity)
{
	struct own *own = task->user;

	own->activity = activity;
	own->task = NULL;
	/* Its parent's is not needed any more, or a line of ancestors would never be freed. */
	release(own->parent);
	own->parent = NULL;
	task->user = NULL;
	release(own);
}

void activities_dropped(struct activities *activities, struct model *model, struct model_task *task)
{
	uint32_t at = task->user ? activity_of(activities, model, task->user) : 0;

	if (task->user)
		retire(task, at == UINT32_MAX ? 0 : at + 1);
}

int activities_ended(struct activities *activities, struct model *model, struct model_task *task)
{
	uint32_t at = activity_of(activities, model, task->user);
	struct activities_site *site = task->site ? site_of(activities, task->site) : NULL;

	if (at == UINT32_MAX || (task->site && !site)) {
		retire(task, 0);
		return -ENOMEM;
	}
	add_sums(&activities->at[at].sums, task);
	if (task->site && task->site->kind)
		activities->at[at].kind = task->site->kind;
	if (site)
		add_sums(&site->sums, task);
	retire(task, at + 1);
	return 0;
}

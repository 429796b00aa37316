/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks of one label, apart by what the tasks were that created them: a tree.
 * What creates its own kind again is one activity, also if others are between; and
 * what is very deep is beside its creator. Standing tasks are apart from their
 * calls, which are called the same.
 */
#ifndef VIEW_ACTIVITIES_H
#define VIEW_ACTIVITIES_H

#include "model/model.h"
#include "symbol/symbol.h"
#include "util/map.h"
#include "view/naming.h"
#include "view/texts.h"

/* What tasks have together. */
struct activities_sums {
	uint64_t tasks;
	uint64_t incomplete; /* of them had not ended; 0 for what stands */
	uint64_t open;       /* of those that stand, the same */
	uint64_t errors, cancelled;
	uint64_t first, last; /* ns: the first creation, the last end */
	uint64_t duration;    /* ns, of all lives */
	uint64_t longest;     /* ns, of one */
	uint64_t cpu, busy, pending, queued;
	uint64_t runs;
};

struct activity {
	uint32_t parent; /* an index + 1; 0: none */
	uint32_t label;  /* of `texts` */
	uint32_t depth;  /* activities above it */
	enum naming_role role;
	const char *kind; /* of the site of one of its tasks; "" if unknown */
	struct activities_sums sums;
};

/* By site, whatever created them. */
struct activities_site {
	const struct reader_site *site;
	const char *label; /* of its tasks without a name of their own */
	struct activities_sums sums;
};

struct activities {
	struct activity *at; /* parents before their children */
	uint32_t count;
	uint32_t capacity;
	struct map index; /* parent and label to activity */
	struct texts *texts;
	struct symbols *symbols;
	struct activities_site *sites;
	uint32_t site_count;
	uint32_t site_capacity;
	struct map site_index;
};

/* `symbols` is borrowed. Returns -ENOMEM. */
int activities_init(struct activities *activities, struct symbols *symbols);
void activities_fini(struct activities *activities);

/* For a model's sink: both use the task's `user`. -ENOMEM. */
int activities_created(struct activities *activities, struct model *model, struct model_task *task);
int activities_ended(struct activities *activities, struct model *model, struct model_task *task);
/* A task is gone, but does not count: those that it created still belong below it. */
void activities_dropped(struct activities *activities, struct model *model,
			struct model_task *task);

/* Whether the task ran on thread number `index`, below 64, for the first time. */
bool activities_first_on(struct model_task *task, uint32_t index);

#endif /* VIEW_ACTIVITIES_H */

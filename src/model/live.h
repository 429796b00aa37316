/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks that live at a point of a trace. They stay where they are until they end. */
#ifndef MODEL_LIVE_H
#define MODEL_LIVE_H

#include <stdalign.h>

#include "model/causes.h"
#include "model/model.h"
#include "unweave/callback.h"
#include "util/map.h"

#define LIVE_GRAVES 4096u
#define LIVE_SEGMENT 1024u /* tasks that get memory together */

enum live_state {
	LIVE_UNKNOWN, /* nobody said whether it runs or waits */
	LIVE_WAITS,
	LIVE_RUNS, /* `open` runs are in the nest of one lane */
};

/* What a task is, by its site. */
#define LIVE_ROLES (UNWEAVE_SITE_STANDING | UNWEAVE_SITE_FIRED | UNWEAVE_SITE_LOOP)
#define LIVE_CALLBACK 128u /* it was armed, and waits from then on */

struct live_task {
	alignas(64) struct model_task told; /* the first, so that a sink's task is one of these */
	enum live_state state;
	uint32_t lane; /* index, while it runs */
	uint32_t open;
	uint8_t role;     /* UNWEAVE_SITE_* of its site, and LIVE_CALLBACK */
	bool ending;      /* its COMPLETE is being told */
	bool woken_early; /* while it ran: its next wait is queued from the start */
	/* Of the present wait, and of an early wake; of one that stands, of its next call. */
	bool first;
	bool begin_unknown;
	bool at_rest; /* if so: its chain was read, which is so only of one that does not run */
	uint32_t stack;
	uint64_t since;
	uint64_t woken; /* 0: not yet */
	uint64_t waker;
	uint32_t source;
	uint32_t wake_thread;

	struct model_loop *loop; /* what it did, if it is one; or NULL */
	uint32_t loop_lane;      /* index of the one that it was last in, if so */
	char *name;              /* its own, which the label is then; or NULL */
	uint64_t losses;         /* of the model, when it was first seen */
	uint32_t slot;
	uint32_t next_free; /* of a slot that is free */
};

/* What is the same for all tasks of a site. */
struct live_site {
	const struct reader_site *site; /* NULL: nobody knows it */
	char *label;
	uint32_t stack; /* chain of callbacks; 0: its tasks have chains of their own */
	uint8_t role;
};

struct live {
	struct live_task **segments; /* tasks do not move */
	uint32_t slot_count;
	uint32_t segment_capacity;
	uint32_t free; /* first free slot + 1; 0: none */
	uint32_t count;
	uint32_t loop_count; /* of them have a `loop` */
	struct map index;    /* id to slot; of tasks that ended too, until it is made anew */

	/* The last that ended, some of them: what is said of them later is late. */
	uint64_t graves[LIVE_GRAVES];

	model_label label; /* or NULL: what the sites say themselves */
	void *label_data;
	struct map site_index; /* site to what is known of it */
	struct live_site *sites;
	uint32_t site_count;
	uint32_t site_capacity;
};

/* Returns -ENOMEM. */
int live_init(struct live *live);
void live_fini(struct live *live);

static inline struct live_task *live_at(const struct live *live, uint32_t slot)
{
	return &live->segments[slot / LIVE_SEGMENT][slot % LIVE_SEGMENT];
}

/* Asks for the memory that live_find() will look at. */
static inline void live_prefetch(const struct live *live, uint64_t id)
{
	__builtin_prefetch(&live->index.slots[hash_mix(id) >> live->index.shift]);
}

/* NULL: it is not there. */
static inline struct live_task *live_find(const struct live *live, uint64_t id)
{
	const uint32_t *slot = map_find(&live->index, id);
	struct live_task *task = slot ? live_at(live, *slot) : NULL;

	return task && task->told.id == id ? task : NULL;
}

/* Whether it is known to have ended. */
bool live_ended(const struct live *live, uint64_t id);

/* Adds a task that is not there; NULL: no memory. */
struct live_task *live_add(struct live *live, uint64_t id);
void live_end(struct live *live, struct live_task *task);

/* Gives a task its `loop`, if it has none and there are not too many. -ENOMEM. */
int live_add_loop(struct live *live, struct live_task *task);

/* Both keep the label right; this one also gives the task its site's chain. -ENOMEM. */
int live_set_site(struct live *live, struct live_task *task, struct causes *causes, uint64_t site);
int live_set_name(struct live_task *task, const char *name, struct live *live);

#endif /* MODEL_LIVE_H */

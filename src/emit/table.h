/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The task table as the hooks write it: what they do in the usual case. See
 * arena/table.h for who writes what, and for the fences.
 *
 * A thread has free slots of its own, in a list that only it touches, with its
 * gate closed. Lists that got too long and those of threads that ended go, in
 * batches, to a stack that all share. A signal handler that interrupted a hook
 * uses that stack alone.
 */
#ifndef EMIT_TABLE_H
#define EMIT_TABLE_H

#include "emit/emit.h"

#define TABLE_BATCH 64u      /* slots that a thread gets at a time */
#define TABLE_KEEP_MOST 128u /* free slots that a thread keeps to itself */

#define table_get(field) atomic_load_explicit(&(field), memory_order_relaxed)
#define table_set(field, value) atomic_store_explicit(&(field), value, memory_order_relaxed)

/* Gives the process its table, with a first block of slots; without, if there can be none. */
void emit_table_init(void);

/* Gets the thread free slots; false if there are none. Gate closed. */
bool emit_table_refill(struct emit_thread *self);
/* Passes the older part of the thread's list, which got too long, on to all. Gate closed. */
void emit_table_spill(struct emit_thread *self);
/* Passes all of them on: the thread has ended. */
void emit_table_exit(struct emit_thread *self);

/* A free slot without a list; its index, or 0. For a handler inside a hook. */
uint32_t emit_table_take_aside(void);
/* The task is done, on a thread that has no list, or must not touch it. */
void emit_table_end_aside(uint64_t task);

/* The slot of a live task; NULL if it has none. */
struct arena_task *emit_table_slot(uint64_t task);

/* Stores the task's name; `length` bytes, cut off where the table has no room. */
void emit_table_name(uint64_t task, const char *name, size_t length);

/* An id for a task without a slot, which is counted. */
uint64_t emit_table_lone(enum unweave_model model);

/* The newest generation of a parent's ids, for a child of fork() to go on after. */
uint64_t emit_table_newest(const struct arena_control *parent);

/* What a hook says about a new task. */
struct table_birth {
	uint64_t parent;
	uint64_t changed; /* ticks, or 0 */
	uint32_t site;
	enum unweave_model model;
};

/* Fills a free slot, which has `id`; returns the task. */
static inline uint64_t table_fill(struct arena_task *slot, uint64_t id,
				  const struct table_birth *birth)
{
	uint64_t task = id | (birth->model & 1);

	/* G once more: what the last task left here, before an id that is not its own. */
	atomic_store_explicit(&slot->id, task, memory_order_release);
	/* H. */
	atomic_thread_fence(memory_order_release);
	table_set(slot->parent, birth->parent);
	table_set(slot->head, 0);
	table_set(slot->changed, birth->changed);
	table_set(slot->busy, 0);
	table_set(slot->awaits, 0);
	table_set(slot->runs, 0);
	table_set(slot->site, birth->site);
	table_set(slot->waits, 0);
	table_set(slot->named, 0);
	/* I. */
	atomic_store_explicit(&slot->state, ARENA_TASK_NEW, memory_order_release);
	return task;
}

/* Whether the thread has a free slot of its own. */
static inline bool table_has(const struct emit_thread *self)
{
	return self->spare || self->free;
}

/* A new task in the slot that was freed last, if there is one: nothing is loaded from it. */
static inline uint64_t table_begin_spare(struct emit_thread *self, const struct table_birth *birth)
{
	uint64_t id = self->spare;

	self->spare = 0;
	return table_fill(&self->tasks[table_index(id)], id, birth);
}

/* A new task in a free slot of the thread's, which has one. Gate closed. */
static inline uint64_t table_begin(struct emit_thread *self, const struct table_birth *birth)
{
	uint64_t id = self->spare;
	struct arena_task *slot = &self->tasks[id ? table_index(id) : self->free];

	if (id) {
		self->spare = 0;
	} else {
		id = table_get(slot->id);
		self->free = table_get(slot->next);
		self->frees--;
	}
	return table_fill(slot, id, birth);
}

/* Whether the thread knows about the task's slot, be it the task's or not. */
static inline bool table_knows(const struct emit_thread *self, uint64_t task)
{
	return emit_likely(table_index(task) < self->ready);
}

/* Where the slot of a task is that the thread knows about. */
static inline struct arena_task *table_slot(const struct emit_thread *self, uint64_t task)
{
	return &self->tasks[table_index(task)];
}

/* The task's slot, or where it would be: a hint to the processor, and no more. */
static inline void table_prefetch(const struct emit_thread *self, uint64_t task)
{
	__builtin_prefetch(table_slot(self, task), 1);
}

/* Whether the slot is the task's, still. */
static inline bool table_is(const struct arena_task *slot, uint64_t task)
{
	return emit_likely(table_get(slot->id) == task);
}

/* Takes the slot from its task; returns its next id, 0 if it has had all of them. */
static inline uint64_t table_empty(struct arena_task *slot, uint64_t task)
{
	uint64_t next;

	if (emit_unlikely(__builtin_add_overflow(task & ~UINT64_C(1),
						 UINT64_C(1) << TABLE_GENERATION_SHIFT, &next)))
		next = 0;
	table_set(slot->state, ARENA_TASK_FREE);
	/* G. */
	atomic_store_explicit(&slot->id, next, memory_order_release);
	return next;
}

/* The task, whose slot the thread knows about, is done; there is no spare one. Gate closed. */
static inline void table_end_spare(struct emit_thread *self, uint64_t task)
{
	struct arena_task *slot = table_slot(self, task);

	if (table_is(slot, task))
		self->spare = table_empty(slot, task);
}

/* Moves the thread's spare slot to its list, which may get too long. Gate closed. */
static inline void table_shelve(struct emit_thread *self)
{
	uint32_t index = table_index(self->spare);

	self->spare = 0;
	table_set(self->tasks[index].next, self->free);
	self->free = index;
	self->frees++;
}

/* The same, whether there is one or not. */
static inline void table_end(struct emit_thread *self, uint64_t task)
{
	if (self->spare) {
		table_shelve(self);
		if (emit_unlikely(self->frees > TABLE_KEEP_MOST))
			emit_table_spill(self);
	}
	table_end_spare(self, task);
}

/*
 * A run that began at `since` is over. A task that was woken while it ran need
 * not wait: it keeps its state.
 */
static inline void table_suspend(struct arena_task *slot, uint64_t now, uint64_t since)
{
	uint8_t waits;

	if (emit_likely((uint8_t)table_get(slot->state) != ARENA_TASK_QUEUED ||
			table_get(slot->changed) <= since))
		table_set(slot->state, ARENA_TASK_WAITING);
	table_set(slot->changed, now);
	table_set(slot->busy, table_get(slot->busy) + (now - since));
	table_set(slot->runs, table_get(slot->runs) + 1);
	/* What nobody told in this run is of a wait that is over. */
	waits = table_get(slot->waits);
	if (waits)
		table_set(slot->waits, waits & TABLE_WAITS_NEXT ? waits & ~TABLE_WAITS_NEXT : 0);
}

/*
 * A run is over, at a time that the next record of the thread says: all is done
 * then. Until then no hook of the thread but a resume and a wake goes the quick way.
 */
static inline void table_leave(struct emit_thread *self, uint64_t task, uint64_t since)
{
	self->left = task;
	self->left_since = since;
	self->quick = 0;
}

/* Makes good for that, if it is so. `quick` is what that word of the thread's was before. */
static inline void table_settle(struct emit_thread *self, uint64_t now, uint64_t quick)
{
	uint64_t task = self->left;
	struct arena_task *slot = table_slot(self, task);

	if (!task)
		return;
	if (table_is(slot, task))
		table_suspend(slot, now, self->left_since);
	self->left = 0;
	self->quick = quick;
}

static inline void table_wake(struct arena_task *slot, uint64_t now, enum unweave_source source)
{
	table_set(slot->changed, now);
	table_set(slot->state, (uint16_t)(ARENA_TASK_QUEUED | (source & 0xff) << 8));
}

#endif /* EMIT_TABLE_H */

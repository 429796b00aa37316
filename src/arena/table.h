/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The task table: a slot for each live task, from its creation to its
 * completion, written by the program's hooks and read by tools that look at a
 * program while it runs, hangs, or is dead.
 *
 * A task's id says where its slot is, and which of the tasks that had the slot
 * it is:
 *
 *     generation 39 | index 24 | model 1
 *
 * Slot 0 is nobody's: the ids of tasks that got no slot have it as their index. So
 * have light ones, which are callbacks that are armed while nothing but samples is
 * wanted. They have no slot on purpose, and no identity but their site:
 *
 *     1 | site 38 | 0 | 0
 *
 * Who writes what, all of it relaxed but where a fence is named:
 *
 *     all of a new slot       the thread that creates the task
 *     head                    the runtime of the chain model
 *     runs, busy              the thread that ends a run
 *     state, changed          the thread that ends a run, or wakes the task: the later
 *                             store counts, also where both happen at once
 *     awaits, waits, named    the hook of that purpose; bytes of their own, so that none
 *                             of them loses what another one stores. The end of a run
 *                             forgets what was told of an earlier wait
 *     id, next; parent and runs as links of a free slot
 *                             the thread that has the slot in its list
 *
 * That a task runs is not a state: the nests of the threads say so. A reader
 * looks there first. A slot is brought up to date before the run leaves the nest.
 *
 * A slot changes hands like this:
 *
 *     complete    state = FREE · G: id = next generation, release
 *     free        H: release fence · parent, runs, next as links
 *     create      id | model, release · H: release fence · fields
 *                 · I: state = NEW, release
 *
 * and a reader, which owns nothing and holds nobody up, reads id, state, the
 * fields, and after an acquire fence id and state again:
 *
 *     G  pairs with the acquire of the first `id`: a reader that sees the new id sees
 *        FREE or what came after, and so never takes the old task's state for the new one's.
 *     I  pairs with the acquire of `state`: with the new id, a state that is not FREE is
 *        the new task's, and all its fields are there.
 *     H  pairs with the reader's acquire fence: a reader that read a link, or a field of
 *        the next task, then sees that the id has moved on, and throws its copy away.
 *
 * Within one life the fields are each whole, but not of one moment.
 */
#ifndef ARENA_TABLE_H
#define ARENA_TABLE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "arena/arena.h"

#define TABLE_BLOCK 256u         /* slots that get memory together: 16 KiB */
#define TABLE_DEFAULT (1u << 21) /* slots, where the environment does not say otherwise */
#define TABLE_FEW (1u << 16)     /* where so many are too much for the machine */
#define TABLE_LEAST TABLE_BLOCK  /* that may be asked for, and the most */
#define TABLE_MOST (1u << 23)
#define TABLE_NAME_BYTES 64u /* of a name, with the NUL that ends it */
#define TABLE_NAME_WORDS (TABLE_NAME_BYTES / 8)
#define TABLE_GENERATION_SHIFT 25
#define TABLE_WAITS_NEXT 128u /* it was told in the run that goes on, of the wait after it */
#define TABLE_READS 8         /* tries at a slot that changes hands all the time */

enum arena_task_state {
	ARENA_TASK_FREE,    /* no task */
	ARENA_TASK_NEW,     /* it has not run yet, or not while events were recorded */
	ARENA_TASK_WAITING, /* since `changed` */
	ARENA_TASK_QUEUED,  /* it can run, since `changed` */
};

struct arena_task {
	alignas(64) _Atomic uint64_t id; /* of a free slot: the next one, without its model */
	_Atomic uint64_t parent;         /* a task; 0: none, or not known */
	_Atomic uint64_t head;           /* address, in the program, of its chain; 0: none */
	_Atomic uint64_t changed;        /* ticks of the last change of state; 0: not known */
	_Atomic uint64_t busy;           /* ticks that it ran, while events were recorded */
	_Atomic uint64_t awaits;         /* what it waits for, by `waits` */
	_Atomic uint32_t runs;           /* that ended, while events were recorded */
	_Atomic uint32_t site;
	_Atomic uint16_t state; /* enum arena_task_state | enum unweave_source << 8 */
	_Atomic uint8_t waits;  /* enum unweave_wait | TABLE_WAITS_NEXT */
	_Atomic uint8_t named;  /* 0: no name; another value for each name that it was given */
	_Atomic uint32_t next;  /* of the same list, while free; 0: the last */
};
_Static_assert(sizeof(struct arena_task) == 64, "a slot is a cache line");

static inline uint32_t table_index(uint64_t task)
{
	return (uint32_t)(task >> 1) & 0xffffff;
}

#define TABLE_LIGHT (UINT64_C(1) << 63)

static inline uint64_t table_light(uint32_t site)
{
	return TABLE_LIGHT | (uint64_t)site << TABLE_GENERATION_SHIFT;
}

static inline uint32_t table_light_site(uint64_t task)
{
	return (uint32_t)(task >> TABLE_GENERATION_SHIFT);
}

/* Bytes that a table of so many slots takes, without and with its names. */
static inline uint64_t table_bytes(uint32_t slots)
{
	return (uint64_t)slots * sizeof(struct arena_task);
}

static inline uint64_t table_all_bytes(uint32_t slots)
{
	return table_bytes(slots) + (uint64_t)slots * TABLE_NAME_BYTES;
}

/* A table as a reader has it: checked against the mapping once, and never looked up again. */
struct table {
	const struct arena_control *control;
	const struct arena_task *tasks;
	const _Atomic uint64_t *names;
	uint32_t max; /* slots that the mapping has room for; 0: there is no table */
};

/* A live task, copied out. */
struct table_task {
	uint64_t id;
	uint64_t parent;
	uint64_t head;
	uint64_t changed;
	uint64_t busy;
	uint64_t awaits;
	uint32_t runs;
	uint32_t site;
	uint8_t state;               /* enum arena_task_state: never FREE */
	uint8_t source;              /* enum unweave_source, of a QUEUED one */
	uint8_t waits;               /* enum unweave_wait */
	char name[TABLE_NAME_BYTES]; /* empty if it has none of its own */
};

static inline bool table_fits(uint64_t at, uint64_t bytes, uint64_t size)
{
	return at % 4096 == 0 && at >= ARENA_POOL_AT && at <= size && bytes <= size - at;
}

/*
 * Finds the table in a mapping of `bytes` bytes, by what is `told` of it: the mapping itself, or a
 * copy that does not change meanwhile. False if it does not lie within.
 */
static inline bool table_view(struct table *ret, const struct arena_control *control,
			      const struct arena_control *told, uint64_t bytes)
{
	uint64_t tasks_at = told->tasks_at, names_at = told->task_names_at;
	uint32_t max = told->tasks_max;

	if (max > TABLE_MOST ||
	    (max && (!table_fits(tasks_at, table_bytes(max), bytes) ||
		     !table_fits(names_at, (uint64_t)max * TABLE_NAME_BYTES, bytes))))
		return false;
	*ret = (struct table){
		.control = control,
		.tasks = (const struct arena_task *)((const char *)control + tasks_at),
		.names = (const _Atomic uint64_t *)((const char *)control + names_at),
		.max = max,
	};
	return true;
}

/* Slots from 1 up to, not including, this one may have a task. */
static inline uint32_t table_ready(const struct table *table)
{
	uint32_t ready = atomic_load_explicit(&table->control->tasks_ready, memory_order_acquire);

	return ready < table->max ? ready : table->max;
}

/* Leaves `name` empty if there is none, or if it is being written. */
static inline void table_copy_name(const struct table *table, uint32_t index, char *name)
{
	const _Atomic uint8_t *named = &table->tasks[index].named;
	const _Atomic uint64_t *words = &table->names[(size_t)index * TABLE_NAME_WORDS];
	/* Pairs with the release in emit_table_name(): the bytes are there. */
	uint8_t before = atomic_load_explicit(named, memory_order_acquire);

	memset(name, 0, TABLE_NAME_BYTES);
	if (!before)
		return;
	for (uint32_t i = 0; i < TABLE_NAME_WORDS; i++) {
		uint64_t word = atomic_load_explicit(&words[i], memory_order_relaxed);

		memcpy(name + i * 8, &word, 8);
	}
	/* Pairs with the release fence there: who read a byte of the next name sees 0, or more. */
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(named, memory_order_relaxed) != before)
		name[0] = '\0';
	name[TABLE_NAME_BYTES - 1] = '\0';
}

/* One try; false if the slot was free, or changed hands under us. */
static inline bool table_copy(const struct table *table, uint32_t index, struct table_task *copy)
{
	const struct arena_task *slot = &table->tasks[index];
	uint16_t state;

	/* G, I. */
	copy->id = atomic_load_explicit(&slot->id, memory_order_acquire);
	state = atomic_load_explicit(&slot->state, memory_order_acquire);
	copy->parent = atomic_load_explicit(&slot->parent, memory_order_relaxed);
	copy->head = atomic_load_explicit(&slot->head, memory_order_relaxed);
	copy->changed = atomic_load_explicit(&slot->changed, memory_order_relaxed);
	copy->busy = atomic_load_explicit(&slot->busy, memory_order_relaxed);
	copy->awaits = atomic_load_explicit(&slot->awaits, memory_order_relaxed);
	copy->runs = atomic_load_explicit(&slot->runs, memory_order_relaxed);
	copy->site = atomic_load_explicit(&slot->site, memory_order_relaxed);
	copy->waits = atomic_load_explicit(&slot->waits, memory_order_relaxed) & ~TABLE_WAITS_NEXT;
	table_copy_name(table, index, copy->name);
	copy->state = (uint8_t)state;
	copy->source = (uint8_t)(state >> 8);
	/* H. */
	atomic_thread_fence(memory_order_acquire);
	return copy->state != ARENA_TASK_FREE && copy->state <= ARENA_TASK_QUEUED &&
	       table_index(copy->id) == index &&
	       copy->id == atomic_load_explicit(&slot->id, memory_order_relaxed) &&
	       (uint8_t)atomic_load_explicit(&slot->state, memory_order_relaxed) != ARENA_TASK_FREE;
}

/*
 * Copies the task out that has slot `index`; false if there is none, or if so
 * many come and go there that none stays for a look. `ret` is untouched then.
 */
static inline bool table_read(const struct table *table, uint32_t index, struct table_task *ret)
{
	struct table_task copy;

	if (index == 0 || index >= table_ready(table))
		return false;
	for (int i = 0; i < TABLE_READS; i++) {
		if (table_copy(table, index, &copy)) {
			*ret = copy;
			return true;
		}
		if ((uint8_t)atomic_load_explicit(&table->tasks[index].state,
						  memory_order_relaxed) == ARENA_TASK_FREE)
			return false;
	}
	return false;
}

/* The same for a task by its id. */
static inline bool table_find(const struct table *table, uint64_t task, struct table_task *ret)
{
	struct table_task copy;

	if (!table_read(table, table_index(task), &copy) || copy.id != task)
		return false;
	*ret = copy;
	return true;
}

#endif /* ARENA_TABLE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* The task table, where it is not the usual case: memory, the shared stack, names. */
#include "emit/table.h"

#include <errno.h>

#define PATIENCE 1024u /* requests for memory that are refused without asking, after one was */

/* In place of a table where there is none: its one slot is nobody's. */
static struct arena_task no_tasks[1];

static _Atomic uint64_t lone_tasks = 1;

/* A bit for each block of names that has memory. */
static _Atomic uint64_t name_blocks[TABLE_MOST / TABLE_BLOCK / 64];
static _Atomic uint32_t refusals;

uint64_t emit_table_lone(enum unweave_model model)
{
	uint64_t generation = atomic_fetch_add_explicit(&lone_tasks, 1, memory_order_relaxed);

	if (emit_process.control)
		atomic_fetch_add_explicit(&emit_process.control->tasks_lost, 1,
					  memory_order_relaxed);
	return generation << TABLE_GENERATION_SHIFT | (model & 1);
}

/* Has a core of the program hold the table, or its names, up to `end`. */
static void keep_in_cores(void *start, const void *end)
{
	int error = errno;

	madvise(start, (size_t)((const char *)end - (const char *)start), MADV_DODUMP);
	errno = error;
}

/* Gives memory to a part of the table. After a refusal it is some time before the next attempt. */
static bool populate(void *start, size_t bytes)
{
	int error = errno;
	int r;

	if (emit_process.tasks_reserved)
		return true;
	if (atomic_load_explicit(&refusals, memory_order_relaxed) &&
	    atomic_fetch_add_explicit(&refusals, 1, memory_order_relaxed) % PATIENCE)
		return false;
	do
		r = arena_populate(start, bytes);
	while (r < 0 && errno == EINTR);
	atomic_store_explicit(&refusals, r < 0, memory_order_relaxed);
	errno = error;
	return r == 0;
}

/*
 * The shared stack: batches of free slots, by the index of their first one, whose
 * `parent` is the next batch and whose `runs` are the slots of this one. All of
 * its changes are compare-and-swaps of one word, which has a tag against ABA;
 * the release of whoever pushed a batch reaches whoever pops it through all of
 * those that came between.
 */
static void push(uint32_t first, uint32_t count)
{
	struct arena_control *control = emit_process.control;
	struct arena_task *slot = &emit_process.tasks[first];
	uint64_t top = atomic_load_explicit(&control->tasks_free, memory_order_relaxed);

	/* H: the id that says that the slot is free, before the links. */
	atomic_thread_fence(memory_order_release);
	table_set(slot->runs, count);
	do
		table_set(slot->parent, (uint32_t)top);
	while (!atomic_compare_exchange_weak_explicit(&control->tasks_free, &top,
						      first | ((top >> 32) + 1) << 32,
						      memory_order_release, memory_order_relaxed));
}

/* Returns the first slot of a batch, or 0, and how many they are. */
static uint32_t pop(uint32_t *ret_count)
{
	struct arena_control *control = emit_process.control;
	uint64_t top = atomic_load_explicit(&control->tasks_free, memory_order_acquire);
	struct arena_task *slot;
	uint64_t below;

	do {
		if (!(uint32_t)top)
			return 0;
		slot = &emit_process.tasks[(uint32_t)top];
		/* Whatever it is if the batch was popped meanwhile: the tag has changed then. */
		below = (uint32_t)table_get(slot->parent);
	} while (!atomic_compare_exchange_weak_explicit(
		&control->tasks_free, &top, below | ((top >> 32) + 1) << 32, memory_order_acquire,
		memory_order_acquire));
	*ret_count = table_get(slot->runs);
	return (uint32_t)top;
}

/* Links the slots from `first` to before `end`, which were never used, into a batch. */
static void link_fresh(uint32_t first, uint32_t end)
{
	uint64_t generation = emit_process.control->first_generation;

	for (uint32_t i = first; i < end; i++) {
		struct arena_task *slot = &emit_process.tasks[i];

		table_set(slot->next, i + 1 < end ? i + 1 : 0);
		table_set(slot->id, generation << TABLE_GENERATION_SHIFT | (uint64_t)i << 1);
	}
}

/*
 * Gets memory for a block of slots first, which two threads may do at once for
 * the same one; who then moves `tasks_ready` has it. The first batch is for the
 * caller, and the others are for all.
 */
static uint32_t grow(uint32_t *ret_count)
{
	struct arena_control *control = emit_process.control;
	uint32_t ready = atomic_load_explicit(&control->tasks_ready, memory_order_relaxed);
	uint32_t first;

	do {
		if (ready >= control->tasks_max ||
		    !populate(&emit_process.tasks[ready], table_bytes(TABLE_BLOCK)))
			return 0;
	} while (!atomic_compare_exchange_strong_explicit(&control->tasks_ready, &ready,
							  ready + TABLE_BLOCK, memory_order_release,
							  memory_order_relaxed));
	keep_in_cores(emit_process.tasks, &emit_process.tasks[ready + TABLE_BLOCK]);
	for (uint32_t at = ready + TABLE_BLOCK - TABLE_BATCH; at > ready; at -= TABLE_BATCH) {
		link_fresh(at, at + TABLE_BATCH);
		push(at, TABLE_BATCH);
	}
	/* Slot 0 is nobody's. */
	first = ready ? ready : 1;
	link_fresh(first, ready + TABLE_BATCH);
	*ret_count = ready + TABLE_BATCH - first;
	return first;
}

void emit_table_init(void)
{
	struct arena_control *control = emit_process.control;
	uint32_t first, count;

	memset(name_blocks, 0, sizeof(name_blocks));
	atomic_store(&refusals, 0);
	emit_process.tasks = (struct arena_task *)((char *)control + control->tasks_at);
	emit_process.task_names = (_Atomic uint64_t *)((char *)control + control->task_names_at);
	first = grow(&count);
	if (first) {
		push(first, count);
	} else {
		control->tasks_max = 0;
		emit_process.tasks = no_tasks;
	}
}

bool emit_table_refill(struct emit_thread *self)
{
	uint32_t count = 0;
	uint32_t first = pop(&count);

	if (!first)
		first = grow(&count);
	self->free = first;
	self->frees = count;
	return first;
}

EMIT_COLD void emit_table_spill(struct emit_thread *self)
{
	uint32_t last = self->free;
	uint32_t rest;

	/* What was freed last is still in the cache: the thread keeps it. */
	for (uint32_t i = 1; i < TABLE_BATCH; i++)
		last = table_get(self->tasks[last].next);
	rest = table_get(self->tasks[last].next);
	table_set(self->tasks[last].next, 0);
	push(rest, self->frees - TABLE_BATCH);
	self->frees = TABLE_BATCH;
}

void emit_table_exit(struct emit_thread *self)
{
	if (self->spare)
		table_shelve(self);
	if (self->free)
		push(self->free, self->frees);
	self->free = 0;
	self->frees = 0;
}

uint32_t emit_table_take_aside(void)
{
	uint32_t count = 0;
	uint32_t first = pop(&count);
	uint32_t rest = first ? table_get(emit_process.tasks[first].next) : 0;

	if (rest)
		push(rest, count - 1);
	return first;
}

struct arena_task *emit_table_slot(uint64_t task)
{
	uint32_t index = table_index(task);
	struct arena_task *slot;

	if (!emit_process.control ||
	    index >= atomic_load_explicit(&emit_process.control->tasks_ready, memory_order_acquire))
		return NULL;
	slot = &emit_process.tasks[index];
	return table_get(slot->id) == task ? slot : NULL;
}

void emit_table_end_aside(uint64_t task)
{
	struct arena_task *slot = emit_table_slot(task);

	if (!slot || !table_empty(slot, task))
		return;
	table_set(slot->next, 0);
	push(table_index(task), 1);
}

/* Whether the block of names has memory by now. */
static bool populate_names(uint32_t index)
{
	uint32_t block = index / TABLE_BLOCK;
	uint64_t bit = UINT64_C(1) << (block % 64);
	_Atomic uint64_t *names = emit_process.task_names;
	size_t words = TABLE_BLOCK * TABLE_NAME_WORDS;

	if (atomic_load_explicit(&name_blocks[block / 64], memory_order_relaxed) & bit)
		return true;
	if (!populate(&names[block * words], words * sizeof(*names)))
		return false;
	/* Also the blocks before it, without names: a mapping more for each gap would be too many.
	 */
	keep_in_cores(names, &names[(block + 1) * words]);
	atomic_fetch_or_explicit(&name_blocks[block / 64], bit, memory_order_relaxed);
	return true;
}

void emit_table_name(uint64_t task, const char *name, size_t length)
{
	struct arena_task *slot = emit_table_slot(task);
	_Atomic uint64_t *words;
	uint8_t named;

	if (!slot || !populate_names(table_index(task)))
		return;
	words = &emit_process.task_names[(size_t)table_index(task) * TABLE_NAME_WORDS];
	if (length > TABLE_NAME_BYTES - 1)
		length = TABLE_NAME_BYTES - 1;
	named = table_get(slot->named);
	table_set(slot->named, 0);
	/* Pairs with the acquire fence in table_copy_name(). */
	atomic_thread_fence(memory_order_release);
	for (size_t i = 0; i < TABLE_NAME_WORDS; i++) {
		uint64_t word = 0;

		if (length > i * 8)
			memcpy(&word, name + i * 8, length - i * 8 < 8 ? length - i * 8 : 8);
		table_set(words[i], word);
	}
	named = (uint8_t)(named + 1);
	/* The bytes, before the word that they are there. */
	atomic_store_explicit(&slot->named, named ? named : 1, memory_order_release);
}

void emit_task_head(uint64_t task, uint64_t address)
{
	struct arena_task *slot = emit_table_slot(task);

	if (slot)
		table_set(slot->head, address);
}

bool emit_task_is_over(uint64_t task)
{
	/* Those that found the table full have number 0. */
	return table_index(task) && !emit_table_slot(task);
}

uint64_t emit_table_newest(const struct arena_control *parent)
{
	const struct arena_task *tasks =
		(const struct arena_task *)((const char *)parent + parent->tasks_at);
	uint32_t ready = atomic_load(&parent->tasks_ready);
	uint64_t newest = parent->first_generation << TABLE_GENERATION_SHIFT;

	for (uint32_t i = 1; i < ready; i++) {
		uint64_t id = table_get(tasks[i].id);

		if (id > newest)
			newest = id;
	}
	return newest >> TABLE_GENERATION_SHIFT;
}

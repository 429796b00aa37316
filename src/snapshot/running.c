/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's line says what it runs, and leads to the records of its dispatches,
 * on its stack, which say what in each chain runs. Both are read twice: what has
 * not changed in between is true of a thread that hangs, and mostly of others.
 */
#include "snapshot/parts.h"

#include <string.h>

#include "drain/memory.h"
#include "unweave/link.h"

#define CHAIN_MAX 1024u

struct memory {
	const struct attachment *attachment;
	int error; /* errno, once it could not be read at all */
};

static bool read_memory(struct memory *memory, void *to, uint64_t address, size_t bytes)
{
	return memory_read(memory->attachment, to, address, bytes, &memory->error);
}

static uint64_t code_of(const struct unweave_link *link)
{
	return (uintptr_t)(link->code ? link->code : (const void *)(uintptr_t)link->go);
}

/* The links that wait for what runs. */
static int add_links(struct snapshot *snapshot, struct memory *memory, uint64_t at)
{
	struct unweave_link link;
	int r = 0;

	for (uint32_t i = 0; at && r == 0; i++) {
		if (i == CHAIN_MAX || !read_memory(memory, &link, at, sizeof(link)))
			return snapshot_add_frame(snapshot, 0, 0, true);
		r = snapshot_add_frame(snapshot, code_of(&link), link.state, false);
		at = (uintptr_t)link.awaiter;
	}
	return r;
}

/* Where the rest of a view begins: the link that waits, or the one that runs and is awaited. */
static uint64_t rest_of(struct memory *memory, const struct unweave_priv_view *view)
{
	struct unweave_link link;

	if (!(view->rest & 1))
		return view->rest;
	return read_memory(memory, &link, view->rest & ~UINT64_C(1), sizeof(link))
		       ? (uintptr_t)link.awaiter
		       : 0;
}

static int add_view(struct snapshot *snapshot, struct memory *memory, struct snapshot_task *task,
		    const struct unweave_priv_view *view)
{
	uint32_t start = snapshot->frame_count;
	int r = snapshot_add_frame(snapshot, (uintptr_t)view->code, view->state, false);

	if (r == 0)
		r = add_links(snapshot, memory, rest_of(memory, view));
	return r < 0 ? r : snapshot_end_chain(snapshot, task, start);
}

/* What a dispatch shows, if it still shows the same after its chain was read. */
static int add_dispatch(struct snapshot *snapshot, struct memory *memory, uint64_t at,
			const struct unweave_priv_dispatch *dispatch)
{
	uint32_t index = snapshot_find(snapshot, dispatch->task);
	struct unweave_priv_dispatch again;
	struct snapshot_task *task;
	int r;

	if (!index || dispatch->shown > 1 || !dispatch->views[dispatch->shown].code)
		return 0;
	task = &snapshot->tasks[index - 1];
	r = add_view(snapshot, memory, task, &dispatch->views[dispatch->shown]);
	if (!read_memory(memory, &again, at, sizeof(again)) ||
	    memcmp(&again, dispatch, sizeof(again)) != 0) {
		task->chain_known = false;
		task->chain_count = 0;
	}
	return r;
}

/* Runs that began before the thread heard of the session are shown, if nothing else of it. */
static int add_dispatches(struct snapshot *snapshot, struct memory *memory, uint64_t at,
			  uint32_t tid)
{
	struct unweave_priv_dispatch dispatch;
	int r = 0;

	for (uint32_t i = 0; at && i < UNWEAVE_PRIV_NEST && r == 0; i++) {
		uint32_t index;

		if (!read_memory(memory, &dispatch, at, sizeof(dispatch)))
			return 0;
		index = snapshot_find(snapshot, dispatch.task);
		if (index)
			snapshot->tasks[index - 1].thread = tid;
		r = add_dispatch(snapshot, memory, at, &dispatch);
		at = (uintptr_t)dispatch.outer;
	}
	return r;
}

/* The runs of one thread. */
static int add_line(struct snapshot *snapshot, struct memory *memory, struct arena_line *line,
		    uint64_t revision)
{
	/* Pairs with the release in emit_adopt(): a nest of an earlier session says nothing. */
	bool heard = atomic_load_explicit(&line->revision, memory_order_acquire) == revision;
	struct unweave_priv_nest nest = line->nest;
	uint32_t tid = atomic_load(&line->tid);

	for (uint32_t i = 0; heard && i < UNWEAVE_PRIV_NEST && nest.tasks[i]; i++) {
		uint32_t index = snapshot_find(snapshot, nest.tasks[i]);

		if (!index)
			continue;
		snapshot->tasks[index - 1].thread = tid;
		snapshot->tasks[index - 1].depth = i;
		snapshot->tasks[index - 1].resumed = nest.resumed[i];
	}
	return add_dispatches(snapshot, memory, nest.dispatch, tid);
}

int running_find(struct snapshot *snapshot, const struct attachment *attachment)
{
	struct arena_line *lines = arena_lines(attachment->control);
	struct memory memory = {.attachment = attachment, .error = snapshot->unread};
	uint64_t gate = __atomic_load_n(&attachment->control->config.hot.gate, __ATOMIC_RELAXED);
	/* While it is off, threads run tasks without a word. */
	uint64_t revision =
		(gate & UNWEAVE_PRIV_MODE_MASK) == ARENA_MODE_OFF ? UINT64_MAX : gate >> 8;
	int r = 0;

	for (uint32_t i = 0; i < ARENA_LINES && r == 0; i++) {
		if (atomic_load(&lines[i].state) != ARENA_LINE_LIVE)
			continue;
		snapshot->threads++;
		r = add_line(snapshot, &memory, &lines[i], revision);
	}
	if (memory.error && !snapshot->unread)
		snapshot->unread = memory.error;
	return r;
}

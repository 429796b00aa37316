/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's line says what it runs, and leads to the records of its dispatches,
 * on its stack, which say what in each chain runs. Both are read twice: what has
 * not changed in between is true of a thread that hangs, and mostly of others.
 */
#include "snapshot/running.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "unweave/link.h"

#define CHAIN_MAX 1024u

struct memory {
	pid_t pid;
	int error; /* errno, once it could not be read at all */
};

static bool read_memory(struct memory *memory, void *to, uint64_t address, size_t bytes)
{
	struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)address, bytes};
	ssize_t got;

	if (memory->error)
		return false;
	got = process_vm_readv(memory->pid, &local, 1, &remote, 1, 0);
	if (got < 0 && errno != EFAULT)
		memory->error = errno;
	return got == (ssize_t)bytes;
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
	int r;

	task->chain = snapshot->frame_count;
	r = snapshot_add_frame(snapshot, (uintptr_t)view->code, view->state, false);
	if (r == 0)
		r = add_links(snapshot, memory, rest_of(memory, view));
	task->chain_count = snapshot->frame_count - task->chain;
	task->chain_known = true;
	return r;
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

static int add_dispatches(struct snapshot *snapshot, struct memory *memory, uint64_t at)
{
	struct unweave_priv_dispatch dispatch;
	int r = 0;

	for (uint32_t i = 0; at && i < UNWEAVE_PRIV_NEST && r == 0; i++) {
		if (!read_memory(memory, &dispatch, at, sizeof(dispatch)))
			return 0;
		r = add_dispatch(snapshot, memory, at, &dispatch);
		at = (uintptr_t)dispatch.outer;
	}
	return r;
}

/* The runs of one thread. */
static int add_line(struct snapshot *snapshot, struct memory *memory, struct arena_line *line)
{
	struct unweave_priv_nest nest = line->nest;
	uint32_t tid = atomic_load(&line->tid);

	for (uint32_t i = 0; i < UNWEAVE_PRIV_NEST && nest.tasks[i]; i++) {
		uint32_t index = snapshot_find(snapshot, nest.tasks[i]);

		if (!index)
			continue;
		snapshot->tasks[index - 1].thread = tid;
		snapshot->tasks[index - 1].depth = i;
		snapshot->tasks[index - 1].resumed = nest.resumed[i];
	}
	return add_dispatches(snapshot, memory, nest.dispatch);
}

int running_find(struct snapshot *snapshot, const struct attachment *attachment)
{
	struct arena_line *lines = arena_lines(attachment->control);
	struct memory memory = {.pid = (pid_t)attachment->pid,
				.error = attachment->foreign ? EPERM : 0};
	int r = 0;

	for (uint32_t i = 0; i < ARENA_LINES && r == 0; i++) {
		if (atomic_load(&lines[i].state) != ARENA_LINE_LIVE)
			continue;
		snapshot->threads++;
		r = add_line(snapshot, &memory, &lines[i]);
	}
	if (memory.error && !snapshot->unread)
		snapshot->unread = memory.error;
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* All of one task, from when it is chosen. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/snapshot.h"
#include "util/grow.h"
#include "view/naming.h"
#include "watch/inside.h"

#define WAKERS_MOST (sizeof(((struct chosen *)0)->wakers) / sizeof(struct watch_waker))

void detail_run(struct watch *watch, const struct model_run *run)
{
	struct chosen *chosen = &watch->chosen;

	chosen->runs[chosen->runs_seen++ % WATCH_RUNS_KEPT] =
		(struct watch_run){.start = run->start,
				   .end = run->end,
				   .thread = run->thread,
				   .waited = chosen->waited,
				   .queued = chosen->queued};
	chosen->waited = chosen->queued = WATCH_UNKNOWN;
	if (!run->begin_unknown && !run->end_unknown)
		histogram_add(&chosen->run, run->end - run->start);
}

/* One more wake by this waker. Those for whom there is no room are left out. */
static void note_waker(struct chosen *chosen, uint64_t task, uint32_t source)
{
	struct watch_waker *waker = chosen->wakers;
	const struct watch_waker *end = waker + chosen->waker_count;

	while (waker < end && (waker->task != task || waker->source != source))
		waker++;
	if (waker == end) {
		if (chosen->waker_count == WAKERS_MOST)
			return;
		chosen->waker_count++;
		*waker = (struct watch_waker){.task = task, .source = source};
	}
	waker->wakes++;
}

void detail_wait(struct watch *watch, const struct model_wait *wait)
{
	struct chosen *chosen = &watch->chosen;
	uint64_t woken = wait->woken ? wait->woken : wait->end;

	if (wait->woken)
		note_waker(chosen, wait->waker, wait->source);
	chosen->waited = chosen->queued = WATCH_UNKNOWN;
	if (wait->begin_unknown || wait->end_unknown)
		return;
	chosen->waited = woken - wait->start;
	histogram_add(&chosen->wait, chosen->waited);
	if (!wait->woken)
		return;
	chosen->queued = wait->end - woken;
	histogram_add(&chosen->queue, chosen->queued);
}

void detail_end(struct watch *watch, const struct model_task *task)
{
	watch->chosen.told.ended = true;
	watch->chosen.told.end = task->end;
}

void detail_refresh(struct watch *watch)
{
	struct chosen *chosen = &watch->chosen;
	const struct watch_task *task = chosen->id ? watch_task_find(watch, chosen->id) : NULL;

	if (!task) {
		/* The table forgets who has ended. */
		chosen->told.ended |= chosen->met;
		return;
	}
	chosen->met = true;
	chosen->told.ended = false;
	chosen->told.at = watch->totals.now;
	select_row(watch, task, &chosen->told.row);
}

void detail_fini(struct watch *watch)
{
	free(watch->chosen.frames);
	watch->chosen = (struct chosen){0};
}

void detail_begin(struct watch *watch, uint64_t task)
{
	detail_fini(watch);
	watch->chosen.id = task;
	watch->chosen.waited = watch->chosen.queued = WATCH_UNKNOWN;
	watch->chosen.told.chosen = watch->totals.now;
}

int watch_choose(struct watch *watch, uint64_t task)
{
	int r = 0;

	if (task == watch->chosen.id)
		return 0;
	detail_begin(watch, task);
	if (task && watch->reader)
		r = replay_again(watch);
	if (r == 0)
		detail_refresh(watch);
	return r;
}

static int add_frame(struct watch *watch, uint64_t address, int32_t state, bool omitted)
{
	struct chosen *chosen = &watch->chosen;
	struct watch_frame *frame = grow(chosen->frames, chosen->frame_count,
					 &chosen->frame_capacity, 32, sizeof(*frame));
	struct symbols *symbols = watch_symbols(watch);
	struct symbol_frame known;

	if (!frame)
		return -ENOMEM;
	chosen->frames = frame;
	frame += chosen->frame_count++;
	*frame = (struct watch_frame){.address = address, .state = state, .omitted = omitted};
	if (omitted || !symbols)
		return 0;
	known = naming_chain_frame(symbols, address, state);
	if (known.function)
		snprintf(frame->name, sizeof(frame->name), "%s", known.function);
	else
		naming_nameless(symbols_find(symbols, address), address, frame->name,
				sizeof(frame->name));
	frame->file = known.file;
	frame->line = known.line;
	if (UNWEAVE_STATE_IS_LINE(state))
		frame->state = 0;
	return 0;
}

/* Read where it lies, in the memory of the program. */
static const char *chain_in_memory(struct watch *watch, uint64_t id)
{
	const struct snapshot_task *task;
	struct snapshot snapshot;
	const char *why = NULL;

	if (!table_index(id))
		return "it found no place in the task table";
	if (snapshot_take_task(&snapshot, watch->attachment, id) < 0)
		return "out of memory";
	task = snapshot.count ? &snapshot.tasks[0] : NULL;
	if (!task)
		why = "it has ended";
	else if (snapshot.unread)
		why = strerror(snapshot.unread);
	else if (!task->chain_known)
		why = task->task.head ? "it ran while it was read" : "the program does not tell it";
	for (uint32_t i = 0; !why && i < task->chain_count; i++) {
		const struct snapshot_frame *frame = &snapshot.frames[task->chain + i];

		if (add_frame(watch, frame->address, frame->state, frame->omitted) < 0)
			why = "out of memory";
	}
	snapshot_fini(&snapshot);
	return why;
}

/* As the events told it. */
static const char *chain_in_model(struct watch *watch, uint64_t id)
{
	const struct model_task *task = watch->model ? model_task(watch->model, id) : NULL;
	const struct tree *tree;

	if (!task)
		return "it has ended";
	tree = model_tree(watch->model);
	for (uint32_t at = task->stack; at; at = tree_at(tree, at)->parent) {
		const struct tree_node *node = tree_at(tree, at);

		if (add_frame(watch, node->address, node->state, node->kind == SPLICE_OMITTED) < 0)
			return "out of memory";
	}
	return watch->chosen.frame_count ? NULL : "the trace does not tell it";
}

static void find_frames(struct watch *watch)
{
	struct chosen *chosen = &watch->chosen;
	struct watch_detail *told = &chosen->told;

	/* As it was when it could be read for the last time. */
	if (watch->totals.over && !told->ended && chosen->frame_count)
		return;
	chosen->frame_count = 0;
	if (told->ended || watch->totals.over)
		told->no_frames = told->ended ? "it has ended" : "the program has ended";
	else if (watch->attachment)
		told->no_frames = chain_in_memory(watch, chosen->id);
	else
		told->no_frames = chain_in_model(watch, chosen->id);
	told->frames = chosen->frames;
	told->frame_count = chosen->frame_count;
}

static void find_runs(struct watch *watch)
{
	struct chosen *chosen = &watch->chosen;
	const struct watch_task *task = &chosen->told.row.task;
	struct watch_run *to = chosen->last_runs;
	uint64_t left = chosen->runs_seen < WATCH_RUNS_KEPT ? chosen->runs_seen : WATCH_RUNS_KEPT;

	if (!chosen->told.ended && task->state == WATCH_RUNNING)
		*to++ = (struct watch_run){.start = task->since,
					   .thread = task->thread,
					   .waited = chosen->waited,
					   .queued = chosen->queued};
	for (uint64_t at = chosen->runs_seen; left && to < chosen->last_runs + WATCH_RUNS_KEPT;
	     left--)
		*to++ = chosen->runs[--at % WATCH_RUNS_KEPT];
	chosen->told.runs = chosen->last_runs;
	chosen->told.run_count = (uint32_t)(to - chosen->last_runs);
}

static int by_wakes(const void *a, const void *b)
{
	const struct watch_waker *one = a, *two = b;

	return one->wakes > two->wakes ? -1 : one->wakes < two->wakes;
}

static void name_task(struct watch *watch, uint64_t id, char to[WATCH_TEXT])
{
	const struct watch_task *task = id ? watch_task_find(watch, id) : NULL;

	to[0] = '\0';
	if (task)
		watch_name(watch, task, to);
}

static void find_wakers(struct watch *watch)
{
	struct chosen *chosen = &watch->chosen;
	struct watch_detail *told = &chosen->told;

	qsort(chosen->wakers, chosen->waker_count, sizeof(chosen->wakers[0]), by_wakes);
	told->wakers = chosen->wakers;
	told->waker_count =
		chosen->waker_count < WATCH_WAKERS_KEPT ? chosen->waker_count : WATCH_WAKERS_KEPT;
	for (uint32_t i = 0; i < told->waker_count; i++)
		name_task(watch, chosen->wakers[i].task, chosen->wakers[i].name);
}

static void find_children(struct watch *watch)
{
	struct chosen *chosen = &watch->chosen;
	struct watch_detail *told = &chosen->told;

	told->child_count = 0;
	for (uint32_t i = 0; i < watch->task_count; i++) {
		if (watch->tasks[i].parent != chosen->id)
			continue;
		if (told->child_count < WATCH_CHILDREN_KEPT)
			chosen->children[told->child_count] = watch->tasks[i].id;
		told->child_count++;
	}
	told->children = chosen->children;
	told->children_listed =
		(uint32_t)(told->child_count < WATCH_CHILDREN_KEPT ? told->child_count
								   : WATCH_CHILDREN_KEPT);
}

const struct watch_detail *watch_detail(struct watch *watch)
{
	struct chosen *chosen = &watch->chosen;
	struct watch_detail *told = &chosen->told;
	const struct watch_task *task = &told->row.task;

	if (!chosen->met)
		return NULL;
	name_task(watch, task->parent, told->parent_name);
	name_task(watch,
		  task->state == WATCH_WAITING && task->waits == UNWEAVE_WAIT_TASK ? task->awaits
										   : 0,
		  told->awaits_name);
	find_frames(watch);
	find_runs(watch);
	find_wakers(watch);
	find_children(watch);
	told->run = watch->model ? &chosen->run : NULL;
	told->wait = watch->model ? &chosen->wait : NULL;
	told->queue = watch->model ? &chosen->queue : NULL;
	return told;
}

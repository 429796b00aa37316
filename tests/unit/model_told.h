/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model told of a trace that the test made, and what it should have, as
 * lines of text that can be sorted and compared.
 */
#ifndef TESTS_MODEL_TOLD_H
#define TESTS_MODEL_TOLD_H

#include "model/model.h"

#include <stdarg.h>

#include "check.h"
#include "maker.h"

#define TOLD_MOST 60000u

struct told {
	char (*lines)[160];
	uint32_t count;
};

static struct told told, expected;
static struct model_totals totals;
static struct maker maker;

__attribute__((format(printf, 2, 3))) static inline void note(struct told *to, const char *format,
							      ...)
{
	va_list arguments;

	if (!to->lines)
		to->lines = calloc(TOLD_MOST, sizeof(*to->lines));
	if (!to->lines || to->count == TOLD_MOST) {
		printf("Bail out! no room\n");
		exit(1);
	}
	va_start(arguments, format);
	vsnprintf(to->lines[to->count++], sizeof(*to->lines), format, arguments);
	va_end(arguments);
}

static inline void note_run(struct told *to, uint64_t task, uint32_t thread, uint32_t depth,
			    uint64_t start, uint64_t end, uint64_t inner, uint64_t leaf,
			    const char *marks)
{
	note(to,
	     "run %" PRIu64 " thread %u depth %u %" PRIu64 "-%" PRIu64 " inner %" PRIu64
	     " in %#" PRIx64 "%s",
	     task, thread, depth, start, end, inner, leaf, marks);
}

static inline void note_wait(struct told *to, uint64_t task, uint64_t start, uint64_t woken,
			     uint64_t end, uint64_t waker, uint64_t leaf, const char *marks)
{
	note(to,
	     "wait %" PRIu64 " %" PRIu64 "-%" PRIu64 "-%" PRIu64 " by %" PRIu64 " in %#" PRIx64
	     "%s",
	     task, start, woken, end, waker, leaf, marks);
}

static inline void note_task(struct told *to, uint64_t task, uint64_t parent, const char *label,
			     uint64_t created, uint64_t ended, uint64_t busy, uint64_t pending,
			     uint64_t queued, uint64_t runs, int end)
{
	note(to,
	     "task %" PRIu64 " of %" PRIu64 " '%s' %" PRIu64 "-%" PRIu64 " busy %" PRIu64
	     " pending %" PRIu64 " queued %" PRIu64 " runs %" PRIu64 " end %d",
	     task, parent, label, created, ended, busy, pending, queued, runs, end);
}

static const struct tree *tree;

static inline uint64_t leaf_of(uint32_t stack)
{
	return stack ? tree_at(tree, stack)->address : 0;
}

static inline int on_run(void *data, const struct model_run *run)
{
	char marks[64];

	(void)data;
	snprintf(marks, sizeof(marks), "%s%s%s", run->begin_unknown ? " begin?" : "",
		 run->end_unknown ? " end?" : "", run->last ? " last" : "");
	note_run(&told, run->task->id, run->thread, run->depth, run->start, run->end, run->inner,
		 leaf_of(run->stack), marks);
	return 0;
}

static inline int on_wait(void *data, const struct model_wait *wait)
{
	char marks[64];

	(void)data;
	snprintf(marks, sizeof(marks), "%s%s%s", wait->first ? " first" : "",
		 wait->begin_unknown ? " begin?" : "", wait->end_unknown ? " end?" : "");
	note_wait(&told, wait->task->id, wait->start, wait->woken, wait->end, wait->waker,
		  leaf_of(wait->stack), marks);
	return 0;
}

static inline int on_task(void *data, struct model_task *task)
{
	(void)data;
	note_task(&told, task->id, task->parent, task->label, task->created, task->ended,
		  task->busy, task->pending, task->queued, task->runs, (int)task->end);
	return 0;
}

static inline int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static inline void compare(void)
{
	CHECK_EQ(told.count, expected.count);
	qsort(told.lines, told.count, sizeof(*told.lines), by_text);
	qsort(expected.lines, expected.count, sizeof(*expected.lines), by_text);
	for (uint32_t i = 0; i < told.count && i < expected.count; i++)
		CHECK_STR_EQ(told.lines[i], expected.lines[i]);
}

static inline void read_window(uint64_t from, uint64_t to, struct model_sink sink)
{
	struct reader *reader = NULL;
	struct model *model = NULL;
	struct diag diag = {0};

	told.count = 0;
	maker_must(reader_open(&reader, maker_path(), NULL, NULL, &diag));
	maker_must(model_new(&model, reader));
	tree = model_tree(model);
	model_set_window(model, from, to);
	CHECK_EQ(model_read(model, &sink, &diag), 0);
	totals = *model_totals(model);
	model_free(model);
	reader_free(reader);
	unlink(maker_path());
}

static inline void read_back(void)
{
	read_window(0, UINT64_MAX,
		    (struct model_sink){.run = on_run, .wait = on_wait, .task = on_task});
}

static inline void end_trace(void)
{
	maker_flush(&maker);
	maker_end(&maker, 0);
	maker_fini(&maker);
}

static inline void put(struct encoder *to, uint16_t kind, uint64_t time, uint64_t task)
{
	maker_put(to, (struct unweave_event){.kind = kind, .time = time, .task = task});
}

static inline void put_full(struct encoder *to, uint16_t kind, uint64_t time, uint64_t task,
			    uint64_t other, uint64_t value, uint64_t leaf)
{
	struct unweave_event event = {
		.kind = kind, .time = time, .task = task, .other = other, .value = value};

	if (leaf) {
		event.stack = stacks_push(maker.stacks, NULL, 0x100, 0, UNWEAVE_FRAME_CODE);
		event.stack = stacks_push(maker.stacks, event.stack, leaf, 0, UNWEAVE_FRAME_CODE);
	}
	maker_put(to, event);
}

#define CREATE UNWEAVE_EVENT_CREATE
#define RESUME UNWEAVE_EVENT_RESUME
#define SUSPEND UNWEAVE_EVENT_SUSPEND
#define COMPLETE UNWEAVE_EVENT_COMPLETE
#define WAKE UNWEAVE_EVENT_WAKE

static uint64_t seed;

static inline uint64_t any(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

#endif /* TESTS_MODEL_TOLD_H */

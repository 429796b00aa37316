/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a trace says, and in whatever order: what a model makes of it is in
 * order, and its sums are those of the pieces.
 */
#include <stdlib.h>

#include "model/model.h"
#include "trace_file.h"
#include "unweave/callback.h"

#define PIECES_MOST 500000u /* that an input may take the time for */

struct sums {
	struct model *model;
	uint64_t from;
	uint64_t runs, waits, tasks, samples, pending, queued, lives;
	uint64_t pieces;
};

static int count(struct sums *sums)
{
	return ++sums->pieces < PIECES_MOST ? 0 : -1;
}

static void check_stack(const struct sums *sums, uint32_t stack)
{
	const struct tree *tree = model_tree(sums->model);

	must(stack <= tree_count(tree));
	if (stack)
		must(tree_at(tree, stack)->parent < stack);
}

static int on_created(void *data, struct model_task *task)
{
	struct sums *sums = data;

	must(model_task(sums->model, task->id) == task && task->label && !task->user);
	task->user = malloc(1);
	sums->lives++;
	return count(sums);
}

static int on_run(void *data, const struct model_run *run)
{
	struct sums *sums = data;

	must(run->start <= run->end && run->start >= sums->from);
	must(model_task(sums->model, run->task->id) == run->task);
	check_stack(sums, run->stack);
	check_stack(sums, run->hottest);
	sums->runs++;
	return count(sums);
}

static int on_wait(void *data, const struct model_wait *wait)
{
	struct sums *sums = data;
	uint64_t woken = wait->woken ? wait->woken : wait->end;

	must(wait->start <= woken && woken <= wait->end && wait->start >= sums->from);
	must(!wait->task->site || !(wait->task->site->flags & UNWEAVE_SITE_STANDING));
	check_stack(sums, wait->stack);
	sums->waits++;
	sums->pending += woken - wait->start;
	sums->queued += wait->end - woken;
	return count(sums);
}

static int on_sample(void *data, const struct model_sample *sample)
{
	struct sums *sums = data;

	check_stack(sums, sample->stack);
	must(sample->outcome < SPLICE_OUTCOMES && sample->time >= sums->from);
	sums->samples++;
	return count(sums);
}

static void on_dropped(void *data, struct model_task *task)
{
	struct sums *sums = data;

	must(task->user != NULL);
	free(task->user);
	task->user = NULL;
	sums->lives--;
}

static int on_task(void *data, struct model_task *task)
{
	struct sums *sums = data;

	must(task->created <= task->ended);
	check_stack(sums, task->stack);
	sums->tasks++;
	on_dropped(data, task);
	return count(sums);
}

static int on_loop(void *data, const struct model_loop *loop)
{
	struct sums *sums = data;
	const struct model_iteration *worst = &loop->worst;

	must(model_task(sums->model, loop->task->id) == loop->task);
	must(loop->thread_count <= MODEL_LOOP_THREADS);
	must(loop->iteration.count == loop->iterations && loop->iteration.sum == loop->busy);
	must(loop->iteration.max == worst->ns && loop->lag.count >= (loop->lag.max != 0));
	must(worst->runs <= loop->runs && worst->ready <= loop->lag.count);
	check_stack(sums, worst->stack);
	return count(sums);
}

static bool is_same_page(void *data, uint64_t one, uint64_t other)
{
	(void)data;
	return one >> 12 == other >> 12;
}

static int on_idle(void *data, uint32_t thread, uint64_t start, uint64_t end)
{
	(void)thread;
	must(start <= end);
	return count(data);
}

static void read_part(struct reader *reader, uint64_t from, uint64_t to)
{
	struct sums sums = {.from = from};
	struct model_sink sink = {
		.created = on_created,
		.run = on_run,
		.wait = on_wait,
		.sample = on_sample,
		.task = on_task,
		.loop = on_loop,
		.dropped = on_dropped,
		.idle = on_idle,
		.data = &sums,
	};
	const struct model_totals *totals;
	int r;

	must(model_new(&sums.model, reader) == 0);
	model_set_window(sums.model, from, to);
	model_set_folds(sums.model, is_same_page, NULL);
	r = model_read(sums.model, &sink, NULL);
	totals = model_totals(sums.model);
	must(!sums.lives);
	if (r == 0) {
		must(totals->runs == sums.runs && totals->waits == sums.waits);
		must(totals->tasks == sums.tasks && totals->completed <= totals->tasks);
		must(totals->samples == sums.samples && totals->first <= totals->last);
		must(totals->pending == sums.pending && totals->queued == sums.queued);
	}
	model_free(sums.model);
}

static void read_trace(const char *path)
{
	struct reader *reader = NULL;
	uint64_t first, last;

	if (reader_open(&reader, path, NULL, NULL, NULL) < 0)
		return;
	first = reader_summary(reader)->first;
	last = reader_summary(reader)->last;
	read_part(reader, 0, UINT64_MAX);
	if (first < last)
		read_part(reader, first + (last - first) / 3, first + (last - first) / 3 * 2);
	reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	read_trace(trace_file_repaired(bytes, length));
	return 0;
}

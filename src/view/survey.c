/* SPDX-License-Identifier: Apache-2.0 */
#include "view/survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/grow.h"

#define TID_KEY(tid) (UINT64_C(1) << 32 | (tid))
#define MASKED_THREADS 64u /* of which it is known which tasks ran there */

DEFINE_FREEP(struct survey, survey_free)

/* A text that stays; NULL: no memory. */
static const char *keep(struct survey *survey, const char *text)
{
	uint32_t number = texts_add(survey->texts, text);

	return number == UINT32_MAX ? NULL : texts_get(survey->texts, number);
}

static bool is_wanted(const struct survey *survey, const struct model_task *task)
{
	return !survey->options.filter || strcasestr(task->label, survey->options.filter);
}

/* NULL: no memory. */
static struct survey_thread *add_thread(struct survey *survey, uint64_t key)
{
	struct survey_thread *thread, *threads;

	threads = grow(survey->threads, survey->thread_count, &survey->thread_capacity, 16,
		       sizeof(*threads));
	if (!threads)
		return NULL;
	survey->threads = threads;
	if (map_put(&survey->thread_index, key, survey->thread_count) < 0)
		return NULL;
	thread = &survey->threads[survey->thread_count++];
	*thread = (struct survey_thread){.name = ""};
	return thread;
}

static struct survey_thread *thread_of(struct survey *survey, uint32_t number)
{
	uint32_t *known = map_find(&survey->thread_index, number);
	const struct reader_thread *said;
	struct survey_thread *thread;

	if (known)
		return &survey->threads[*known];
	thread = add_thread(survey, number);
	said = reader_thread(survey->options.reader, number);
	if (!thread)
		return NULL;
	thread->thread = number;
	if (said) {
		thread->tid = said->tid;
		thread->name = said->name;
	}
	return thread;
}

static struct survey_thread *sampled_thread(struct survey *survey,
					    const struct model_sample *sample)
{
	uint32_t *known;
	struct survey_thread *thread;

	if (sample->thread)
		return thread_of(survey, sample->thread);
	known = map_find(&survey->thread_index, TID_KEY(sample->tid));
	if (known)
		return &survey->threads[*known];
	thread = add_thread(survey, TID_KEY(sample->tid));
	if (thread) {
		thread->tid = sample->tid;
		thread->name = keep(survey, reader_tid_name(survey->options.reader, sample->tid));
	}
	return thread && thread->name ? thread : NULL;
}

static int on_created(void *data, struct model_task *task)
{
	struct survey *survey = data;
	int r = survey->options.limits ? lints_created(&survey->lints, task) : 0;

	return r < 0 ? r : activities_created(&survey->activities, survey->model, task);
}

static uint64_t length_of(const struct survey_run *run)
{
	return run->run.end - run->run.start;
}

/* Both heaps have the least at the top, which goes first. */
static void sift_run(struct survey *survey, uint32_t at)
{
	struct survey_run *heap = survey->runs, moved = heap[at];
	uint32_t child;

	while ((child = 2 * at + 1) < survey->run_count) {
		if (child + 1 < survey->run_count &&
		    length_of(&heap[child + 1]) < length_of(&heap[child]))
			child++;
		if (length_of(&heap[child]) >= length_of(&moved))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

static int keep_run(struct survey *survey, const struct model_run *run)
{
	struct survey_run made = {.run = *run, .task = run->task->id};
	uint32_t most = survey->options.runs_most;

	if (!most || (survey->run_count == most && length_of(&survey->runs[0]) >= length_of(&made)))
		return 0;
	if (!is_wanted(survey, run->task))
		return 0;
	made.run.task = NULL;
	made.label = keep(survey, run->task->label);
	if (!made.label)
		return -ENOMEM;
	if (survey->run_count < most) {
		survey->runs[survey->run_count++] = made;
		if (survey->run_count == most)
			for (uint32_t i = most; i--;)
				sift_run(survey, i);
	} else {
		survey->runs[0] = made;
		sift_run(survey, 0);
	}
	return 0;
}

static unsigned bucket_of(uint64_t ns)
{
	return ns ? 63 - (unsigned)__builtin_clzll(ns) : 0;
}

static int on_run(void *data, const struct model_run *run)
{
	struct survey *survey = data;
	struct survey_thread *thread = thread_of(survey, run->thread);
	uint64_t length = run->end - run->start;
	uint32_t index;

	if (!thread)
		return -ENOMEM;
	index = (uint32_t)(thread - survey->threads);
	thread->runs++;
	if (!run->depth)
		thread->busy += length;
	if (index >= MASKED_THREADS)
		thread->tasks = UINT64_MAX;
	else
		thread->tasks += activities_first_on(run->task, index);
	survey->run_counts[bucket_of(length)]++;
	survey->run_ns[bucket_of(length)] += length;
	if (survey->options.limits && lints_run(&survey->lints, run) < 0)
		return -ENOMEM;
	return keep_run(survey, run);
}

static struct survey_wait *wait_of(struct survey *survey, uint32_t stack)
{
	struct survey_wait *waits =
		grow_to(survey->waits, stack, &survey->wait_capacity, sizeof(*waits));

	if (!waits)
		return NULL;
	survey->waits = waits;
	return &waits[stack];
}

static int on_wait(void *data, const struct model_wait *wait)
{
	struct survey *survey = data;
	struct survey_wait *at = wait_of(survey, wait->stack);
	const struct model_totals *totals = model_totals(survey->model);
	uint64_t woken = wait->woken ? wait->woken : wait->end, length = wait->end - wait->start;

	if (!at)
		return -ENOMEM;
	at->count++;
	at->waited += woken > wait->start || !wait->woken;
	at->pending += woken - wait->start;
	at->queued += wait->end - woken;
	if (length > at->longest)
		at->longest = length;
	if (wait->end_unknown) {
		at->unended++;
		/* That a timer has not run down yet is no wonder. */
		if (!wait->task->site || !wait->task->site->kind ||
		    strcmp(wait->task->site->kind, "timer") != 0)
			at->stuck += length >= (totals->last - totals->first) / 2;
	}
	return survey->options.limits ? lints_wait(&survey->lints, wait) : 0;
}

/* NULL: no memory. */
static struct survey_sleep *sleep_of(struct survey *survey, uint32_t stack)
{
	uint32_t *known = map_find(&survey->sleep_index, stack);
	struct survey_sleep *sleeps;

	if (known)
		return &survey->sleeps[*known];
	sleeps = grow(survey->sleeps, survey->sleep_count, &survey->sleep_capacity, 16,
		      sizeof(*sleeps));
	if (!sleeps)
		return NULL;
	survey->sleeps = sleeps;
	if (map_put(&survey->sleep_index, stack, survey->sleep_count) < 0)
		return NULL;
	survey->sleeps[survey->sleep_count] = (struct survey_sleep){.stack = stack};
	return &survey->sleeps[survey->sleep_count++];
}

static int on_sleep(struct survey *survey, const struct model_sample *sample)
{
	struct survey_sleep *sleep = sample->task ? sleep_of(survey, sample->stack) : NULL;

	if (sleep)
		sleep->ns += sample->weight;
	return sample->task && !sleep ? -ENOMEM : 0;
}

static int on_sample(void *data, const struct model_sample *sample)
{
	struct survey *survey = data;
	struct survey_thread *thread = sampled_thread(survey, sample);

	if (!thread)
		return -ENOMEM;
	if (sample->flags & SAMPLE_ASLEEP)
		return on_sleep(survey, sample);
	thread->samples++;
	thread->cpu += sample->weight;
	return 0;
}

static int on_idle(void *data, uint32_t number, uint64_t start, uint64_t end)
{
	struct survey_thread *thread = thread_of(data, number);

	if (!thread)
		return -ENOMEM;
	thread->idle += end - start;
	lints_idle(&((struct survey *)data)->lints, start, end);
	return 0;
}

static int on_loop(void *data, const struct model_loop *loop)
{
	return loops_add(&((struct survey *)data)->loops, loop);
}

static uint64_t key_of(const struct model_task *task, enum survey_order order)
{
	switch (order) {
	case SURVEY_BY_CPU:
		return task->cpu;
	case SURVEY_BY_RUNNING:
		return task->busy;
	case SURVEY_BY_WAITING:
		return task->pending;
	case SURVEY_BY_QUEUED:
		return task->queued;
	case SURVEY_BY_RUNS:
		return task->runs;
	case SURVEY_BY_START:
		return UINT64_MAX - task->created;
	default:
		return task->ended - task->created;
	}
}

static void sift_task(struct survey *survey, uint32_t at)
{
	struct survey_task *heap = survey->tasks, moved = heap[at];
	uint32_t child;

	while ((child = 2 * at + 1) < survey->task_count) {
		if (child + 1 < survey->task_count && heap[child + 1].key < heap[child].key)
			child++;
		if (heap[child].key >= moved.key)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

static bool stands(const struct model_task *task)
{
	return naming_role(task->site) != NAMING_TASK;
}

static int keep_task(struct survey *survey, const struct model_task *task)
{
	struct survey_task made = {.task = *task, .key = key_of(task, survey->options.order)};
	uint32_t most = survey->options.tasks_most;

	if (!most || (survey->task_count == most && survey->tasks[0].key >= made.key))
		return 0;
	if (!is_wanted(survey, task) ||
	    (survey->options.incomplete && (task->end != MODEL_INCOMPLETE || stands(task))))
		return 0;
	made.task.user = NULL;
	made.task.label = keep(survey, task->label);
	if (!made.task.label)
		return -ENOMEM;
	if (survey->task_count < most) {
		survey->tasks[survey->task_count++] = made;
		if (survey->task_count == most)
			for (uint32_t i = most; i--;)
				sift_task(survey, i);
	} else {
		survey->tasks[0] = made;
		sift_task(survey, 0);
	}
	return 0;
}

static int on_task(void *data, struct model_task *task)
{
	struct survey *survey = data;
	int r = keep_task(survey, task);

	if (r == 0 && survey->options.limits)
		r = lints_task(&survey->lints, task);
	survey->uncertain += task->uncertain;
	survey->standing += stands(task);
	survey->open += stands(task) && task->end == MODEL_INCOMPLETE;
	return r < 0 ? r : activities_ended(&survey->activities, survey->model, task);
}

static void on_dropped(void *data, struct model_task *task)
{
	struct survey *survey = data;

	activities_dropped(&survey->activities, survey->model, task);
}

static void begin(void *data, struct model *model)
{
	((struct survey *)data)->model = model;
}

static int by_length(const void *a, const void *b)
{
	const struct survey_run *one = a, *two = b;

	if (length_of(one) != length_of(two))
		return length_of(one) < length_of(two) ? 1 : -1;
	return one->run.start < two->run.start ? -1 : one->run.start > two->run.start;
}

static int by_key(const void *a, const void *b)
{
	const struct survey_task *one = a, *two = b;

	if (one->key != two->key)
		return one->key < two->key ? 1 : -1;
	return one->task.id < two->task.id ? -1 : one->task.id > two->task.id;
}

static int by_node(const void *a, const void *b)
{
	const struct survey_wait *one = a, *two = b;

	return one->node < two->node ? -1 : one->node > two->node;
}

static int by_time(const void *a, const void *b)
{
	const struct survey_wait *one = a, *two = b;
	uint64_t left = one->pending + one->queued, right = two->pending + two->queued;

	if (left != right)
		return left < right ? 1 : -1;
	return by_node(a, b);
}

static void add_wait(struct survey_wait *to, const struct survey_wait *wait)
{
	to->count += wait->count;
	to->waited += wait->waited;
	to->pending += wait->pending;
	to->queued += wait->queued;
	to->unended += wait->unended;
	to->stuck += wait->stuck;
	if (wait->longest > to->longest)
		to->longest = wait->longest;
}

/* From one for each stack of the tree to one for each chain of functions. */
static void merge_waits(struct survey *survey)
{
	struct survey_wait *waits = survey->waits;
	uint32_t count = 0, merged = 0;

	for (uint32_t i = 0; i < survey->wait_capacity; i++)
		if (waits[i].count) {
			waits[count] = waits[i];
			waits[count++].node = i ? profile_stack(survey->profile, i) : 0;
		}
	if (count)
		qsort(waits, count, sizeof(*waits), by_node);
	for (uint32_t i = 0; i < count; i++) {
		if (merged && waits[merged - 1].node == waits[i].node)
			add_wait(&waits[merged - 1], &waits[i]);
		else
			waits[merged++] = waits[i];
	}
	if (merged)
		qsort(waits, merged, sizeof(*waits), by_time);
	survey->wait_count = merged;
}

static int finish_lints(struct survey *survey)
{
	int r = survey->options.limits ? lints_finish(&survey->lints, !survey->totals->lost) : 0;

	if (r == 0)
		r = lints_locate(&survey->lints, profile_tree(survey->profile));
	lints_join(&survey->lints);
	return r;
}

static void put_in_order(struct survey *survey)
{
	merge_waits(survey);
	loops_finish(&survey->loops);
	if (survey->run_count)
		qsort(survey->runs, survey->run_count, sizeof(*survey->runs), by_length);
	if (survey->task_count)
		qsort(survey->tasks, survey->task_count, sizeof(*survey->tasks), by_key);
}

static int init_lints(struct survey *survey)
{
	const struct survey_options *options = &survey->options;
	/* What tasks waited for is known of the end only. */
	bool to_end = !options->to || options->to > reader_summary(options->reader)->last;

	return options->limits ? lints_init(&survey->lints, options->limits,
					    to_end ? options->reader : NULL, options->symbols)
			       : 0;
}

static int init(struct survey *survey, const struct survey_options *options)
{
	survey->options = *options;
	survey->runs = calloc(options->runs_most + 1, sizeof(*survey->runs));
	survey->tasks = calloc(options->tasks_most + 1, sizeof(*survey->tasks));
	if (!survey->runs || !survey->tasks || init_lints(survey) < 0 ||
	    activities_init(&survey->activities, options->symbols) < 0 ||
	    loops_init(&survey->loops, options->symbols) < 0 || texts_new(&survey->texts) < 0 ||
	    map_init(&survey->thread_index, UINT32_MAX) < 0 ||
	    map_init(&survey->sleep_index, UINT32_MAX) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < reader_thread_count(options->reader); i++)
		if (!thread_of(survey, reader_thread_at(options->reader, i)->thread))
			return -ENOMEM;
	return 0;
}

int survey_new(struct survey **ret, const struct survey_options *options, struct diag *diag)
{
	cleanup(survey_freep) struct survey *survey = calloc(1, sizeof(*survey));
	struct model_sink also = {
		.created = on_created,
		.run = on_run,
		.wait = on_wait,
		.sample = on_sample,
		.task = on_task,
		.dropped = on_dropped,
		.idle = on_idle,
		.loop = on_loop,
		.data = survey,
	};
	struct profile_options reading = {
		.reader = options->reader,
		.symbols = options->symbols,
		.progress = options->progress,
		.progress_data = options->progress_data,
		.no_tasks = true,
		.from = options->from,
		.to = options->to,
		.also = &also,
		.also_begin = begin,
	};
	int r = survey ? init(survey, options) : -ENOMEM;

	if (r < 0)
		return diag_set(diag, r, "out of memory");
	r = profile_new(&survey->profile, &reading, diag);
	if (r < 0)
		return r;
	survey->totals = profile_totals(survey->profile);
	put_in_order(survey);
	if (finish_lints(survey) < 0)
		return diag_set(diag, -ENOMEM, "out of memory");
	*ret = take(survey);
	return 0;
}

struct survey *survey_free(struct survey *survey)
{
	if (!survey)
		return NULL;
	profile_free(survey->profile);
	activities_fini(&survey->activities);
	loops_fini(&survey->loops);
	lints_fini(&survey->lints);
	texts_free(survey->texts);
	map_fini(&survey->thread_index);
	map_fini(&survey->sleep_index);
	free(survey->sleeps);
	free(survey->waits);
	free(survey->runs);
	free(survey->tasks);
	free(survey->threads);
	free(survey);
	return NULL;
}

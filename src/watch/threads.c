/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of the picture: how busy they are, and with what. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "watch/inside.h"

#define SHOW_ENDED_NS (10 * NS_PER_S)

/* Where a thread is, or would be. */
static uint32_t place_of(const struct threads *threads, uint32_t number)
{
	uint32_t low = 0, high = threads->count;

	/* Most have the number after the one before. */
	if (number && number <= high && threads->at[number - 1].told.thread == number)
		return number - 1;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (threads->at[middle].told.thread < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct thread *find(const struct threads *threads, uint32_t number)
{
	uint32_t place = place_of(threads, number);

	return place < threads->count && threads->at[place].told.thread == number
		       ? &threads->at[place]
		       : NULL;
}

struct thread *thread_get(struct threads *threads, uint32_t number)
{
	struct thread *known = find(threads, number), *at;
	uint32_t place = place_of(threads, number);

	if (known)
		return known;
	at = grow(threads->at, threads->count, &threads->capacity, 16, sizeof(*at));
	if (!at)
		return NULL;
	threads->at = at;
	memmove(at + place + 1, at + place, (threads->count - place) * sizeof(*at));
	threads->count++;
	at[place] = (struct thread){.told.thread = number};
	return &at[place];
}

uint32_t thread_number(const struct threads *threads, uint32_t tid)
{
	for (uint32_t i = 0; i < threads->count; i++)
		if (threads->at[i].told.tid == tid && !threads->at[i].told.ended)
			return threads->at[i].told.thread;
	return 0;
}

void thread_fini(struct threads *threads)
{
	for (uint32_t i = 0; i < threads->count; i++)
		free(threads->at[i].loop);
	free(threads->at);
	*threads = (struct threads){0};
}

void thread_forget(struct threads *threads)
{
	for (uint32_t i = 0; i < threads->count; i++) {
		threads->at[i].counted = (struct thread_counts){0};
		threads->at[i].before = (struct thread_counts){0};
		threads->at[i].told.loop = 0;
	}
}

static void leave_out_ended(struct watch *watch)
{
	struct threads *threads = &watch->threads;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < threads->count; i++) {
		struct thread *thread = &threads->at[i];

		if (thread->told.ended && !thread->gone)
			thread->gone = watch->totals.now;
		if (!watch->reader && thread->gone &&
		    watch_passed(thread->gone, watch->totals.now) > SHOW_ENDED_NS) {
			free(thread->loop);
			continue;
		}
		threads->at[kept++] = *thread;
	}
	threads->count = kept;
}

/* Keeps what its loop did so far, as far as there is memory for it. */
static void show_loop(const struct watch *watch, struct thread *thread, uint64_t id)
{
	struct watch_thread *told = &thread->told;
	const struct model_loop *loop;

	if (id)
		told->loop = id;
	loop = told->loop ? model_loop(watch->model, told->loop) : NULL;
	if (loop && !thread->loop)
		thread->loop = calloc(1, sizeof(*thread->loop));
	if (loop && thread->loop) {
		thread->loop->iteration = loop->iteration;
		thread->loop->lag = loop->lag;
	}
	told->iteration = loop && thread->loop ? &thread->loop->iteration : NULL;
	told->lag = loop && thread->loop ? &thread->loop->lag : NULL;
	told->iterations = loop ? loop->iterations : 0;
}

/* What goes on counts up to now. */
static void show_lane(const struct watch *watch, struct thread *thread,
		      const struct model_lane *lane)
{
	uint64_t now = watch->totals.now;

	if (lane->task) {
		thread->told.task = lane->task;
		thread->told.task_ns = watch_passed(lane->start, now);
		thread->told.early = lane->early;
		thread->now.busy += watch_passed(lane->outer, now);
	}
	if (lane->idle)
		thread->now.idle += watch_passed(lane->idle, now);
	show_loop(watch, thread, lane->loop);
}

static void finish(struct thread *thread)
{
	struct watch_thread *told = &thread->told;

	if (!thread->heard) {
		told->busy = told->idle = told->runs_now = told->busy_all = WATCH_UNKNOWN;
		return;
	}
	told->busy = watch_passed(thread->before.busy, thread->now.busy);
	told->idle = watch_passed(thread->before.idle, thread->now.idle);
	told->runs_now = watch_passed(thread->before.runs, thread->now.runs);
	told->busy_all = thread->now.busy;
	thread->before = thread->now;
}

/* What each did up to now, and does. */
static void look(struct watch *watch)
{
	struct threads *threads = &watch->threads;

	for (uint32_t i = 0; i < threads->count; i++) {
		threads->at[i].now = threads->at[i].counted;
		threads->at[i].told.task = 0;
		threads->at[i].told.task_ns = 0;
		threads->at[i].told.early = false;
		threads->at[i].heard = false;
	}
	for (uint32_t i = 0; i < model_lanes(watch->model); i++) {
		struct model_lane lane;
		struct thread *thread;

		model_lane(watch->model, i, &lane);
		thread = find(threads, lane.thread);
		if (thread)
			thread->heard = true;
		if (thread && !thread->told.ended)
			show_lane(watch, thread, &lane);
	}
}

static void show_unheard(struct watch *watch)
{
	for (uint32_t i = 0; i < watch->threads.count && watch->unheard_count; i++) {
		struct watch_thread *told = &watch->threads.at[i].told;
		const struct unheard *run = unheard_thread(watch, told->tid);

		if (!run || told->task)
			continue;
		told->task = run->task;
		told->task_ns = WATCH_UNKNOWN;
	}
}

void thread_mark(struct watch *watch)
{
	look(watch);
	for (uint32_t i = 0; i < watch->threads.count; i++)
		watch->threads.at[i].before = watch->threads.at[i].now;
}

static void refresh_by_model(struct watch *watch)
{
	struct threads *threads = &watch->threads;

	look(watch);
	threads->idled = threads->count > 0;
	for (uint32_t i = 0; i < threads->count; i++) {
		struct thread *thread = &threads->at[i];

		finish(thread);
		threads->idled &= thread->told.ended || thread->now.idle;
	}
}

static void copy_name(const struct arena_line *line, char name[24])
{
	for (uint32_t i = 0; i < ARENA_NAME_WORDS; i++) {
		uint64_t word = atomic_load_explicit(&line->name[i], memory_order_relaxed);

		memcpy(name + i * sizeof(word), &word, sizeof(word));
	}
	name[23] = '\0';
}

/* The innermost run of a nest that the program may change meanwhile. */
static void show_nest(const struct watch *watch, const struct unweave_priv_nest *nest,
		      struct watch_thread *told)
{
	told->task = 0;
	told->task_ns = 0;
	for (uint32_t i = 0; i < UNWEAVE_PRIV_NEST && nest->tasks[i]; i++) {
		told->task = nest->tasks[i];
		told->task_ns = nest->resumed[i]
					? watch_passed(watch_ns_of(watch, nest->resumed[i]),
						       watch->totals.now)
					: WATCH_UNKNOWN;
	}
}

static int refresh_by_lines(struct watch *watch)
{
	struct arena_line *lines = arena_lines(watch->attachment->control);

	for (uint32_t i = 0; i < watch->threads.count; i++)
		watch->threads.at[i].told.ended = true;
	for (uint32_t i = 0; i < ARENA_LINES; i++) {
		struct unweave_priv_nest nest;
		struct thread *thread;

		if (atomic_load(&lines[i].state) != ARENA_LINE_LIVE)
			continue;
		thread = thread_get(&watch->threads, atomic_load(&lines[i].serial));
		if (!thread)
			return -ENOMEM;
		thread->told = (struct watch_thread){.thread = thread->told.thread,
						     .tid = atomic_load(&lines[i].tid),
						     .busy = WATCH_UNKNOWN,
						     .busy_all = WATCH_UNKNOWN,
						     .idle = WATCH_UNKNOWN,
						     .runs_now = WATCH_UNKNOWN,
						     .iterations = WATCH_UNKNOWN};
		copy_name(&lines[i], thread->told.name);
		nest = lines[i].nest;
		if (line_has_heard(watch, &lines[i]))
			show_nest(watch, &nest, &thread->told);
	}
	return 0;
}

int thread_refresh(struct watch *watch)
{
	int r = 0;

	if (watch->model)
		refresh_by_model(watch);
	else
		r = refresh_by_lines(watch);
	show_unheard(watch);
	leave_out_ended(watch);
	watch->totals.threads = watch->totals.silent = 0;
	for (uint32_t i = 0; i < watch->threads.count; i++) {
		const struct thread *thread = &watch->threads.at[i];

		watch->totals.threads += !thread->told.ended;
		watch->totals.silent += !thread->told.ended && !thread->heard && !thread->told.task;
	}
	return r;
}

void thread_keep(struct threads *threads)
{
	for (uint32_t i = 0; i < threads->count; i++)
		if (!threads->at[i].gone)
			threads->at[i].told.ended = false;
}

uint32_t watch_thread_count(const struct watch *watch)
{
	return watch->threads.count;
}

const struct watch_thread *watch_thread_at(const struct watch *watch, uint32_t index)
{
	return &watch->threads.at[index].told;
}

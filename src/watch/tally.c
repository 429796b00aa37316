/* SPDX-License-Identifier: Apache-2.0 */
/* What the model tells, added up by sites, by threads, and for the task that is chosen. */
#include <errno.h>

#include "watch/inside.h"

static int on_created(void *data, struct model_task *task)
{
	struct watch *watch = data;
	struct site *site = site_of(watch, task);

	if (!site)
		return -ENOMEM;
	if (!task->before) {
		site->counted.created++;
		watch->counted.created++;
	}
	return watch->tap && watch->tap->created ? watch->tap->created(watch->tap->data, task) : 0;
}

static int on_run(void *data, const struct model_run *run)
{
	struct watch *watch = data;
	struct site *site = site_of(watch, run->task);
	struct thread *thread = thread_get(&watch->threads, run->thread);
	uint64_t length = run->end - run->start;

	if (!site || !thread)
		return -ENOMEM;
	watch->counted.runs++;
	thread->counted.runs++;
	if (!run->depth)
		thread->counted.busy += length;
	if (!run->begin_unknown && !run->end_unknown)
		site_note(&watch->sites, &site->run, length);
	if (length > site->told.longest_run || !site->told.longest_task) {
		site->told.longest_run = length;
		site->told.longest_task = run->task->id;
	}
	if (run->task->id == watch->chosen.id)
		detail_run(watch, run);
	return watch->tap && watch->tap->run ? watch->tap->run(watch->tap->data, run) : 0;
}

static int on_wait(void *data, const struct model_wait *wait)
{
	struct watch *watch = data;
	struct site *site = site_of(watch, wait->task);
	uint64_t woken = wait->woken ? wait->woken : wait->end;

	if (!site)
		return -ENOMEM;
	if (!wait->begin_unknown && !wait->end_unknown) {
		site_note(&watch->sites, &site->wait, woken - wait->start);
		if (wait->woken)
			site_note(&watch->sites, &site->queue, wait->end - woken);
	}
	if (wait->task->id == watch->chosen.id)
		detail_wait(watch, wait);
	return watch->tap && watch->tap->wait ? watch->tap->wait(watch->tap->data, wait) : 0;
}

static int on_task(void *data, struct model_task *task)
{
	struct watch *watch = data;
	struct site *site = site_of(watch, task);

	if (!site)
		return -ENOMEM;
	watch->counted.ended++;
	site->counted.ended++;
	site->counted.busy += task->busy;
	site->counted.waited += task->pending;
	site->counted.queued += task->queued;
	site->counted.runs += task->runs;
	site->counted.wakes += task->wakes;
	site->counted.self_wakes += task->self_wakes;
	if (task->id == watch->chosen.id)
		detail_end(watch, task);
	return watch->tap && watch->tap->task ? watch->tap->task(watch->tap->data, task) : 0;
}

static int on_loop(void *data, const struct model_loop *loop)
{
	const struct model_sink *tap = ((struct watch *)data)->tap;

	return tap && tap->loop ? tap->loop(tap->data, loop) : 0;
}

static int on_idle(void *data, uint32_t number, uint64_t start, uint64_t end)
{
	struct watch *watch = data;
	struct thread *thread = thread_get(&watch->threads, number);

	if (!thread)
		return -ENOMEM;
	thread->counted.idle += end - start;
	return watch->tap && watch->tap->idle
		       ? watch->tap->idle(watch->tap->data, number, start, end)
		       : 0;
}

struct model_sink tally_sink(struct watch *watch)
{
	return (struct model_sink){
		.created = on_created,
		.run = on_run,
		.wait = on_wait,
		.task = on_task,
		.loop = on_loop,
		.idle = on_idle,
		.data = watch,
	};
}

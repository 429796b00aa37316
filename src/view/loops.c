/* SPDX-License-Identifier: Apache-2.0 */
#include "view/loops.h"

#include <errno.h>
#include <stdlib.h>

#include "util/grow.h"
#include "view/naming.h"

#define LABEL_MAX 300u

int loops_init(struct loops *loops, struct symbols *symbols)
{
	*loops = (struct loops){.symbols = symbols};
	return texts_new(&loops->texts);
}

void loops_fini(struct loops *loops)
{
	free(loops->at);
	texts_free(loops->texts);
	*loops = (struct loops){0};
}

static struct loops_spread spread_of(const struct histogram *times)
{
	return (struct loops_spread){
		.count = times->count,
		.median = histogram_quantile(times, 500),
		.p99 = histogram_quantile(times, 990),
		.longest = times->max,
	};
}

/* A text that stays; NULL: no memory. */
static const char *keep(struct loops *loops, const char *text)
{
	uint32_t number = texts_add(loops->texts, text);

	return number == UINT32_MAX ? NULL : texts_get(loops->texts, number);
}

static const char *keep_label(struct loops *loops, const struct reader_site *site)
{
	char label[LABEL_MAX] = "";

	if (site)
		naming_label(loops->symbols, site, label, sizeof(label));
	return keep(loops, label);
}

int loops_add(struct loops *loops, const struct model_loop *loop)
{
	struct loops_loop *at;

	/* It never said that it waits: nothing is known of it. */
	if (!loop->iterations && !loop->idle)
		return 0;
	at = grow(loops->at, loops->count, &loops->capacity, 8, sizeof(*loops->at));
	if (!at)
		return -ENOMEM;
	loops->at = at;
	at += loops->count;
	*at = (struct loops_loop){
		.label = keep(loops, loop->task->label),
		.site = loop->task->site,
		.task = loop->task->id,
		.thread = loop->thread_count ? loop->threads[0] : 0,
		.thread_count = loop->thread_count,
		.iterations = loop->iterations,
		.idle = loop->idle,
		.busy = loop->busy,
		.runs = loop->runs,
		.running = loop->running,
		.iteration = spread_of(&loop->iteration),
		.lag = spread_of(&loop->lag),
		.worst = {.iteration = loop->worst, .label = keep_label(loops, loop->worst.site)},
	};
	if (!at->label || !at->worst.label)
		return -ENOMEM;
	loops->count++;
	return 0;
}

static int by_busy(const void *a, const void *b)
{
	const struct loops_loop *one = a, *two = b;

	if (one->busy != two->busy)
		return one->busy < two->busy ? 1 : -1;
	return one->task < two->task ? -1 : one->task > two->task;
}

void loops_finish(struct loops *loops)
{
	if (loops->count)
		qsort(loops->at, loops->count, sizeof(*loops->at), by_busy);
}

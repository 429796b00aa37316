/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/watch.h"

#include <errno.h>
#include <stdlib.h>

#include "symbol/maps.h"
#include "util/cleanup.h"
#include "view/naming.h"
#include "watch/inside.h"

DEFINE_FREEP(struct watch, watch_free)

static int make(struct watch **ret)
{
	cleanup(watch_freep) struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch || site_init(&watch->sites) < 0 || map_init(&watch->slotless, UINT32_MAX) < 0 ||
	    map_init(&watch->missing, UINT32_MAX) < 0 || map_init(&watch->missed, UINT32_MAX) < 0)
		return -ENOMEM;
	watch->sink = tally_sink(watch);
	*ret = take(watch);
	return 0;
}

int watch_new(struct watch **ret, struct attachment *attachment, enum watch_wish wish,
	      struct diag *diag)
{
	cleanup(watch_freep) struct watch *watch = NULL;
	int r = make(&watch);

	if (r == 0)
		r = live_begin(watch, attachment, wish, diag);
	if (r < 0)
		return r == -ENOMEM ? diag_set(diag, r, "out of memory") : r;
	*ret = take(watch);
	return 0;
}

int watch_new_trace(struct watch **ret, const char *path, struct diag *diag)
{
	cleanup(watch_freep) struct watch *watch = NULL;
	int r = make(&watch);

	if (r == 0)
		r = replay_begin(watch, path, diag);
	if (r < 0)
		return r == -ENOMEM ? diag_set(diag, r, "out of memory") : r;
	*ret = take(watch);
	return 0;
}

struct watch *watch_free(struct watch *watch)
{
	if (!watch)
		return NULL;
	live_stop(watch);
	model_free(watch->model);
	reader_free(watch->reader);
	symbols_free(watch->symbols);
	detail_fini(watch);
	site_fini(&watch->sites);
	thread_fini(&watch->threads);
	map_fini(&watch->slotless);
	map_fini(&watch->missing);
	map_fini(&watch->missed);
	free(watch->tasks);
	free(watch->by_slot);
	free(watch->picks);
	free(watch->groups);
	free(watch);
	return NULL;
}

void watch_forget(struct watch *watch)
{
	watch->model = model_free(watch->model);
	watch->task_count = 0;
	watch->pictures++;
	watch->stale = true;
	watch->counted = watch->before = (struct site_counts){0};
	site_forget(&watch->sites);
	thread_forget(&watch->threads);
	detail_begin(watch, watch->chosen.id);
}

int watch_listen(struct watch *watch, enum watch_wish wish)
{
	return watch->attachment ? live_listen(watch, wish) : 0;
}

void watch_set_few(struct watch *watch, uint64_t events)
{
	watch->unasked = events;
}

const char *watch_note(const struct watch *watch)
{
	return watch->note;
}

const struct watch_totals *watch_totals(const struct watch *watch)
{
	return &watch->totals;
}

int watch_pass(struct watch *watch)
{
	return watch->attachment ? live_pass(watch) : 0;
}

uint64_t watch_pause_ns(const struct watch *watch)
{
	return watch->recorder && !watch->totals.over ? recorder_pause_ns(watch->recorder)
						      : NS_PER_S;
}

bool watch_has_ended(const struct watch *watch)
{
	return watch->totals.over ||
	       (watch->recorder && recorder_totals(watch->recorder).drain.program_ended);
}

int watch_refresh(struct watch *watch)
{
	int r = watch->attachment ? live_refresh(watch) : 0;

	if (r == 0)
		detail_refresh(watch);
	return r;
}

int watch_seek(struct watch *watch, uint64_t time, struct diag *diag)
{
	int r = watch->reader ? replay_seek(watch, time, diag) : -EINVAL;

	if (r == 0)
		detail_refresh(watch);
	return r;
}

void watch_on_reading(struct watch *watch, bool (*goes_on)(void *data, unsigned per_cent),
		      void *data)
{
	watch->goes_on = goes_on;
	watch->goes_on_data = data;
}

void watch_tap(struct watch *watch, const struct model_sink *sink)
{
	watch->tap = sink;
}

static int add_module(void *data, const struct symbol_module *module)
{
	return symbols_add_module(data, module);
}

/* Opened when the first name is asked for. Without mappings there are addresses, and no names. */
struct symbols *watch_symbols(struct watch *watch)
{
	struct symbols_options options = {.pid = watch->totals.pid};

	if (watch->symbols)
		return watch->symbols;
	if (watch->reader)
		naming_new(&watch->symbols, watch->reader, false, NULL);
	else if (symbols_new(&watch->symbols, &options) == 0)
		maps_each(watch->totals.pid, add_module, watch->symbols);
	return watch->symbols;
}

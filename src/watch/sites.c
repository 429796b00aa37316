/* SPDX-License-Identifier: Apache-2.0 */
/* The sites of a program: their texts, and what their tasks did. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drain/sites.h"
#include "util/grow.h"
#include "view/naming.h"
#include "watch/inside.h"

#define HISTOGRAMS_MOST 6144u /* 8 KB each */
#define SITES_MOST 65536u     /* several times what an arena has room for */

int site_init(struct sites *sites)
{
	return map_init(&sites->index, UINT32_MAX);
}

static void free_site(struct site *site)
{
	free((char *)site->own.name);
	free((char *)site->own.kind);
	free((char *)site->own.function);
	free((char *)site->own.file);
	free(site->run);
	free(site->wait);
	free(site->queue);
	free(site->name);
	free(site->place);
	free(site);
}

void site_fini(struct sites *sites)
{
	for (uint32_t i = 0; i < sites->count; i++)
		free_site(sites->at[i]);
	free(sites->at);
	if (sites->index.slots)
		map_fini(&sites->index);
	*sites = (struct sites){0};
}

static struct site *add(struct sites *sites, uint32_t id)
{
	struct site **at = grow(sites->at, sites->count, &sites->capacity, 64, sizeof(*at));
	struct site *site;

	if (!at)
		return NULL;
	sites->at = at;
	site = calloc(1, sizeof(*site));
	if (!site || map_put(&sites->index, id, sites->count) < 0) {
		free(site);
		return NULL;
	}
	site->told.id = id;
	at[sites->count++] = site;
	return site;
}

static struct site *find(const struct sites *sites, uint32_t id)
{
	const uint32_t *found = map_find(&sites->index, id);

	return found ? sites->at[*found] : NULL;
}

static char *text_of(struct meta_text text)
{
	return strndup(text.bytes, text.length);
}

/* What callbacks wait for, by their kind; `kind` may be NULL. */
static uint8_t waits_of(const struct reader_site *site)
{
	static const char *const io[] = {"accept", "connect",  "dns",      "fd",
					 "fs",     "io",       "listen",   "poll",
					 "read",   "shutdown", "udp send", "write"};

	/* Coroutines are told by their code, too, but await whatever they like. */
	if (!site || !site->code || !site->kind || strcmp(site->kind, "coroutine") == 0)
		return UNWEAVE_WAIT_NONE;
	for (unsigned i = 0; i < sizeof(io) / sizeof(io[0]); i++)
		if (strcmp(site->kind, io[i]) == 0)
			return UNWEAVE_WAIT_IO;
	return strcmp(site->kind, "timer") == 0 ? UNWEAVE_WAIT_TIMER : UNWEAVE_WAIT_OTHER;
}

/* One of a living program. */
static int keep_site(void *data, const struct meta_site *told)
{
	struct sites *sites = data;
	struct site *site = find(sites, (uint32_t)told->id);

	/* A broken program may say it twice. */
	if (site && site->told.site)
		return 0;
	if (!site)
		site = add(sites, (uint32_t)told->id);
	if (!site)
		return -ENOMEM;
	site->own = (struct reader_site){
		.id = (uint32_t)told->id,
		.line = (uint32_t)told->line,
		.name = text_of(told->name),
		.function = text_of(told->function),
		.file = text_of(told->file),
		.kind = text_of(told->kind),
		.flags = (uint32_t)told->flags,
		.under = (uint32_t)told->under,
		.code = told->code,
		.place = told->place,
	};
	if (!site->own.name || !site->own.function || !site->own.file || !site->own.kind)
		return -ENOMEM;
	site->told.site = &site->own;
	site->waits = waits_of(&site->own);
	return 0;
}

/* The program tells its arena of a site before any task is of it. */
static struct site *find_live(struct watch *watch, uint32_t id)
{
	struct site *site = find(&watch->sites, id);

	if (site && site->told.site)
		return site;
	if (sites_tell(watch->attachment, &watch->sites.seen, keep_site, &watch->sites) < 0)
		watch->error = -ENOMEM;
	return find(&watch->sites, id);
}

static const struct reader_site *find_for_model(const void *data, uint32_t id)
{
	struct site *site = find_live((struct watch *)data, id);

	return site ? site->told.site : NULL;
}

struct model_sites site_source(const struct watch *watch)
{
	return (struct model_sites){find_for_model, watch};
}

struct site *site_get(struct watch *watch, uint32_t id)
{
	struct site *site = watch->reader ? find(&watch->sites, id) : find_live(watch, id);

	if (site)
		return site;
	/* A table may say anything. */
	if (watch->sites.count >= SITES_MOST)
		return watch->sites.at[0];
	site = add(&watch->sites, id);
	if (site && watch->reader) {
		site->told.site = reader_site(watch->reader, id);
		site->waits = waits_of(site->told.site);
	}
	return site;
}

struct site *site_of(struct watch *watch, struct model_task *task)
{
	struct site *site = task->user;

	if (site && (site->told.id || !task->site))
		return site;
	task->user = site_get(watch, task->site ? task->site->id : 0);
	return task->user;
}

void site_note(struct sites *sites, struct histogram **histogram, uint64_t value)
{
	if (!*histogram && sites->histograms < HISTOGRAMS_MOST) {
		*histogram = calloc(1, sizeof(**histogram));
		sites->histograms += *histogram != NULL;
	}
	if (*histogram)
		histogram_add(*histogram, value);
}

static void empty(struct histogram *histogram)
{
	if (histogram)
		memset(histogram, 0, sizeof(*histogram));
}

void site_forget(struct sites *sites)
{
	for (uint32_t i = 0; i < sites->count; i++) {
		struct site *site = sites->at[i];

		site->counted = (struct site_counts){0};
		site->before = (struct site_counts){0};
		site->told.longest_run = site->told.longest_task = 0;
		empty(site->run);
		empty(site->wait);
		empty(site->queue);
	}
}

const char *site_name(struct watch *watch, struct site *site)
{
	char text[WATCH_TEXT] = "";

	if (!site->name && site->told.site && watch_symbols(watch))
		naming_label(watch->symbols, site->told.site, text, sizeof(text));
	if (!site->name)
		site->name = strdup(text);
	return site->name ? site->name : "";
}

const char *site_place(struct watch *watch, struct site *site)
{
	char text[WATCH_TEXT] = "";
	struct symbol_frame origin;

	if (site->place || !site->told.site || !watch_symbols(watch))
		return site->place ? site->place : "";
	origin = naming_origin(watch->symbols, site->told.site);
	if (origin.file[0])
		snprintf(text, sizeof(text), "%s%s%s:%u", origin.function,
			 origin.function[0] ? " " : "", origin.file, origin.line);
	else
		snprintf(text, sizeof(text), "%s", origin.function);
	site->place = strdup(text);
	return site->place ? site->place : "";
}

static void copy_text(char to[WATCH_TEXT], const char *from)
{
	snprintf(to, WATCH_TEXT, "%s", from);
}

void watch_site_name(struct watch *watch, uint32_t id, char to[WATCH_TEXT])
{
	struct site *site = find(&watch->sites, id);

	copy_text(to, site ? site_name(watch, site) : "");
}

void watch_site_place(struct watch *watch, uint32_t id, char to[WATCH_TEXT])
{
	struct site *site = find(&watch->sites, id);

	copy_text(to, site ? site_place(watch, site) : "");
}

uint32_t watch_site_count(const struct watch *watch)
{
	return watch->sites.count;
}

const struct watch_site *watch_site_at(const struct watch *watch, uint32_t index)
{
	return &watch->sites.at[index]->told;
}

const struct watch_site *watch_site_find(const struct watch *watch, uint32_t id)
{
	const struct site *site = find(&watch->sites, id);

	return site ? &site->told : NULL;
}

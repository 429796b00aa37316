/* SPDX-License-Identifier: Apache-2.0 */
/* Sites: told to the arena at their first use, once, without a lock. */
#include "emit/cause.h"

#define SITE_TEXT_MAX 255 /* of each of its four texts */

static uint32_t text_length(const char *text)
{
	return text ? (uint32_t)strnlen(text, SITE_TEXT_MAX) : 0;
}

static char *put_text(char *to, const char *text)
{
	uint32_t length = text_length(text);

	memcpy(to, text ? text : "", length);
	to[length] = '\0';
	return to + length + 1;
}

/* Room at the end of the names; NULL if there is none. What is given is never taken back. */
static struct arena_site *reserve(uint32_t bytes)
{
	struct arena_control *control = emit_process.control;
	uint32_t used = atomic_load_explicit(&control->names_used, memory_order_relaxed);

	do {
		if (bytes > ARENA_NAMES_BYTES - used)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(&control->names_used, &used, used + bytes,
							memory_order_relaxed,
							memory_order_relaxed));
	return (struct arena_site *)(arena_names(control) + used);
}

/* Tells the arena of a site; returns its id. `way` is NULL but for callbacks. */
static uint32_t tell(const struct unweave_site *site, const struct unweave_priv_way *way)
{
	struct arena_site *entry;
	uint32_t bytes;
	char *at;

	bytes = (uint32_t)sizeof(*entry) + text_length(site->name) + text_length(site->kind) +
		text_length(site->function) + text_length(site->file) + 4;
	bytes = (bytes + 7) & ~7u;
	entry = reserve(bytes);
	if (!entry) {
		atomic_fetch_add(&emit_process.control->names_lost, 1);
		return 0;
	}
	entry->id = 1 + atomic_fetch_add(&emit_process.control->next_site, 1);
	entry->line = site->line;
	if (way) {
		entry->flags = (uint8_t)way->how;
		entry->code = (uintptr_t)way->code;
		entry->place = (uintptr_t)way->place;
		entry->under = cause_under(way);
	}
	at = put_text((char *)(entry + 1), site->name);
	at = put_text(at, site->kind);
	at = put_text(at, site->function);
	put_text(at, site->file);
	/* Pairs with the acquire in the drain: the texts, before the size that shows them. */
	atomic_store_explicit(&entry->bytes, bytes, memory_order_release);
	return entry->id;
}

uint32_t emit_site(struct unweave_site *site)
{
	uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);

	if (id)
		return id;
	/* Two threads may both come here for one site: it is told twice, under two ids. */
	id = tell(site, NULL);
	if (id)
		__atomic_store_n(&site->id, id, __ATOMIC_RELAXED);
	return id;
}

void emit_site_of_callbacks(struct unweave_site *site, const struct unweave_priv_way *way)
{
	site->id = tell(site, way);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unweave/callback.h"
#include "util/grow.h"

#define ADAPTERS_MAX 64u

int catalog_init(struct catalog *catalog)
{
	*catalog = (struct catalog){0};
	if (map_init(&catalog->thread_index, UINT32_MAX) < 0)
		return -ENOMEM;
	if (map_init(&catalog->site_index, UINT32_MAX) < 0) {
		map_fini(&catalog->thread_index);
		return -ENOMEM;
	}
	return 0;
}

static void free_session(struct meta_session *session)
{
	free((char *)session->version.bytes);
	free((char *)session->program.bytes);
	free((char *)session->machine.bytes);
}

static void site_free(struct reader_site *site)
{
	free((char *)site->name);
	free((char *)site->kind);
}

void catalog_fini(struct catalog *catalog)
{
	free_session(&catalog->session);
	for (uint32_t i = 0; i < catalog->thread_count; i++)
		free((char *)catalog->threads[i].name);
	for (uint32_t i = 0; i < catalog->site_count; i++)
		site_free(&catalog->sites[i]);
	free(catalog->threads);
	free(catalog->sites);
	free((void *)catalog->waits.at);
	free(catalog->adapters);
	free(catalog->adapter_texts);
	free(catalog->ends);
	map_fini(&catalog->thread_index);
	map_fini(&catalog->site_index);
	*catalog = (struct catalog){0};
}

static int text_dup(struct meta_text *text)
{
	text->bytes = strndup(text->bytes ? text->bytes : "", text->length);
	if (!text->bytes)
		return -ENOMEM;
	text->length = strlen(text->bytes);
	return 0;
}

int catalog_read_session(struct catalog *catalog, struct wire *from)
{
	struct meta_session session;
	int r;

	meta_session_decode(from, &session);
	if (from->bad)
		return -EBADMSG;
	r = text_dup(&session.version);
	if (text_dup(&session.program) < 0 || text_dup(&session.machine) < 0 || r < 0) {
		free_session(&session);
		return -ENOMEM;
	}
	free_session(&catalog->session);
	catalog->session = session;
	catalog->session_known = true;
	return 0;
}

/* The entry for `thread`, made if it is not there; NULL: no memory. */
static struct reader_thread *thread_entry(struct catalog *catalog, uint32_t thread)
{
	uint32_t *found = map_find(&catalog->thread_index, thread);
	struct reader_thread *threads;
	char *name;

	if (found)
		return &catalog->threads[*found];
	threads = grow(catalog->threads, catalog->thread_count, &catalog->thread_capacity, 16,
		       sizeof(*threads));
	if (!threads)
		return NULL;
	catalog->threads = threads;
	name = strdup("");
	if (!name || map_put(&catalog->thread_index, thread, catalog->thread_count) < 0) {
		free(name);
		return NULL;
	}
	threads += catalog->thread_count++;
	*threads = (struct reader_thread){.thread = thread, .name = name};
	return threads;
}

int catalog_note_thread(struct catalog *catalog, uint32_t thread)
{
	return thread_entry(catalog, thread) ? 0 : -ENOMEM;
}

int catalog_read_threads(struct catalog *catalog, struct wire *from)
{
	for (uint64_t left = wire_varint(from); left && !from->bad; left--) {
		struct meta_thread thread;
		struct reader_thread *entry;

		meta_thread_decode(from, &thread);
		if (from->bad || thread.thread > UINT32_MAX || thread.tid > UINT32_MAX)
			return -EBADMSG;
		if (text_dup(&thread.name) < 0)
			return -ENOMEM;
		entry = thread_entry(catalog, (uint32_t)thread.thread);
		if (!entry) {
			free((char *)thread.name.bytes);
			return -ENOMEM;
		}
		free((char *)entry->name);
		entry->name = thread.name.bytes;
		entry->tid = (uint32_t)thread.tid;
		entry->ended = thread.ended != 0;
	}
	return from->bad ? -EBADMSG : 0;
}

static struct reader_site *site_entry(struct catalog *catalog, uint32_t id)
{
	uint32_t *found = map_find(&catalog->site_index, id);
	struct reader_site *sites;

	if (found)
		return &catalog->sites[*found];
	sites = grow(catalog->sites, catalog->site_count, &catalog->site_capacity, 16,
		     sizeof(*sites));
	if (!sites)
		return NULL;
	catalog->sites = sites;
	if (map_put(&catalog->site_index, id, catalog->site_count) < 0)
		return NULL;
	sites += catalog->site_count++;
	*sites = (struct reader_site){.id = id};
	return sites;
}

/* Copies `text` to `*to`, which it moves on; returns the copy. */
static const char *lay_out(char **to, const struct meta_text *text)
{
	char *start = *to;

	if (text->length)
		memcpy(start, text->bytes, text->length);
	start[text->length] = 0;
	*to = start + text->length + 1;
	return start;
}

static int site_set(struct reader_site *entry, const struct meta_site *site)
{
	char *text = malloc(site->name.length + site->function.length + site->file.length + 3);

	if (!text)
		return -ENOMEM;
	free((char *)entry->name);
	entry->name = lay_out(&text, &site->name);
	entry->function = lay_out(&text, &site->function);
	entry->file = lay_out(&text, &site->file);
	entry->line = (uint32_t)site->line;
	return 0;
}

static int site_set_kind(struct reader_site *entry, const struct meta_text *kind)
{
	char *text = malloc(kind->length + 1);

	if (!text)
		return -ENOMEM;
	free((char *)entry->kind);
	entry->kind = lay_out(&text, kind);
	return 0;
}

/* The entry of the next one of the sites that are listed at `sites`; NULL: no memory. */
static struct reader_site *next_entry(struct catalog *catalog, struct wire *sites)
{
	struct meta_site site;

	meta_site_decode(sites, &site);
	return site_entry(catalog, (uint32_t)site.id);
}

/* The kinds of `count` sites, which are listed again at `sites`. Older traces have none. */
static int read_kinds(struct catalog *catalog, struct wire *from, struct wire sites, uint64_t count)
{
	for (; count && from->at < from->end; count--) {
		struct reader_site *entry;
		struct meta_text kind;

		meta_text_decode(from, &kind);
		if (from->bad)
			return -EBADMSG;
		entry = next_entry(catalog, &sites);
		if (!entry || site_set_kind(entry, &kind) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* What they are of callbacks, in the same way. */
static int read_callbacks(struct catalog *catalog, struct wire *from, struct wire sites,
			  uint64_t count)
{
	for (; count && from->at < from->end; count--) {
		struct reader_site *entry;
		struct meta_site site;

		meta_callback_decode(from, &site);
		if (from->bad || site.flags > UINT32_MAX || site.under > UINT32_MAX)
			return -EBADMSG;
		entry = next_entry(catalog, &sites);
		if (!entry)
			return -ENOMEM;
		entry->flags = (uint32_t)site.flags;
		entry->code = site.code;
		entry->place = site.place;
		entry->under = (uint32_t)site.under;
	}
	return 0;
}

int catalog_read_sites(struct catalog *catalog, struct wire *from)
{
	uint64_t count = wire_varint(from);
	struct wire again = *from;
	int r;

	for (uint64_t left = count; left && !from->bad; left--) {
		struct reader_site *entry;
		struct meta_site site;

		meta_site_decode(from, &site);
		if (from->bad || site.id > UINT32_MAX || site.line > UINT32_MAX)
			return -EBADMSG;
		entry = site_entry(catalog, (uint32_t)site.id);
		if (!entry || site_set(entry, &site) < 0)
			return -ENOMEM;
	}
	if (from->bad)
		return -EBADMSG;
	r = read_kinds(catalog, from, again, count);
	return r < 0 ? r : read_callbacks(catalog, from, again, count);
}

/*
 * All of the block's texts in one piece of memory, which is as long as the block
 * at most: each has a length there, and an end here.
 */
int catalog_read_adapters(struct catalog *catalog, struct wire *from)
{
	size_t bytes = (size_t)(from->end - from->at);
	uint64_t count = wire_varint(from);
	struct reader_adapter *adapters;
	char *texts, *at;

	/* One takes three bytes at least. */
	if (from->bad || count > ADAPTERS_MAX || count > bytes / 3)
		return -EBADMSG;
	adapters = calloc(ADAPTERS_MAX, sizeof(*adapters));
	texts = at = malloc(bytes + 1);
	for (uint64_t i = 0; adapters && texts && i < count && !from->bad; i++) {
		struct meta_adapter adapter;

		meta_adapter_decode(from, &adapter);
		if (from->bad)
			break;
		adapters[i].name = lay_out(&at, &adapter.name);
		adapters[i].fate = adapter.fate;
		adapters[i].why = lay_out(&at, &adapter.why);
	}
	if (!adapters || !texts || from->bad) {
		int r = adapters && texts ? -EBADMSG : -ENOMEM;

		free(adapters);
		free(texts);
		return r;
	}
	free(catalog->adapters);
	free(catalog->adapter_texts);
	catalog->adapters = adapters;
	catalog->adapter_count = (uint32_t)count;
	catalog->adapter_texts = texts;
	return 0;
}

/* One that took hold, as its site says; two threads may have told it at once. */
static int note_adapter(struct catalog *catalog, const struct reader_site *site)
{
	const char *version = site->kind ? site->kind : "";
	uint32_t i = 0;

	if (!catalog->adapters)
		catalog->adapters = calloc(ADAPTERS_MAX, sizeof(*catalog->adapters));
	if (!catalog->adapters)
		return -ENOMEM;
	while (i < catalog->adapter_count && (strcmp(catalog->adapters[i].name, site->name) != 0 ||
					      (catalog->adapters[i].version &&
					       strcmp(catalog->adapters[i].version, version) != 0)))
		i++;
	if (i == ADAPTERS_MAX)
		return 0;
	if (i == catalog->adapter_count)
		catalog->adapters[catalog->adapter_count++] =
			(struct reader_adapter){.name = site->name, .why = ""};
	catalog->adapters[i].version = version;
	return 0;
}

static int by_task(const void *a, const void *b)
{
	const struct meta_wait *x = a, *y = b;

	return (x->task > y->task) - (x->task < y->task);
}

int catalog_read_waits(struct catalog *catalog, struct wire *from, uint64_t ticks)
{
	uint64_t monotonic = wire_varint(from), left_out = wire_varint(from);
	uint64_t count = wire_varint(from);
	struct meta_wait *waits;

	/* One takes three bytes at least. */
	if (from->bad || count > (uint64_t)(from->end - from->at) / 3)
		return -EBADMSG;
	waits = reallocarray(NULL, count ? count : 1, sizeof(*waits));
	if (!waits)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++)
		meta_wait_decode(from, &waits[i]);
	if (from->bad) {
		free(waits);
		return -EBADMSG;
	}
	qsort(waits, count, sizeof(*waits), by_task);
	free((void *)catalog->waits.at);
	catalog->waits = (struct reader_waits){
		.at = waits,
		.count = (uint32_t)count,
		.left_out = left_out,
		.monotonic = monotonic,
		.time = ticks,
	};
	return 0;
}

int catalog_read_end(struct catalog *catalog, struct wire *from)
{
	uint64_t lost[CATALOG_CAUSES] = {0};
	struct meta_stream_end *ends;
	uint64_t count, left, left_out;

	/* A stream takes three bytes at least. */
	count = wire_varint(from);
	if (from->bad || count > (uint64_t)(from->end - from->at) / 3)
		return -EBADMSG;
	ends = reallocarray(NULL, count ? count : 1, sizeof(*ends));
	if (!ends)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++)
		meta_stream_end_decode(from, &ends[i]);
	for (left = wire_varint(from); left && !from->bad; left--) {
		struct meta_loss loss;

		meta_loss_decode(from, &loss);
		if (!from->bad && loss.cause < CATALOG_CAUSES)
			lost[loss.cause] += loss.events;
	}
	/* Files without this field list them all. */
	left_out = from->at < from->end ? wire_varint(from) : 0;
	if (from->bad) {
		free(ends);
		return -EBADMSG;
	}
	catalog->ends_left_out = left_out;
	free(catalog->ends);
	catalog->ends = ends;
	catalog->end_count = (uint32_t)count;
	catalog->closed = true;
	memcpy(catalog->lost, lost, sizeof(lost));
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct reader_thread *x = a, *y = b;

	return (x->thread > y->thread) - (x->thread < y->thread);
}

static void order_threads(struct catalog *catalog)
{
	if (!catalog->thread_count)
		return;
	qsort(catalog->threads, catalog->thread_count, sizeof(*catalog->threads), by_number);
	for (uint32_t i = 0; i < catalog->thread_count; i++)
		*map_find(&catalog->thread_index, catalog->threads[i].thread) = i;
}

int catalog_finish(struct catalog *catalog)
{
	order_threads(catalog);
	for (uint32_t i = 0; i < catalog->site_count; i++)
		if (catalog->sites[i].flags & UNWEAVE_SITE_ADAPTER &&
		    note_adapter(catalog, &catalog->sites[i]) < 0)
			return -ENOMEM;
	return 0;
}

const struct reader_thread *catalog_thread(const struct catalog *catalog, uint32_t thread)
{
	uint32_t *found = map_find(&catalog->thread_index, thread);

	return found ? &catalog->threads[*found] : NULL;
}

const struct reader_site *catalog_site(const struct catalog *catalog, uint32_t site)
{
	uint32_t *found = map_find(&catalog->site_index, site);

	return found ? &catalog->sites[*found] : NULL;
}

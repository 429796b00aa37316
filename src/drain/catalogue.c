/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/catalogue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/format.h"
#include "trace/meta.h"
#include "unweave/event.h"
#include "util/grow.h"

#define ENDS_MAX 8192u
#define THREAD_BYTES 44u        /* at most */
#define THREADS_PER_BLOCK 4096u /* so many of them fit a block */

int catalogue_init(struct catalogue *catalogue, const char program[256])
{
	*catalogue = (struct catalogue){
		.sites = BUFFER_INIT(FORMAT_PAYLOAD_MAX / 8 * 3 - 16),
		.kinds = BUFFER_INIT(FORMAT_PAYLOAD_MAX / 4),
		.callbacks = BUFFER_INIT(FORMAT_PAYLOAD_MAX / 8 * 3),
		.ends = BUFFER_INIT(FORMAT_PAYLOAD_MAX / 2),
	};
	memcpy(catalogue->program, program, sizeof(catalogue->program));
	catalogue->program[sizeof(catalogue->program) - 1] = '\0';
	return 0;
}

void catalogue_fini(struct catalogue *catalogue)
{
	free(catalogue->threads);
	buffer_fini(&catalogue->sites);
	buffer_fini(&catalogue->kinds);
	buffer_fini(&catalogue->callbacks);
	buffer_fini(&catalogue->ends);
	*catalogue = (struct catalogue){0};
}

static struct catalogue_thread *find_thread(struct catalogue *catalogue, uint32_t thread)
{
	for (uint32_t i = 0; i < catalogue->thread_count; i++)
		if (catalogue->threads[i].thread == thread)
			return &catalogue->threads[i];
	return NULL;
}

int catalogue_add_thread(struct catalogue *catalogue, uint32_t thread, uint32_t tid,
			 const char *name, bool ended)
{
	struct catalogue_thread *entry = find_thread(catalogue, thread);

	if (!entry) {
		entry = grow(catalogue->threads, catalogue->thread_count,
			     &catalogue->thread_capacity, 16, sizeof(*entry));
		if (!entry)
			return -ENOMEM;
		catalogue->threads = entry;
		entry += catalogue->thread_count++;
	}
	*entry = (struct catalogue_thread){.thread = thread, .tid = tid, .ended = ended};
	strncpy(entry->name, name, sizeof(entry->name) - 1);
	return 0;
}

int catalogue_add_site(struct catalogue *catalogue, const struct meta_site *site)
{
	struct buffer *parts[] = {&catalogue->sites, &catalogue->kinds, &catalogue->callbacks};
	size_t lengths[CATALOGUE_SITE_PARTS];
	bool bad = false;

	for (int i = 0; i < CATALOGUE_SITE_PARTS; i++) {
		lengths[i] = parts[i]->length;
		bad |= parts[i]->bad;
	}
	if (bad)
		return 0;
	meta_site_encode(&catalogue->sites, site);
	meta_text_encode(&catalogue->kinds, site->kind);
	meta_callback_encode(&catalogue->callbacks, site);
	for (int i = 0; i < CATALOGUE_SITE_PARTS; i++)
		bad |= parts[i]->bad;
	/* No room, or no memory: the site stays a number. */
	for (int i = 0; bad && i < CATALOGUE_SITE_PARTS; i++)
		parts[i]->length = lengths[i];
	catalogue->site_count += !bad;
	return 0;
}

void catalogue_add_end(struct catalogue *catalogue, uint32_t thread, bool aside, uint64_t number)
{
	struct meta_stream_end end = {.thread = thread, .aside = aside, .number = number};

	if (catalogue->end_count >= ENDS_MAX) {
		catalogue->ends_left_out++;
		return;
	}
	meta_stream_end_encode(&catalogue->ends, &end);
	catalogue->end_count++;
}

static void forget_ended(struct catalogue *catalogue)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < catalogue->thread_count; i++)
		if (!catalogue->threads[i].ended || !catalogue->threads[i].told)
			catalogue->threads[kept++] = catalogue->threads[i];
	catalogue->thread_count = kept;
}

bool catalogue_threads(struct catalogue *catalogue, struct buffer *payload, bool all)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < catalogue->thread_count; i++)
		count += all || !catalogue->threads[i].told;
	if (count > THREADS_PER_BLOCK)
		count = THREADS_PER_BLOCK;
	if (!count)
		return false;
	buffer_put_varint(payload, count);
	for (uint32_t i = 0; i < catalogue->thread_count && count; i++) {
		struct catalogue_thread *thread = &catalogue->threads[i];
		struct meta_thread meta = {.thread = thread->thread,
					   .tid = thread->tid,
					   .ended = thread->ended,
					   .name = {thread->name, strlen(thread->name)}};

		if (!all && thread->told)
			continue;
		meta_thread_encode(payload, &meta);
		thread->told = true;
		count--;
	}
	forget_ended(catalogue);
	return true;
}

bool catalogue_sites(struct catalogue *catalogue, struct buffer *payload, bool all)
{
	const struct buffer *parts[] = {&catalogue->sites, &catalogue->kinds,
					&catalogue->callbacks};
	uint32_t count = catalogue->site_count - (all ? 0 : catalogue->sites_told_count);

	if (!count)
		return false;
	buffer_put_varint(payload, count);
	for (int i = 0; i < CATALOGUE_SITE_PARTS; i++) {
		size_t from = all ? 0 : catalogue->sites_told[i];

		buffer_put(payload, parts[i]->bytes + from, parts[i]->length - from);
		catalogue->sites_told[i] = parts[i]->length;
	}
	catalogue->sites_told_count = catalogue->site_count;
	return true;
}

void catalogue_end(const struct catalogue *catalogue, struct buffer *payload, uint64_t orphans,
		   uint64_t reentries)
{
	struct meta_loss losses[] = {{UNWEAVE_LOSS_NO_THREAD, orphans},
				     {UNWEAVE_LOSS_REENTRY, reentries}};

	buffer_put_varint(payload, catalogue->end_count);
	buffer_put(payload, catalogue->ends.bytes, catalogue->ends.length);
	buffer_put_varint(payload, sizeof(losses) / sizeof(losses[0]));
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		meta_loss_encode(payload, &losses[i]);
	buffer_put_varint(payload, catalogue->ends_left_out);
}

uint64_t catalogue_bytes(const struct catalogue *catalogue, bool all)
{
	const struct buffer *parts[] = {&catalogue->sites, &catalogue->kinds,
					&catalogue->callbacks};
	uint64_t bytes = (uint64_t)catalogue->thread_count * THREAD_BYTES + catalogue->ends.length;

	for (int i = 0; i < CATALOGUE_SITE_PARTS; i++)
		bytes += parts[i]->length - (all ? 0 : catalogue->sites_told[i]);
	return bytes;
}

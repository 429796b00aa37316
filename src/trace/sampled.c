/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/sampled.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/reader.h"
#include "util/grow.h"

int sampled_init(struct sampled *sampled)
{
	*sampled = (struct sampled){0};
	return map_init(&sampled->name_index, UINT32_MAX);
}

static void kept_fini(struct sampled_kept *kept)
{
	for (uint32_t i = 0; i < kept->count; i++)
		free(kept->payloads[i].bytes);
	free(kept->payloads);
}

void sampled_fini(struct sampled *sampled)
{
	free(sampled->offsets);
	free(sampled->payload);
	samples_block_fini(&sampled->block);
	free((char *)sampled->sampler.note.bytes);
	kept_fini(&sampled->modules);
	kept_fini(&sampled->symbols);
	if (sampled->name_index.slots)
		map_fini(&sampled->name_index);
	free(sampled->names);
	*sampled = (struct sampled){0};
}

int sampled_add_block(struct sampled *sampled, uint64_t offset)
{
	uint64_t *offsets =
		grow(sampled->offsets, sampled->count, &sampled->capacity, 16, sizeof(*offsets));

	if (!offsets)
		return -ENOMEM;
	sampled->offsets = offsets;
	offsets[sampled->count++] = offset;
	return 0;
}

int sampled_read_sampler(struct sampled *sampled, struct wire *from)
{
	struct meta_sampler sampler;
	char *note;

	meta_sampler_decode(from, &sampler);
	if (from->bad)
		return -EBADMSG;
	note = strndup(sampler.note.bytes, sampler.note.length);
	if (!note)
		return -ENOMEM;
	free((char *)sampled->sampler.note.bytes);
	sampler.note = (struct meta_text){note, strlen(note)};
	sampled->sampler = sampler;
	sampled->sampler_known = true;
	return 0;
}

/* Keeps what `whole` holds. */
static int keep(struct sampled_kept *kept, const struct wire *whole)
{
	size_t length = (size_t)(whole->end - whole->at);
	struct sampled_payload *payloads =
		grow(kept->payloads, kept->count, &kept->capacity, 16, sizeof(*payloads));
	uint8_t *bytes;

	if (!payloads)
		return -ENOMEM;
	kept->payloads = payloads;
	bytes = malloc(length ? length : 1);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, whole->at, length);
	payloads[kept->count++] = (struct sampled_payload){bytes, (uint32_t)length};
	return 0;
}

/* What a block of mappings ends with, if it does: where the code around the anchors is. */
static void read_dispatch(struct sampled *sampled, struct wire *from)
{
	uint64_t before = wire_varint(from), bytes = wire_varint(from);

	/* All of the anchors lie in it. */
	if (from->bad || before > sampled->anchors || bytes < before ||
	    bytes > UINT64_MAX - (sampled->anchors - before))
		return;
	sampled->dispatch = sampled->anchors - before;
	sampled->dispatch_end = sampled->dispatch + bytes;
}

int sampled_read_modules(struct sampled *sampled, struct wire *from)
{
	uint64_t anchors = wire_varint(from);
	struct wire whole = *from;

	for (uint64_t left = wire_varint(from); left && !from->bad; left--) {
		struct meta_module module;

		meta_module_decode(from, &module);
	}
	if (from->bad)
		return -EBADMSG;
	if (anchors) {
		sampled->anchors = anchors;
		read_dispatch(sampled, from);
	}
	return keep(&sampled->modules, &whole);
}

int sampled_read_symbols(struct sampled *sampled, struct wire *from)
{
	struct meta_symbol_frame frames[META_SYMBOL_FRAMES];
	struct wire whole = *from;
	uint64_t address, start;

	for (uint64_t left = wire_varint(from); left && !from->bad; left--)
		meta_symbol_decode(from, &address, &start, frames);
	return from->bad ? -EBADMSG : keep(&sampled->symbols, &whole);
}

/* Remembers what the threads of the block are called. -ENOMEM. */
static int learn_names(struct sampled *sampled)
{
	for (uint32_t i = 0; i < sampled->block.thread_count; i++) {
		const struct samples_thread *thread = &sampled->block.threads[i];
		uint32_t *found = map_find(&sampled->name_index, thread->tid);
		size_t length = thread->name.length < 64 ? thread->name.length : 64;
		char(*names)[65];

		if (!found) {
			names = grow(sampled->names, sampled->name_count, &sampled->name_capacity,
				     16, sizeof(*names));
			if (!names)
				return -ENOMEM;
			sampled->names = names;
			if (map_put(&sampled->name_index, thread->tid, sampled->name_count) < 0)
				return -ENOMEM;
			found = map_find(&sampled->name_index, thread->tid);
			sampled->name_count++;
		}
		memcpy(sampled->names[*found], thread->name.bytes, length);
		sampled->names[*found][length] = 0;
	}
	return 0;
}

/* Opens the next block; 0 also if it is damaged, which is told: it has no samples then. */
static int open_next(struct sampled *sampled, struct blocks *blocks, struct diag *diag)
{
	uint64_t offset = sampled->offsets[sampled->next++];
	struct block header;
	uint8_t *payload;
	int r = blocks_header(blocks, offset, &header, diag);

	if (r == 0 && !blocks_readable(blocks, offset, &header))
		r = -EBADMSG;
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	/* Also for a block without a byte there is memory, as who reads it expects. */
	if (!sampled->payload || header.raw > sampled->payload_capacity) {
		payload = realloc(sampled->payload, header.raw ? header.raw : 1);
		if (!payload)
			return -ENOMEM;
		sampled->payload = payload;
		sampled->payload_capacity = header.raw;
	}
	r = blocks_payload(blocks, offset, &header, sampled->payload, diag);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	r = samples_block_open(&sampled->block, sampled->payload, header.raw);
	if (r == -EBADMSG)
		faults_add(blocks->faults, offset, "the block's contents make no sense");
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	return learn_names(sampled);
}

int sampled_next(struct sampled *sampled, struct blocks *blocks, struct sample *ret,
		 struct diag *diag)
{
	while (!samples_block_next(&sampled->block, ret)) {
		int r;

		if (sampled->block.at.bad) {
			faults_add(blocks->faults, sampled->offsets[sampled->next - 1],
				   "the block's samples make no sense from some place on");
			sampled->block.at.bad = false;
		}
		if (sampled->next == sampled->count)
			return READER_END;
		r = open_next(sampled, blocks, diag);
		if (r < 0)
			return r;
	}
	ret->block = sampled->next;
	return 0;
}

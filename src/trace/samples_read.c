/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "trace/samples.h"

void samples_block_fini(struct samples_block *block)
{
	free(block->frames);
	free(block->threads);
	*block = (struct samples_block){0};
}

/* An array for `count` elements, of which each takes at least a byte of what is left. */
static int reserve(void **array, uint32_t *capacity, uint64_t count, size_t size,
		   const struct wire *from)
{
	void *memory;

	if (count > (uint64_t)(from->end - from->at))
		return -EBADMSG;
	if (count < *capacity)
		return 0;
	memory = reallocarray(*array, count + 1, size);
	if (!memory)
		return -ENOMEM;
	*array = memory;
	*capacity = (uint32_t)count + 1;
	return 0;
}

static int read_threads(struct samples_block *block, struct wire *from)
{
	uint64_t count = wire_varint(from);
	int r = reserve((void **)&block->threads, &block->thread_capacity, count,
			sizeof(*block->threads), from);

	if (r < 0)
		return r;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t tid = wire_varint(from);

		meta_text_decode(from, &block->threads[i].name);
		if (tid > UINT32_MAX)
			from->bad = true;
		block->threads[i].tid = (uint32_t)tid;
	}
	block->thread_count = (uint32_t)count;
	return 0;
}

/* `before` is the address of the frame before; callers come before their callees. */
static void read_frame(struct samples_block *block, struct wire *from, uint32_t index,
		       uint64_t *before)
{
	uint64_t head = wire_varint(from), back = head >> 2;
	struct unweave_frame *frame = &block->frames[index];
	struct unweave_frame *parent = NULL;
	int64_t state;

	if (back >= index)
		from->bad = true;
	else if (back)
		parent = &block->frames[index - back];
	*before += (uint64_t)wire_zigzag(from);
	state = head & 1 ? wire_zigzag(from) : 0;
	if (state < INT32_MIN || state > INT32_MAX)
		from->bad = true;
	*frame = (struct unweave_frame){
		.awaiter = parent,
		.address = *before,
		.state = (int32_t)state,
		.depth = parent ? parent->depth + 1 : 1,
		.kind = head & 2 ? UNWEAVE_FRAME_OMITTED : UNWEAVE_FRAME_CODE,
		.id = index,
	};
}

static int read_frames(struct samples_block *block, struct wire *from)
{
	uint64_t count = wire_varint(from), before = 0;
	int r = reserve((void **)&block->frames, &block->frame_capacity, count,
			sizeof(*block->frames), from);

	if (r < 0)
		return r;
	for (uint32_t i = 1; i <= count && !from->bad; i++)
		read_frame(block, from, i, &before);
	block->frame_count = (uint32_t)count;
	return 0;
}

int samples_block_open(struct samples_block *block, const uint8_t *payload, size_t bytes)
{
	struct wire from = wire_of(payload, bytes);
	int r = read_threads(block, &from);

	if (r == 0)
		r = read_frames(block, &from);
	block->left = 0;
	if (r < 0)
		return r;
	block->ticks = wire_varint(&from);
	block->left = wire_varint(&from);
	block->at = from;
	if (!from.bad)
		return 0;
	block->left = 0;
	return -EBADMSG;
}

static const struct unweave_frame *read_stack(struct samples_block *block)
{
	uint64_t index = wire_varint(&block->at);

	if (index > block->frame_count)
		block->at.bad = true;
	return index && !block->at.bad ? &block->frames[index] : NULL;
}

static void read_segment(struct samples_block *block, struct sample_segment *ret, bool with_site)
{
	uint64_t site;

	ret->task = wire_varint(&block->at);
	ret->chain = read_stack(block);
	site = with_site ? wire_varint(&block->at) : 0;
	ret->site = site <= UINT32_MAX ? (uint32_t)site : 0;
}

bool samples_block_next(struct samples_block *block, struct sample *ret)
{
	struct wire *from = &block->at;
	uint64_t thread, flags, segments;

	if (!block->left)
		return false;
	block->left--;
	block->ticks += (uint64_t)wire_zigzag(from);
	thread = wire_varint(from);
	ret->weight = wire_varint(from);
	flags = wire_varint(from);
	ret->native = read_stack(block);
	segments = wire_varint(from);
	if (thread >= block->thread_count || segments > SAMPLE_SEGMENTS_MAX)
		from->bad = true;
	for (uint64_t i = 0; i < segments && !from->bad; i++)
		read_segment(block, &block->segments[i], flags & FORMAT_SAMPLE_SITES);
	if (from->bad) {
		block->left = 0;
		return false;
	}
	ret->time = block->ticks;
	ret->tid = block->threads[thread].tid;
	ret->flags = (uint32_t)flags & ~FORMAT_SAMPLE_SITES;
	ret->segments = block->segments;
	ret->segment_count = (uint32_t)segments;
	return true;
}

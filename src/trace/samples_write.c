/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/samples.h"
#include "util/grow.h"
#include "util/map.h"

/* More than a frame, or a segment, or all else of a sample takes. */
#define FRAME_BYTES 26u
#define SEGMENT_BYTES 25u
#define SAMPLE_BYTES 128u

/* Frames with the same key are compared by what they are, one after the other. */
struct frame {
	uint32_t parent;
	uint32_t next; /* with the same key; 0: none */
	uint64_t address;
	int32_t state;
	uint32_t kind;
};

struct samples_writer {
	samples_sink sink;
	void *data;
	struct buffer thread_bytes;
	struct buffer frame_bytes;
	struct buffer sample_bytes;
	struct buffer payload;
	struct map thread_index;
	struct map frame_index;
	struct frame *frames; /* from 1 */
	uint32_t frame_count;
	uint32_t frame_capacity;
	uint32_t thread_count;
	uint32_t count;
	uint64_t first, last; /* ticks, the least and the most */
	uint64_t base;        /* ticks of the block's first sample */
	uint64_t before;      /* ... and of its last */
	uint64_t address;     /* of the last frame */
};

int samples_writer_new(struct samples_writer **ret, samples_sink sink, void *data)
{
	struct samples_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return -ENOMEM;
	if (map_init(&writer->thread_index, UINT32_MAX) < 0 ||
	    map_init(&writer->frame_index, UINT32_MAX) < 0) {
		samples_writer_free(writer);
		return -ENOMEM;
	}
	writer->sink = sink;
	writer->data = data;
	writer->thread_bytes = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	writer->frame_bytes = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	writer->sample_bytes = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	writer->payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	*ret = writer;
	return 0;
}

struct samples_writer *samples_writer_free(struct samples_writer *writer)
{
	if (!writer)
		return NULL;
	buffer_fini(&writer->thread_bytes);
	buffer_fini(&writer->frame_bytes);
	buffer_fini(&writer->sample_bytes);
	buffer_fini(&writer->payload);
	map_fini(&writer->thread_index);
	map_fini(&writer->frame_index);
	free(writer->frames);
	free(writer);
	return NULL;
}

static void start_over(struct samples_writer *writer)
{
	writer->thread_bytes.length = 0;
	writer->frame_bytes.length = 0;
	writer->sample_bytes.length = 0;
	writer->payload.length = 0;
	map_clear(&writer->thread_index);
	map_clear(&writer->frame_index);
	writer->frame_count = 0;
	writer->thread_count = 0;
	writer->count = 0;
	writer->address = 0;
}

static void put_section(struct buffer *to, uint64_t count, const struct buffer *bytes)
{
	buffer_put_varint(to, count);
	buffer_put(to, bytes->bytes, bytes->length);
}

int samples_writer_flush(struct samples_writer *writer)
{
	struct buffer *payload = &writer->payload;
	struct block block = {.kind = BLOCK_SAMPLES, .first = writer->first, .last = writer->last};
	int r;

	if (!writer->count)
		return 0;
	put_section(payload, writer->thread_count, &writer->thread_bytes);
	put_section(payload, writer->frame_count, &writer->frame_bytes);
	buffer_put_varint(payload, writer->base);
	put_section(payload, writer->count, &writer->sample_bytes);
	block.raw = (uint32_t)payload->length;
	block.events = writer->count;
	r = payload->bad ? -ENOMEM : writer->sink(writer->data, &block, payload->bytes);
	start_over(writer);
	return r;
}

/* The number of a thread within the block, from 0. UINT32_MAX: no memory. */
static uint32_t thread_of(struct samples_writer *writer, const struct samples_input *sample)
{
	uint32_t *found = map_find(&writer->thread_index, sample->tid);
	const char *name = sample->thread_name ? sample->thread_name : "";

	if (found)
		return *found;
	if (map_put(&writer->thread_index, sample->tid, writer->thread_count) < 0)
		return UINT32_MAX;
	buffer_put_varint(&writer->thread_bytes, sample->tid);
	buffer_put_text(&writer->thread_bytes, name, strnlen(name, 64));
	return writer->thread_count++;
}

static bool frame_equals(const struct frame *one, const struct frame *other)
{
	return one->parent == other->parent && one->address == other->address &&
	       one->state == other->state && one->kind == other->kind;
}

/* Returns the number of the new frame; 0: no memory. */
static uint32_t add_frame(struct samples_writer *writer, const struct frame *frame)
{
	struct buffer *to = &writer->frame_bytes;
	uint32_t index = writer->frame_count + 1;
	struct frame *frames;

	frames = grow(writer->frames, index, &writer->frame_capacity, 256, sizeof(*frames));
	if (!frames)
		return 0;
	writer->frames = frames;
	writer->frames[index] = *frame;
	writer->frame_count = index;
	buffer_put_varint(to, (uint64_t)(frame->parent ? index - frame->parent : 0) << 2 |
				      (frame->kind == UNWEAVE_FRAME_OMITTED) << 1 |
				      (frame->state != 0));
	buffer_put_zigzag(to, (int64_t)(frame->address - writer->address));
	if (frame->state)
		buffer_put_zigzag(to, frame->state);
	writer->address = frame->address;
	return index;
}

static uint32_t intern(struct samples_writer *writer, struct frame frame)
{
	uint64_t key = hash_mix(frame.address + (uint64_t)frame.kind) ^
		       hash_mix((uint64_t)frame.parent << 32 | (uint32_t)frame.state);
	uint32_t *found = map_find(&writer->frame_index, key), index;

	for (index = found ? *found : 0; index; index = writer->frames[index].next)
		if (frame_equals(&writer->frames[index], &frame))
			return index;
	frame.next = found ? *found : 0;
	index = add_frame(writer, &frame);
	if (!index)
		return 0;
	if (found)
		*found = index;
	else if (map_put(&writer->frame_index, key, index) < 0)
		return 0;
	return index;
}

/* The number of a stack's innermost frame; 0 for an empty one. -ENOMEM. */
static int stack_of(struct samples_writer *writer, const struct samples_stack *stack, bool cut,
		    uint32_t *ret)
{
	uint32_t index = 0;

	if (cut && stack->count) {
		index = intern(writer, (struct frame){.kind = UNWEAVE_FRAME_OMITTED});
		if (!index)
			return -ENOMEM;
	}
	for (uint32_t i = stack->count; i-- > 0;) {
		index = intern(writer, (struct frame){
					       .parent = index,
					       .address = stack->addresses[i],
					       .state = stack->states ? stack->states[i] : 0,
					       .kind = stack->kinds ? stack->kinds[i] : 0,
				       });
		if (!index)
			return -ENOMEM;
	}
	*ret = index;
	return 0;
}

/* Makes room for the sample, in a new block if it must be. */
static int make_room(struct samples_writer *writer, const struct samples_input *sample)
{
	size_t used = writer->thread_bytes.length + writer->frame_bytes.length +
		      writer->sample_bytes.length;
	uint64_t frames = sample->native.count;
	size_t wanted;

	if (sample->segment_count > SAMPLE_SEGMENTS_MAX)
		return -E2BIG;
	for (uint32_t i = 0; i < sample->segment_count; i++)
		frames += (uint64_t)sample->segments[i].chain.count + 1;
	if (frames > SAMPLES_FRAMES_MAX)
		return -E2BIG;
	wanted =
		SAMPLE_BYTES + FRAME_BYTES * frames + (size_t)SEGMENT_BYTES * sample->segment_count;
	return used + wanted > FORMAT_PAYLOAD_MAX - SAMPLE_BYTES ? samples_writer_flush(writer) : 0;
}

static uint32_t flags_of(const struct samples_input *sample)
{
	uint32_t flags = sample->flags & ~FORMAT_SAMPLE_SITES;

	for (uint32_t i = 0; i < sample->segment_count; i++)
		flags |= sample->segments[i].site ? FORMAT_SAMPLE_SITES : 0;
	return flags;
}

static int put_stacks(struct samples_writer *writer, const struct samples_input *sample,
		      uint32_t flags)
{
	struct buffer *to = &writer->sample_bytes;
	uint32_t stack;
	int r = stack_of(writer, &sample->native, false, &stack);

	if (r < 0)
		return r;
	buffer_put_varint(to, stack);
	buffer_put_varint(to, sample->segment_count);
	for (uint32_t i = 0; i < sample->segment_count; i++) {
		const struct samples_segment *segment = &sample->segments[i];

		r = stack_of(writer, &segment->chain, segment->cut, &stack);
		if (r < 0)
			return r;
		buffer_put_varint(to, segment->task);
		buffer_put_varint(to, stack);
		if (flags & FORMAT_SAMPLE_SITES)
			buffer_put_varint(to, segment->site);
	}
	return 0;
}

int samples_writer_put(struct samples_writer *writer, const struct samples_input *sample)
{
	struct buffer *to = &writer->sample_bytes;
	uint32_t flags = flags_of(sample);
	int r = make_room(writer, sample);
	size_t undo = to->length;
	uint32_t thread;

	if (r < 0)
		return r;
	thread = thread_of(writer, sample);
	if (thread == UINT32_MAX)
		return -ENOMEM;
	if (!writer->count) {
		writer->base = writer->before = sample->ticks;
		writer->first = writer->last = sample->ticks;
	}
	buffer_put_zigzag(to, (int64_t)(sample->ticks - writer->before));
	buffer_put_varint(to, thread);
	buffer_put_varint(to, sample->weight);
	buffer_put_varint(to, flags);
	r = put_stacks(writer, sample, flags);
	if (r < 0 || to->bad) {
		to->length = undo;
		to->bad = false;
		return -ENOMEM;
	}
	if (sample->ticks < writer->first)
		writer->first = sample->ticks;
	if (sample->ticks > writer->last)
		writer->last = sample->ticks;
	writer->before = sample->ticks;
	writer->count++;
	return 0;
}

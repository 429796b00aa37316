/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/track.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "util/grow.h"

static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static int decoder_take(struct track_source *source, struct decoder **ret)
{
	if (!source->idle_count)
		return decoder_new(ret);
	*ret = source->idle[--source->idle_count];
	return 0;
}

static void decoder_put_back(struct track_source *source, struct decoder *decoder)
{
	struct decoder **idle =
		grow(source->idle, source->idle_count, &source->idle_capacity, 16, sizeof(*idle));

	if (!idle) {
		decoder_free(decoder);
		return;
	}
	source->idle = idle;
	source->idle[source->idle_count++] = decoder;
}

void track_source_fini(struct track_source *source)
{
	while (source->idle_count)
		decoder_free(source->idle[--source->idle_count]);
	free(source->idle);
	blocks_fini(&source->blocks);
}

void track_init(struct track *track, uint32_t thread, bool aside)
{
	*track = (struct track){.due.order = (uint64_t)thread << 1 | aside};
}

void track_fini(struct track *track)
{
	decoder_free(track->decoder);
	free(track->offsets);
	*track = (struct track){0};
}

int track_add(struct track *track, const struct block *block, uint64_t offset,
	      struct track_source *source)
{
	if (track->count == track->capacity) {
		uint32_t capacity = track->capacity ? track->capacity + track->capacity / 2 : 4;
		uint64_t *offsets = reallocarray(track->offsets, capacity, sizeof(*offsets));

		if (!offsets)
			return -ENOMEM;
		track->offsets = offsets;
		track->capacity = capacity;
	}
	if (!track->count) {
		track->base_known = !source->resynced;
		source->joined |= track->base_known && block->number;
	}
	track->offsets[track->count++] = offset;
	if (add(block->number, block->events) > track->total)
		track->total = add(block->number, block->events);
	return 0;
}

static void tell_missing(struct track *track, uint64_t missing, const char *where, uint64_t offset,
			 struct track_source *source)
{
	if (missing > track->excused)
		faults_add(&source->faults, offset,
			   "thread %" PRIu32 ": %" PRIu64 " records are missing %s",
			   track_thread(track), missing - track->excused, where);
	track->excused = 0;
}

/* After the last block: what is missing there, due when the last one ended. */
static int enter_tail(struct track *track, struct track_source *source)
{
	uint64_t total = track->ended && track->end > track->total ? track->end : track->total;

	if (track->ended && track->end < track->expected)
		faults_add(&source->faults, source->end_offset,
			   "thread %" PRIu32 ": the END block counts %" PRIu64
			   " records, but there are %" PRIu64,
			   track_thread(track), track->end, track->expected);
	if (!track->ended && source->end_offset && !source->ends_left_out && track->count)
		faults_add(&source->faults, source->end_offset,
			   "thread %" PRIu32 " is not in the END block", track_thread(track));
	if (total <= track->expected)
		return TRACK_END;
	track->lost = total - track->expected;
	tell_missing(track, track->lost, "at its end",
		     source->end_offset ? source->end_offset : source->blocks.size, source);
	track->expected = total;
	if (track->block.last > track->due.ticks)
		track->due.ticks = track->block.last;
	return 0;
}

/* What the header in hand says about the time. */
static void check_times(struct track *track, uint64_t last, struct track_source *source)
{
	if (track->block.first > track->block.last)
		faults_add(&source->faults, track->offset, "the block ends before it begins");
	else if (track->block.first < last)
		faults_add(&source->faults, track->offset,
			   "the block begins before the one before it ended");
}

/* Gets the header of block `next` or, if that is gone, of one after it. */
static int enter_block(struct track *track, struct track_source *source, struct diag *diag)
{
	uint64_t last = track->next ? track->block.last : 0;

	for (; track->next < track->count; track->next++) {
		int r;

		track->offset = track->offsets[track->next];
		r = blocks_header(&source->blocks, track->offset, &track->block, diag);
		if (r == 0) {
			check_times(track, last, source);
			track->due.ticks = track->block.first;
			return 0;
		}
		if (r != -EBADMSG)
			return r;
		faults_add(&source->faults, track->offset, "the file changed while it was read");
	}
	return enter_tail(track, source);
}

/* The index of the first block that does not end before `from`. */
static int find_block(struct track *track, uint64_t from, struct track_source *source,
		      uint32_t *ret, struct diag *diag)
{
	uint32_t low = 0, high = from ? track->count : 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct block block;
		int r = blocks_header(&source->blocks, track->offsets[middle], &block, diag);

		if (r < 0 && r != -EBADMSG)
			return r;
		if (r == 0 && block.last < from)
			low = middle + 1;
		else
			high = middle;
	}
	*ret = low;
	return 0;
}

int track_seek(struct track *track, uint64_t from, struct track_source *source, struct diag *diag)
{
	bool joined;
	int r;

	if (track->decoder)
		decoder_put_back(source, track->decoder);
	track->decoder = NULL;
	track->lost = 0;
	track->excused = 0;
	track->due.ticks = 0;
	track->expected = 0;
	r = find_block(track, from, source, &track->next, diag);
	if (r < 0)
		return r;
	/*
	 * A stream counts from 0, unless the recorder came late. Where damage may have taken its
	 * first block, the other streams tell.
	 */
	joined = track->base_known || source->joined;
	if (track->next) {
		r = blocks_header(&source->blocks, track->offsets[track->next - 1], &track->block,
				  diag);
		if (r < 0 && r != -EBADMSG)
			return r;
		joined = r < 0;
		if (r == 0)
			track->expected = add(track->block.number, track->block.events);
	}
	r = enter_block(track, source, diag);
	if (r == 0 && joined && track->next < track->count)
		track->expected = track->block.number;
	return r;
}

/* Reads and starts the block in hand; -EBADMSG if it is damaged. */
static int load(struct track *track, struct track_source *source, struct diag *diag)
{
	struct decoder *decoder = NULL;
	uint8_t *bytes;
	int r;

	if (!blocks_readable(&source->blocks, track->offset, &track->block))
		return -EBADMSG;
	r = decoder_take(source, &decoder);
	if (r < 0)
		return r;
	r = decoder_reserve(decoder, track->block.raw, &bytes);
	if (r == 0)
		r = blocks_payload(&source->blocks, track->offset, &track->block, bytes, diag);
	if (r == 0) {
		r = decoder_start(decoder, &track->block);
		if (r == -EBADMSG)
			faults_add(&source->faults, track->offset, "%s", decoder->fault);
	}
	if (r < 0) {
		decoder_put_back(source, decoder);
		return r;
	}
	track->decoder = decoder;
	return 0;
}

int track_load(struct track *track, struct track_source *source, struct diag *diag)
{
	int r;

	if (track->next == track->count)
		return TRACK_END;
	r = load(track, source, diag);
	if (r == -EBADMSG) {
		track->excused = add(track->excused, track->block.events);
		track->next++;
		return enter_block(track, source, diag);
	}
	if (r < 0)
		return r;
	if (track->block.number > track->expected) {
		track->lost = track->block.number - track->expected;
		tell_missing(track, track->lost, "before this block", track->offset, source);
	} else if (track->block.number < track->expected) {
		faults_add(&source->faults, track->offset,
			   "thread %" PRIu32 ": the block overlaps the one before it: it starts at "
			   "record %" PRIu64 ", not %" PRIu64,
			   track_thread(track), track->block.number, track->expected);
	}
	track->excused = 0;
	return 0;
}

/* A block that was read to its end must be what its header says. */
static void check_block(const struct track *track, struct track_source *source)
{
	uint64_t number = add(track->block.number, track->block.events);

	if (track->decoder->number != number)
		faults_add(&source->faults, track->offset,
			   "the block holds %" PRIu64 " records, its header says %" PRIu64,
			   track->decoder->number - track->block.number, track->block.events);
	if (track->decoder->ticks != track->block.last)
		faults_add(&source->faults, track->offset,
			   "the block does not end at the time that its header says");
}

int track_leave(struct track *track, int why, struct track_source *source, struct diag *diag)
{
	uint64_t number = add(track->block.number, track->block.events);

	if (why == -EBADMSG) {
		faults_add(&source->faults, track->offset, "%s", track->decoder->fault);
		if (track->decoder->number < number) {
			track->excused = number - track->decoder->number;
			number = track->decoder->number;
		}
	} else {
		check_block(track, source);
	}
	if (number > track->expected)
		track->expected = number;
	decoder_put_back(source, track->decoder);
	track->decoder = NULL;
	track->next++;
	return enter_block(track, source, diag);
}

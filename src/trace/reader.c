/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/catalog.h"
#include "trace/sampled.h"
#include "trace/timeline.h"
#include "trace/track.h"
#include "util/cleanup.h"
#include "util/grow.h"
#include "util/map.h"
#include "util/merge.h"

/* Events decoded at a time: few enough to stay in the nearest cache. */
#define BATCH 64u

struct reader {
	uint32_t given; /* of `batch`, to the caller */
	uint32_t ready;
	struct unweave_event batch[BATCH]; /* their times are still ticks */
	struct timeline_line line;         /* for all of the batch */
	int why;                           /* what decoder_fill() returned after the batch */
	uint64_t block;                    /* offset of the one that the batch is of */

	struct merge merge;
	uint64_t now;   /* ticks of the last event delivered */
	uint64_t from;  /* ns: what comes before is not delivered */
	uint64_t until; /* ticks: nor what comes after */
	struct timeline timeline;

	struct track *tracks;
	uint32_t track_count;
	uint32_t track_capacity;
	struct map track_index; /* by `order` */
	uint64_t last;          /* ticks */
	bool any;               /* block of events or of samples is there */
	struct track_source source;
	struct catalog catalog;
	struct sampled sampled;
	struct reader_summary summary;
};

DEFINE_FREEP(struct reader, reader_free)

static int no_memory(struct diag *diag)
{
	return diag_set(diag, -ENOMEM, "out of memory");
}

/* The track of a stream, made if it is not there; NULL: no memory. */
static struct track *track_get(struct reader *reader, uint32_t thread, bool aside)
{
	uint64_t order = (uint64_t)thread << 1 | aside;
	uint32_t *found = map_find(&reader->track_index, order);
	struct track *tracks;

	if (found)
		return &reader->tracks[*found];
	tracks = grow(reader->tracks, reader->track_count, &reader->track_capacity, 16,
		      sizeof(*tracks));
	if (!tracks)
		return NULL;
	reader->tracks = tracks;
	if (map_put(&reader->track_index, order, reader->track_count) < 0)
		return NULL;
	track_init(&reader->tracks[reader->track_count], thread, aside);
	return &reader->tracks[reader->track_count++];
}

/* Ticks, until the clocks are known. */
static void note_span(struct reader *reader, const struct block *block)
{
	if (!reader->any || block->first < reader->summary.first)
		reader->summary.first = block->first;
	if (block->last > reader->last)
		reader->last = block->last;
	reader->any = true;
}

static int note_samples(struct reader *reader, const struct block *block, uint64_t offset)
{
	note_span(reader, block);
	return sampled_add_block(&reader->sampled, offset);
}

static int note_events(struct reader *reader, const struct block *block, uint64_t offset)
{
	struct reader_summary *summary = &reader->summary;
	struct track *track;

	track = track_get(reader, block->thread, block->flags & BLOCK_FLAG_ASIDE);
	if (!track || track_add(track, block, offset, &reader->source) < 0 ||
	    catalog_note_thread(&reader->catalog, block->thread) < 0)
		return -ENOMEM;
	summary->event_blocks++;
	note_span(reader, block);
	summary->event_stored += FORMAT_BLOCK_HEADER_BYTES + (uint64_t)block->stored;
	summary->event_raw += block->raw;
	return 0;
}

static int read_clock(struct reader *reader, struct wire *from)
{
	struct meta_clock clock;

	meta_clock_decode(from, &clock);
	return from->bad ? -EBADMSG : timeline_add(&reader->timeline, &clock);
}

static int read_metadata(struct reader *reader, const struct block *block, struct wire *from)
{
	switch (block->kind) {
	case BLOCK_SESSION:
		return catalog_read_session(&reader->catalog, from);
	case BLOCK_CLOCK:
		return read_clock(reader, from);
	case BLOCK_THREADS:
		return catalog_read_threads(&reader->catalog, from);
	case BLOCK_SITES:
		return catalog_read_sites(&reader->catalog, from);
	case BLOCK_ADAPTERS:
		return catalog_read_adapters(&reader->catalog, from);
	case BLOCK_WAITS:
		return catalog_read_waits(&reader->catalog, from, block->first);
	case BLOCK_SAMPLER:
		return sampled_read_sampler(&reader->sampled, from);
	case BLOCK_MODULES:
		return sampled_read_modules(&reader->sampled, from);
	case BLOCK_SYMBOLS:
		return sampled_read_symbols(&reader->sampled, from);
	default:
		return catalog_read_end(&reader->catalog, from);
	}
}

static int note_metadata(struct reader *reader, const struct block *block, uint64_t offset,
			 uint8_t *payload, struct diag *diag)
{
	struct wire wire;
	int r;

	if (!blocks_readable(&reader->source.blocks, offset, block))
		return 0;
	r = blocks_payload(&reader->source.blocks, offset, block, payload, diag);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	wire = wire_of(payload, block->raw);
	r = read_metadata(reader, block, &wire);
	if (r == 0 && block->kind == BLOCK_END)
		reader->source.end_offset = offset;
	if (r != -EBADMSG)
		return r;
	faults_add(&reader->source.faults, offset,
		   block->kind == BLOCK_CLOCK ? "the clock of this block contradicts the one before"
					      : "the block's contents make no sense");
	return 0;
}

static void free_bytes(uint8_t **bytes)
{
	free(*bytes);
}

/* Takes note of every block; reads those that are not events. */
static int scan(struct reader *reader, struct diag *diag)
{
	cleanup(free_bytes) uint8_t *payload = malloc(FORMAT_PAYLOAD_MAX);
	struct blocks *blocks = &reader->source.blocks;
	uint64_t faults = reader->source.faults.count;
	struct block block;
	uint64_t offset;
	int r;

	if (!payload)
		return -ENOMEM;
	while ((r = blocks_next(blocks, &block, &offset, diag)) == 0) {
		reader->summary.blocks++;
		/* Found behind damage, which was told; a block before it may be missing. */
		if (reader->source.faults.count != faults)
			reader->source.resynced = true;
		if (block.kind == BLOCK_EVENTS)
			r = note_events(reader, &block, offset);
		else if (block.kind == BLOCK_SAMPLES)
			r = note_samples(reader, &block, offset);
		else if (block.kind >= BLOCK_SESSION && block.kind <= BLOCK_WAITS)
			r = note_metadata(reader, &block, offset, payload, diag);
		if (r < 0)
			return r;
		faults = reader->source.faults.count;
	}
	return r < 0 ? r : 0;
}

/* What the END block says of each stream. */
static int apply_ends(struct reader *reader)
{
	reader->source.ends_left_out = reader->catalog.ends_left_out != 0;
	for (uint32_t i = 0; i < reader->catalog.end_count; i++) {
		const struct meta_stream_end *end = &reader->catalog.ends[i];
		struct track *track;

		if (end->thread > UINT32_MAX)
			continue;
		track = track_get(reader, (uint32_t)end->thread, end->aside & 1);
		if (!track)
			return -ENOMEM;
		track->ended = true;
		track->end = end->number;
		/* No block of it is there: if that is not damage, it had nothing to say. */
		if (!track->count && (!reader->source.resynced || reader->source.joined))
			track->end = 0;
		if (!track->count)
			track->block.last = reader->last;
	}
	return 0;
}

static void summarise(struct reader *reader)
{
	struct reader_summary *summary = &reader->summary;

	summary->file_bytes = reader->source.blocks.size;
	summary->session = reader->catalog.session;
	summary->session_known = reader->catalog.session_known;
	summary->closed = reader->catalog.closed;
	summary->sample_blocks = reader->sampled.count;
	if (reader->any) {
		summary->first = timeline_ns(&reader->timeline, summary->first);
		summary->last = timeline_ns(&reader->timeline, reader->last);
	}
	if (reader->catalog.waits.time)
		reader->catalog.waits.time =
			timeline_ns(&reader->timeline, reader->catalog.waits.time);
	/* A program that hangs says nothing, but is still there. */
	if (reader->any && reader->catalog.waits.time > summary->last)
		summary->last = reader->catalog.waits.time;
	if (reader->any)
		summary->realtime = timeline_realtime(&reader->timeline, summary->first);
	if (!summary->realtime)
		summary->realtime = summary->session.realtime;
}

int reader_open(struct reader **ret, const char *path, reader_on_fault on_fault, void *data,
		struct diag *diag)
{
	cleanup(reader_freep) struct reader *reader = calloc(1, sizeof(*reader));
	struct track_source *source;
	int r;

	if (!reader)
		return no_memory(diag);
	source = &reader->source;
	source->blocks.fd = -1;
	source->faults = (struct faults){.tell = on_fault, .data = data};
	timeline_init(&reader->timeline);
	if (catalog_init(&reader->catalog) < 0 || sampled_init(&reader->sampled) < 0 ||
	    map_init(&reader->track_index, UINT32_MAX) < 0)
		return no_memory(diag);
	r = blocks_open(&source->blocks, path, &source->faults, diag);
	if (r < 0)
		return r;
	r = scan(reader, diag);
	if (r == 0)
		r = apply_ends(reader);
	if (r < 0)
		return r == -ENOMEM ? no_memory(diag) : r;
	if (catalog_finish(&reader->catalog) < 0)
		return no_memory(diag);
	timeline_set_rate(&reader->timeline, reader->catalog.session.ticks_per_s);
	summarise(reader);
	r = reader_seek(reader, 0, UINT64_MAX, diag);
	if (r < 0)
		return r;
	*ret = take(reader);
	return 0;
}

struct reader *reader_free(struct reader *reader)
{
	if (!reader)
		return NULL;
	for (uint32_t i = 0; i < reader->track_count; i++)
		track_fini(&reader->tracks[i]);
	free(reader->tracks);
	map_fini(&reader->track_index);
	merge_fini(&reader->merge);
	track_source_fini(&reader->source);
	timeline_fini(&reader->timeline);
	catalog_fini(&reader->catalog);
	sampled_fini(&reader->sampled);
	free(reader);
	return NULL;
}

const struct reader_summary *reader_summary(const struct reader *reader)
{
	return &reader->summary;
}

const struct reader_thread *reader_thread(const struct reader *reader, uint32_t thread)
{
	return catalog_thread(&reader->catalog, thread);
}

const struct reader_site *reader_site(const struct reader *reader, uint32_t site)
{
	return catalog_site(&reader->catalog, site);
}

uint32_t reader_thread_count(const struct reader *reader)
{
	return reader->catalog.thread_count;
}

const struct reader_thread *reader_thread_at(const struct reader *reader, uint32_t index)
{
	return index < reader->catalog.thread_count ? &reader->catalog.threads[index] : NULL;
}

const struct reader_adapter *reader_adapter_at(const struct reader *reader, uint32_t index)
{
	return index < reader->catalog.adapter_count ? &reader->catalog.adapters[index] : NULL;
}

const struct reader_waits *reader_waits(const struct reader *reader)
{
	return &reader->catalog.waits;
}

uint64_t reader_lost_outside(const struct reader *reader, enum unweave_loss cause)
{
	return (unsigned)cause < CATALOG_CAUSES ? reader->catalog.lost[cause] : 0;
}

static void make_lost(struct track *track, struct unweave_event *ret)
{
	*ret = (struct unweave_event){
		.time = track->due.ticks,
		.kind = UNWEAVE_EVENT_LOST,
		.other = UNWEAVE_LOSS_DAMAGE,
		.value = track->lost,
		.thread = track_thread(track),
		.flags = track_aside(track) ? UNWEAVE_EVENT_ASIDE : 0,
	};
	track->lost = 0;
}

/* Does what the first track needs before its decoder can go on. Returns -ENOMEM or -EIO. */
static int advance(struct reader *reader, struct diag *diag)
{
	struct track *track = (struct track *)reader->merge.first;
	int why = reader->why, r = 0;

	reader->why = 0;
	if (why == -ENOMEM)
		return why;
	if (!track->decoder)
		r = track_load(track, &reader->source, diag);
	else if (why == DECODER_END || why == -EBADMSG)
		r = track_leave(track, why, &reader->source, diag);
	reader->summary.faults = reader->source.faults.count;
	if (r < 0)
		return r;
	if (r == TRACK_END) {
		merge_drop(&reader->merge);
		return 0;
	}
	if (track->decoder && !track->lost)
		track->due.ticks = track->decoder->ticks;
	merge_settle(&reader->merge);
	return 0;
}

/*
 * Makes the times of the batch such that `line` is right for all of them, and
 * passes over those before `from`.
 */
static void settle_times(struct reader *reader)
{
	static const struct timeline_line straight = {.span = UINT64_MAX, .whole = 1};
	struct unweave_event *batch = reader->batch;
	uint32_t last = reader->ready - 1;

	if (!reader->ready)
		return;
	timeline_ns(&reader->timeline, batch[0].time);
	reader->line = reader->timeline.line;
	if (batch[0].time >= reader->now && timeline_holds(&reader->line, batch[last].time) &&
	    !reader->from) {
		reader->now = batch[last].time;
		return;
	}
	/* Even what contradicts itself must not go back in time. */
	for (uint32_t i = 0; i < reader->ready; i++) {
		if (batch[i].time > reader->now)
			reader->now = batch[i].time;
		batch[i].time = timeline_ns(&reader->timeline, reader->now);
	}
	reader->line = straight;
	while (reader->given < reader->ready && batch[reader->given].time < reader->from)
		reader->given++;
	if (reader->given < reader->ready)
		reader->from = 0;
}

/* Gets the next events that are due into the batch. As reader_next(). */
static __attribute__((noinline)) int refill(struct reader *reader, struct diag *diag)
{
	struct merge *merge = &reader->merge;

	reader->given = 0;
	reader->ready = 0;
	while (reader->given == reader->ready) {
		struct track *track = (struct track *)merge->first;

		if (!track)
			return READER_END;
		if (track->due.ticks > merge->bound) {
			merge_settle(merge);
			continue;
		}
		if (track->due.ticks > reader->until)
			return READER_END;
		reader->given = 0;
		reader->ready = 0;
		if (track->lost) {
			make_lost(track, reader->batch);
			reader->ready = 1;
		} else if (track->decoder && !reader->why) {
			uint64_t bound = merge->bound;

			reader->block = track->offset;
			reader->why = decoder_fill(track->decoder,
						   bound < reader->until ? bound : reader->until,
						   reader->batch, BATCH, &reader->ready);
			track->due.ticks = track->decoder->ticks;
		} else {
			int r = advance(reader, diag);

			if (r < 0)
				return r;
		}
		settle_times(reader);
	}
	return 0;
}

int reader_next(struct reader *reader, struct unweave_event *ret, struct diag *diag)
{
	if (__builtin_expect(reader->given == reader->ready, 0)) {
		int r = refill(reader, diag);

		if (r)
			return r == -ENOMEM ? no_memory(diag) : r;
	}
	*ret = reader->batch[reader->given++];
	ret->time = timeline_on(&reader->line, ret->time);
	return 0;
}

uint64_t reader_event_block(const struct reader *reader)
{
	return reader->block;
}

int reader_seek(struct reader *reader, uint64_t from, uint64_t to, struct diag *diag)
{
	uint64_t from_ticks = 0, to_ticks = 0;
	bool any;

	any = from < to && timeline_ticks(&reader->timeline, from, &from_ticks);
	reader->given = 0;
	reader->ready = 0;
	reader->why = 0;
	reader->until = UINT64_MAX;
	if (any && to != UINT64_MAX && timeline_ticks(&reader->timeline, to, &to_ticks)) {
		any = to_ticks > from_ticks;
		reader->until = to_ticks - 1;
	}
	reader->from = from;
	reader->now = 0;
	if (merge_reset(&reader->merge, reader->track_count) < 0)
		return no_memory(diag);
	for (uint32_t i = 0; any && i < reader->track_count; i++) {
		struct track *track = &reader->tracks[i];
		int r = track_seek(track, from_ticks, &reader->source, diag);

		if (r < 0)
			return r;
		if (r == 0)
			merge_add(&reader->merge, &track->due);
	}
	merge_settle(&reader->merge);
	reader->summary.faults = reader->source.faults.count;
	return 0;
}

int reader_next_sample(struct reader *reader, struct sample *ret, struct diag *diag)
{
	int r = sampled_next(&reader->sampled, &reader->source.blocks, ret, diag);

	reader->summary.faults = reader->source.faults.count;
	if (r)
		return r == -ENOMEM ? no_memory(diag) : r;
	ret->time = timeline_ns(&reader->timeline, ret->time);
	return 0;
}

void reader_rewind_samples(struct reader *reader)
{
	reader->sampled.next = 0;
	reader->sampled.block.left = 0;
}

const struct meta_sampler *reader_sampler(const struct reader *reader)
{
	return reader->sampled.sampler_known ? &reader->sampled.sampler : NULL;
}

const char *reader_tid_name(const struct reader *reader, uint32_t tid)
{
	uint32_t *found = map_find(&reader->sampled.name_index, tid);

	return found ? reader->sampled.names[*found] : "";
}

int reader_each_module(const struct reader *reader,
		       int (*visit)(void *data, const struct meta_module *module), void *data)
{
	const struct sampled_kept *kept = &reader->sampled.modules;

	for (uint32_t i = 0; i < kept->count; i++) {
		struct wire from = wire_of(kept->payloads[i].bytes, kept->payloads[i].length);

		for (uint64_t left = wire_varint(&from); left; left--) {
			struct meta_module module;
			int r;

			meta_module_decode(&from, &module);
			r = visit(data, &module);
			if (r)
				return r;
		}
	}
	return 0;
}

int reader_each_symbol(const struct reader *reader,
		       int (*visit)(void *data, uint64_t address, uint64_t start,
				    const struct meta_symbol_frame *frames, uint32_t count),
		       void *data)
{
	const struct sampled_kept *kept = &reader->sampled.symbols;
	struct meta_symbol_frame frames[META_SYMBOL_FRAMES];

	for (uint32_t i = 0; i < kept->count; i++) {
		struct wire from = wire_of(kept->payloads[i].bytes, kept->payloads[i].length);

		for (uint64_t left = wire_varint(&from); left; left--) {
			uint64_t address, start;
			uint32_t count = meta_symbol_decode(&from, &address, &start, frames);
			int r = visit(data, address, start, frames, count);

			if (r)
				return r;
		}
	}
	return 0;
}

uint64_t reader_anchors(const struct reader *reader)
{
	return reader->sampled.anchors;
}

bool reader_dispatch(const struct reader *reader, uint64_t *ret_start, uint64_t *ret_end)
{
	*ret_start = reader->sampled.dispatch;
	*ret_end = reader->sampled.dispatch_end;
	return *ret_end > *ret_start;
}

bool reader_ticks(struct reader *reader, uint64_t ns, uint64_t *ret)
{
	return timeline_ticks(&reader->timeline, ns, ret);
}

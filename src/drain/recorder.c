/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/recorder.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "arena/clock.h"
#include "drain/catalogue.h"
#include "drain/waits.h"
#include "trace/encoder.h"
#include "trace/meta.h"
#include "util/cleanup.h"

#ifndef UNWEAVE_VERSION
#define UNWEAVE_VERSION "0.1.0"
#endif

#define NS_PER_S UINT64_C(1000000000)
#define FLUSH_NS (NS_PER_S / 2)           /* a block is not held back for longer */
#define REPEAT_NS (60 * NS_PER_S)         /* metadata and the clocks are told again, ... */
#define REPEAT_BYTES (UINT64_C(16) << 20) /* ... also after so much of the file */
#define MANY_OUTLETS 64u
#define SHORT_BLOCK_BYTES (32u << 10)

/*
 * Of the disk, what is kept for the end: for what is known of it, and for threads and sites that
 * are yet to come.
 */
#define END_BYTES 1024u       /* its blocks, without what they list */
#define END_STREAM_BYTES 192u /* what a stream that is open may have to say there */
#define SPARE_BYTES (64u << 10)
#define SPARE_LEAST_BYTES (16u << 10) /* where there is no more */
#define PLENTY_BYTES (256u << 10)     /* a disk with so much to spare is not full any more */

/* A stream's way out. */
struct outlet {
	struct recorder *recorder;
	struct encoder *encoder; /* NULL without a file */
	uint64_t which;          /* line * ARENA_STREAMS + stream */
	uint64_t last_ns;        /* that the listener saw */
	uint64_t lost;           /* by the encoder, as far as it is counted */
	bool ending;             /* what it does not say now, it never will */
};

struct recorder {
	struct attachment *attachment; /* borrowed */
	struct drain *drain;
	struct writer *writer; /* NULL: no file */
	const char *save;      /* NULL: the file is written at once; else where at the end */
	unweave_listener listener;
	void (*thread)(void *data, uint32_t thread, uint32_t tid, const char *name, bool ended);
	void *listener_data;
	enum arena_clock clock;
	struct clock_moment start;
	uint64_t ticks_per_s;
	struct meta_session session;
	struct catalogue catalogue;
	struct buffer waits;     /* what tasks waited for when the session ended: a payload */
	uint64_t waits_ticks;    /* when that was */
	uint64_t repeated_ns;    /* CLOCK_MONOTONIC_RAW of the last telling */
	uint64_t repeated_bytes; /* of the file then */
	uint32_t outlets;        /* that are open */
	uint64_t unwritten;
	uint64_t final_bytes;
	struct flight_totals kept; /* at the end */
	bool alive;                /* the program was, when the session began */
	bool left;                 /* the session is over */
	bool stopped;
	struct drain_totals final; /* once it is */
	int error;
};

DEFINE_FREEP(struct recorder, recorder_free)

/* What the end is known to take, as of now. */
static uint64_t bytes_of_end(const struct recorder *recorder)
{
	return END_BYTES + (uint64_t)recorder->outlets * END_STREAM_BYTES +
	       catalogue_bytes(&recorder->catalogue, false);
}

/* Whether there is room for what is prepared, and after it for the end and `least` bytes. */
static int make_room(struct recorder *recorder, uint64_t least)
{
	uint64_t end = bytes_of_end(recorder);

	return writer_reserve(recorder->writer, end + (least > SPARE_BYTES ? least : SPARE_BYTES),
			      end + least);
}

/* A block of metadata. Its loss is no event's loss: it will be told again. */
static void put_meta_of(struct recorder *recorder, enum block_kind kind, struct buffer *payload,
			uint64_t ticks)
{
	struct block block = {
		.kind = kind, .raw = (uint32_t)payload->length, .first = ticks, .last = ticks};
	int r = payload->bad ? -ENOMEM : 0;

	if (!r)
		r = writer_put(recorder->writer, &block, payload->bytes, NULL);
	if (r < 0)
		recorder->error = r;
	buffer_fini(payload);
}

static void put_meta(struct recorder *recorder, enum block_kind kind, struct buffer *payload)
{
	put_meta_of(recorder, kind, payload, clock_ticks(recorder->clock));
}

static void put_session(struct recorder *recorder)
{
	struct buffer payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);

	meta_session_encode(&payload, &recorder->session);
	put_meta(recorder, BLOCK_SESSION, &payload);
}

/* One moment on all clocks; and the better the longer it goes on, the rate for listeners. */
static struct meta_clock measure_clock(struct recorder *recorder)
{
	struct clock_moment now = clock_measure(recorder->clock);

	if (now.raw > recorder->start.raw + NS_PER_S)
		recorder->ticks_per_s =
			(uint64_t)((unsigned __int128)(now.ticks - recorder->start.ticks) *
				   NS_PER_S / (now.raw - recorder->start.raw));
	return (struct meta_clock){now.ticks, now.raw, now.realtime};
}

static void put_clock(struct recorder *recorder)
{
	struct buffer payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	struct meta_clock moment = measure_clock(recorder);

	meta_clock_encode(&payload, &moment);
	put_meta(recorder, BLOCK_CLOCK, &payload);
}

static void put_threads(struct recorder *recorder, bool all)
{
	struct buffer payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);

	if (catalogue_threads(&recorder->catalogue, &payload, all))
		put_meta(recorder, BLOCK_THREADS, &payload);
}

static void put_sites(struct recorder *recorder, bool all)
{
	struct buffer payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);

	if (catalogue_sites(&recorder->catalogue, &payload, all))
		put_meta(recorder, BLOCK_SITES, &payload);
}

/* Says everything again that a reader of the file's next part needs. */
static void repeat_meta(struct recorder *recorder)
{
	put_clock(recorder);
	put_session(recorder);
	put_threads(recorder, true);
	put_sites(recorder, true);
}

/* Where the disk is full there is no next part, and the room for the end is not for this. */
static void repeat_if_due(struct recorder *recorder)
{
	uint64_t bytes = recorder->writer ? writer_bytes(recorder->writer) : 0;

	if (clock_raw() - recorder->repeated_ns < REPEAT_NS &&
	    bytes - recorder->repeated_bytes < REPEAT_BYTES)
		return;
	recorder->repeated_ns = clock_raw();
	recorder->repeated_bytes = bytes;
	if (recorder->writer &&
	    make_room(recorder, PLENTY_BYTES + catalogue_bytes(&recorder->catalogue, true)) >= 0)
		repeat_meta(recorder);
	else
		measure_clock(recorder);
}

static int on_thread(void *data, uint32_t thread, uint32_t tid, const char *name, bool ended)
{
	struct recorder *recorder = data;

	if (recorder->thread)
		recorder->thread(recorder->listener_data, thread, tid, name, ended);
	/* Without a file nobody would ever take the ended ones off the list. */
	if (!recorder->writer)
		return 0;
	return catalogue_add_thread(&recorder->catalogue, thread, tid, name, ended);
}

static int on_site(void *data, const struct meta_site *site)
{
	struct recorder *recorder = data;

	return catalogue_add_site(&recorder->catalogue, site);
}

/* The arena learns what is being written, and what has been: see settle_pending(). */
static int write_block(struct outlet *outlet, const struct block *block, const uint8_t *payload)
{
	struct recorder *recorder = outlet->recorder;
	struct arena_control *control = recorder->attachment->control;
	uint64_t next = block->number + block->events;
	uint64_t line = outlet->which / ARENA_STREAMS;
	int r = writer_prepare(recorder->writer, block, payload);

	/* That blocks were refused is said where others find room again, or at the very end. */
	if (r >= 0 && !outlet->ending)
		r = make_room(recorder,
			      encoder_owes(outlet->encoder) ? PLENTY_BYTES : SPARE_LEAST_BYTES);
	if (r < 0)
		return r;
	/*
	 * The census has no line: whoever comes after us takes one of its own. And
	 * what is only kept goes with us.
	 */
	if (line >= ARENA_LINES || recorder->save)
		return writer_commit(recorder->writer, NULL);
	atomic_store(&control->session.pending_stream, outlet->which);
	atomic_store(&control->session.pending_number, next);
	atomic_store(&control->session.pending_end, writer_bytes_after(recorder->writer));
	r = writer_commit(recorder->writer, NULL);
	if (r >= 0)
		atomic_store(
			&arena_lines(control)[line].streams[outlet->which % ARENA_STREAMS].written,
			next);
	atomic_store(&control->session.pending_end, 0);
	return r;
}

/* What the file refuses, the encoder keeps as a loss, and says as soon as it can. */
static int on_block(void *data, const struct block *block, const uint8_t *payload)
{
	struct outlet *outlet = data;

	/* Whose events they are is said before them, should there be no time for more. */
	put_threads(outlet->recorder, false);
	return write_block(outlet, block, payload);
}

/* Trouble with the file, and only that loses events, is no reason to stop taking. */
static void note_result(struct outlet *outlet, int r)
{
	uint64_t lost;

	if (r >= 0)
		return;
	lost = encoder_lost(outlet->encoder);
	outlet->recorder->unwritten += lost - outlet->lost;
	outlet->lost = lost;
	outlet->recorder->error = r;
}

static struct outlet *open_outlet(struct recorder *recorder, struct stream *stream)
{
	struct outlet *outlet = calloc(1, sizeof(*outlet));

	if (!outlet)
		return NULL;
	outlet->recorder = recorder;
	outlet->which = (uint64_t)stream->line * ARENA_STREAMS + stream->index;
	if (recorder->writer &&
	    encoder_new(&outlet->encoder, stream->thread, stream->index == ARENA_STREAM_ASIDE,
			stream->sent, false, on_block, outlet) < 0) {
		free(outlet);
		return NULL;
	}
	stream->user = outlet;
	recorder->outlets++;
	return outlet;
}

/* Where there are many streams their blocks are short: the memory may be the program's own. */
static bool is_long_enough(const struct outlet *outlet)
{
	return outlet->recorder->outlets > MANY_OUTLETS &&
	       encoder_bytes(outlet->encoder) > SHORT_BLOCK_BYTES;
}

uint64_t recorder_ns(const struct recorder *recorder, uint64_t ticks)
{
	uint64_t passed = ticks > recorder->start.ticks ? ticks - recorder->start.ticks : 0;

	return recorder->start.raw +
	       (uint64_t)((unsigned __int128)passed * NS_PER_S / recorder->ticks_per_s);
}

static void listen(struct recorder *recorder, struct outlet *outlet,
		   const struct unweave_event *event)
{
	struct unweave_event told = *event;

	told.time = recorder_ns(recorder, event->time);
	/* The rate gets better with time; no thread's clock may go back for that. */
	if (told.time < outlet->last_ns)
		told.time = outlet->last_ns;
	outlet->last_ns = told.time;
	recorder->listener(&told, recorder->listener_data);
}

static int on_events(void *data, struct stream *stream, const struct unweave_event *events,
		     uint32_t count)
{
	struct recorder *recorder = data;
	struct outlet *outlet = stream->user ? stream->user : open_outlet(recorder, stream);

	if (!outlet)
		return -ENOMEM;
	for (uint32_t i = 0; recorder->listener && i < count; i++)
		listen(recorder, outlet, &events[i]);
	if (!outlet->encoder)
		return 0;
	note_result(outlet, encoder_put(outlet->encoder, events, count));
	if (is_long_enough(outlet))
		note_result(outlet, encoder_flush(outlet->encoder));
	return 0;
}

static int on_end(void *data, struct stream *stream)
{
	struct recorder *recorder = data;
	struct outlet *outlet = stream->user;
	int r;

	if (!outlet)
		return 0;
	if (outlet->encoder) {
		r = encoder_flush(outlet->encoder);
		note_result(outlet, r);
		/* Where the last block found no room, the word that it did not has some kept. */
		outlet->ending = true;
		if (r < 0)
			encoder_flush(outlet->encoder);
		catalogue_add_end(&recorder->catalogue, stream->thread,
				  stream->index == ARENA_STREAM_ASIDE,
				  encoder_number(outlet->encoder));
		encoder_free(outlet->encoder);
	}
	free(outlet);
	recorder->outlets--;
	stream->user = NULL;
	return 0;
}

static struct meta_text text_of(const char *string)
{
	return (struct meta_text){string, strlen(string)};
}

static void describe_session(struct recorder *recorder, const struct recorder_options *options,
			     const char *program)
{
	recorder->session = (struct meta_session)
	{
		.pid = recorder->attachment->pid, .realtime = recorder->start.realtime,
		.clock = recorder->clock, .ticks_per_s = recorder->ticks_per_s,
		.keywords = options->keywords ? options->keywords : drain_keywords(options->detail),
		.policy = options->policy,
		.detail = options->detail ? options->detail : UNWEAVE_DETAIL_FULL,
		.version = text_of(UNWEAVE_VERSION), .program = text_of(program),
#if defined(__x86_64__)
		.machine = text_of("x86_64"),
#elif defined(__aarch64__)
		.machine = text_of("aarch64"),
#else
		.machine = text_of("unknown"),
#endif
	};
}

static struct drain_options drain_options_of(const struct recorder_options *options)
{
	struct drain_options result = {
		.detail = options->detail,
		.policy = options->policy,
		.keywords = options->keywords,
		.buffer_bytes = options->buffer_bytes,
		.afresh = options->afresh,
	};
	char *absolute = options->path ? realpath(options->path, NULL) : NULL;

	/* A path that is too long is left out: then nobody can say whether a block arrived. */
	if (absolute && strlen(absolute) < sizeof(result.path))
		strcpy(result.path, absolute);
	free(absolute);
	return result;
}

static int open_writer(struct recorder *recorder, const struct recorder_options *options,
		       struct diag *diag)
{
	struct flight_limits limits = {
		.ticks = (uint64_t)((unsigned __int128)options->flight_ns * recorder->ticks_per_s /
				    NS_PER_S),
		.bytes = options->flight_bytes,
	};

	if (!options->flight_bytes)
		return writer_new(&recorder->writer, options->path, options->compress,
				  options->compress_data, diag);
	recorder->save = options->path;
	return writer_new_flight(&recorder->writer, &limits, options->compress,
				 options->compress_data, diag);
}

int recorder_new(struct recorder **ret, struct attachment *attachment,
		 const struct recorder_options *options, struct diag *diag)
{
	cleanup(recorder_freep) struct recorder *recorder = calloc(1, sizeof(*recorder));
	struct drain_options drain_options;
	struct drain_sink sink = {.thread = on_thread,
				  .site = on_site,
				  .events = on_events,
				  .end = on_end,
				  .data = recorder};
	char program[256];
	int r;

	if (!recorder)
		return -ENOMEM;
	recorder->attachment = attachment;
	recorder->listener = options->listener;
	recorder->thread = options->thread;
	recorder->listener_data = options->listener_data;
	recorder->clock = attachment->clock;
	recorder->alive = attachment->own || attach_is_alive(attachment);
	recorder->start = clock_measure(recorder->clock);
	recorder->ticks_per_s = clock_rate(recorder->clock);
	if (!recorder->ticks_per_s)
		return diag_set(diag, -EBADMSG, "the program's clock stands still");
	if (options->path) {
		r = open_writer(recorder, options, diag);
		if (r < 0)
			return r;
	}
	attach_program(attachment, program);
	r = catalogue_init(&recorder->catalogue, program);
	if (r < 0)
		return r;
	describe_session(recorder, options, recorder->catalogue.program);
	recorder->repeated_ns = clock_raw();
	if (recorder->writer)
		repeat_meta(recorder);
	drain_options = drain_options_of(options);
	r = drain_new(&recorder->drain, attachment, &drain_options, &sink, diag);
	if (r < 0)
		return r;
	*ret = take(recorder);
	return 0;
}

static int drop_outlet(void *data, struct stream *stream)
{
	struct outlet *outlet = stream->user;

	(void)data;
	if (outlet)
		encoder_free(outlet->encoder);
	free(outlet);
	stream->user = NULL;
	return 0;
}

struct recorder *recorder_free(struct recorder *recorder)
{
	if (!recorder)
		return NULL;
	if (recorder->drain)
		drain_each(recorder->drain, drop_outlet, NULL);
	drain_free(recorder->drain);
	writer_free(recorder->writer);
	catalogue_fini(&recorder->catalogue);
	buffer_fini(&recorder->waits);
	free(recorder);
	return NULL;
}

static int flush_old(void *data, struct stream *stream)
{
	const uint64_t *oldest = data;
	struct outlet *outlet = stream->user;
	uint64_t first = outlet && outlet->encoder ? encoder_first(outlet->encoder) : 0;

	if (first && first < *oldest)
		note_result(outlet, encoder_flush(outlet->encoder));
	return 0;
}

/* Blocks that have waited long enough, and metadata that is due. */
static void keep_up(struct recorder *recorder)
{
	uint64_t oldest =
		clock_ticks(recorder->clock) - recorder->ticks_per_s / (NS_PER_S / FLUSH_NS);

	if (recorder->writer) {
		put_threads(recorder, false);
		put_sites(recorder, false);
	}
	drain_each(recorder->drain, flush_old, &oldest);
	repeat_if_due(recorder);
}

int recorder_pass(struct recorder *recorder)
{
	int taken = drain_pass(recorder->drain);

	keep_up(recorder);
	return taken;
}

bool recorder_has_census(const struct recorder *recorder)
{
	return drain_has_census(recorder->drain);
}

uint64_t recorder_pause_ns(const struct recorder *recorder)
{
	return drain_pause_ns(recorder->drain);
}

int recorder_put(struct recorder *recorder, const struct block *block, const uint8_t *payload)
{
	struct block stamped = *block;
	int r;

	if (!recorder->writer)
		return 0;
	if (!stamped.first)
		stamped.first = stamped.last = clock_ticks(recorder->clock);
	r = writer_prepare(recorder->writer, &stamped, payload);
	/* How many samples were refused is of the end, too. Names may take what is to spare. */
	if (r >= 0 && stamped.kind != BLOCK_SAMPLER)
		r = make_room(recorder, stamped.kind == BLOCK_SAMPLES ? SPARE_LEAST_BYTES : 0);
	if (r >= 0)
		r = writer_commit(recorder->writer, NULL);
	if (r < 0)
		recorder->error = r;
	return r;
}

const struct stacks *recorder_stacks(const struct recorder *recorder)
{
	return drain_stacks(recorder->drain);
}

void recorder_renew(struct recorder *recorder)
{
	drain_set_keywords(recorder->drain, recorder->session.keywords);
}

void recorder_set_keywords(struct recorder *recorder, uint64_t keywords)
{
	drain_set_keywords(recorder->drain, keywords);
	recorder->session.keywords = keywords;
	if (recorder->writer)
		put_session(recorder);
}

/* Of this moment, while the table is what the events made it. */
static void collect_waits(struct recorder *recorder)
{
	buffer_fini(&recorder->waits);
	recorder->waits = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	/* Else nobody knows for how long they have. */
	if (recorder->alive)
		waits_collect(&recorder->attachment->table, &recorder->waits);
	recorder->waits_ticks = clock_ticks(recorder->clock);
}

/* Not worth the room, where that is short, in which the end is to be told. */
static void put_waits(struct recorder *recorder)
{
	int r;

	if (!recorder->waits.length || recorder->error)
		return;
	r = make_room(recorder, recorder->waits.length);
	if (r < 0)
		recorder->error = r;
	else
		put_meta_of(recorder, BLOCK_WAITS, &recorder->waits, recorder->waits_ticks);
}

int recorder_leave(struct recorder *recorder)
{
	collect_waits(recorder);
	recorder->left = true;
	return drain_stop(recorder->drain);
}

static void put_end(struct recorder *recorder, const struct drain_totals *totals)
{
	struct buffer payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);

	catalogue_end(&recorder->catalogue, &payload, totals->orphans, totals->reentries);
	put_meta(recorder, BLOCK_END, &payload);
}

static int snapshot_stream(void *data, struct stream *stream)
{
	struct recorder *recorder = data;
	struct outlet *outlet = stream->user;

	if (!outlet || !outlet->encoder)
		return 0;
	note_result(outlet, encoder_flush(outlet->encoder));
	catalogue_add_end(&recorder->catalogue, stream->thread, stream->index == ARENA_STREAM_ASIDE,
			  encoder_number(outlet->encoder));
	return 0;
}

int recorder_snapshot(struct recorder *recorder, const char *path, struct diag *diag)
{
	struct drain_totals totals = drain_totals(recorder->drain);

	collect_waits(recorder);
	drain_each(recorder->drain, snapshot_stream, recorder);
	repeat_meta(recorder);
	put_waits(recorder);
	put_end(recorder, &totals);
	return writer_save(recorder->writer, path, diag);
}

int recorder_stop(struct recorder *recorder)
{
	int r = recorder->left ? 0 : recorder_leave(recorder);
	struct drain_totals totals = drain_totals(recorder->drain);

	if (recorder->writer) {
		/* What was kept may have lost what was told long ago. */
		if (recorder->save)
			repeat_meta(recorder);
		else
			put_clock(recorder);
		put_threads(recorder, false);
		put_sites(recorder, false);
		put_waits(recorder);
		put_end(recorder, &totals);
		recorder->kept = writer_kept(recorder->writer);
		recorder->final_bytes = writer_file_bytes(recorder->writer);
		if (recorder->save && r >= 0)
			r = writer_save(recorder->writer, recorder->save, NULL);
	}
	recorder->writer = writer_free(recorder->writer);
	drain_note_told(recorder->drain, &totals);
	recorder->stopped = true;
	recorder->final = totals;
	return r;
}

struct recorder_totals recorder_totals(const struct recorder *recorder)
{
	return (struct recorder_totals){
		.drain = recorder->stopped ? recorder->final : drain_totals(recorder->drain),
		.bytes = recorder->writer ? writer_file_bytes(recorder->writer)
					  : recorder->final_bytes,
		.unwritten = recorder->unwritten,
		.error = recorder->error,
	};
}

struct recorder_kept recorder_kept(const struct recorder *recorder)
{
	struct flight_totals kept =
		recorder->writer ? writer_kept(recorder->writer) : recorder->kept;

	return (struct recorder_kept){
		.events = kept.events,
		.samples = kept.samples,
		.ns = (uint64_t)((unsigned __int128)(kept.last - kept.first) * NS_PER_S /
				 recorder->ticks_per_s),
	};
}

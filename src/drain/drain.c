/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/drain.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "arena/clock.h"
#include "drain/census.h"
#include "drain/events.h"
#include "drain/sites.h"
#include "util/cleanup.h"
#include "util/merge.h"

#define NS_PER_S UINT64_C(1000000000)
#define LIVENESS_NS NS_PER_S /* how often threads are looked after that say nothing */
#define GRACE_NS 2000000     /* for threads that are inside a hook when the session ends */

/*
 * Between two passes. What a drain works with has left the caches by the time it comes back, so few
 * large passes cost less than many small ones; but a program can be much busier the moment after.
 * So a pass is to find an eighth of the room full. One that found next to nothing knows nothing of
 * what comes, and one that found no room left, of what came: they are followed by another one soon.
 */
#define PAUSE_LEAST_NS 1000000u
#define PAUSE_IDLE_NS 20000000u
#define PAUSE_MOST_NS 50000000u
#define PAUSE_ROOM_PART 8u
#define PAUSE_IDLE_PART 64u /* of the room: less is next to nothing */

/* A line of the arena, as this drain knows it. */
struct watch {
	uint32_t serial; /* of the thread that it was seen with; 0: none */
	uint32_t thread; /* what the trace calls it */
	uint32_t tid;
	char name[ARENA_NAME_WORDS * 8];
	bool ended; /* nothing comes after what was there in this pass */
	struct stream streams[ARENA_STREAMS];
};

struct drain {
	struct attachment *attachment; /* borrowed */
	struct drain_sink sink;
	struct stream_shop shop;
	struct watch *watches; /* one for each line */
	struct merge merge;    /* the streams that have something at hand */
	struct census census;  /* of the tasks that were there before */
	bool adopting;         /* what is there is ours: see drain_new() */
	uint32_t threads;      /* and the census, if it had anything to tell */
	uint32_t sites_seen;   /* bytes of names that were told */
	uint32_t chunks;       /* of the pool that may be in use */
	uint32_t pool;         /* chunks that the session has; less if an earlier one had more */
	uint64_t looked_after;
	uint64_t passed;  /* when the last pass began */
	uint64_t between; /* that and the one before it: ns */
	uint64_t found; /* by it, in words of the pool: those of chunks that it freed count in full
			 */
	bool was_lossy; /* there was no room for something */
	uint64_t words, freed, lost; /* the shop's, after it */
	bool program_ended;
	bool stopped;
};

DEFINE_FREEP(struct drain, drain_free)

uint64_t drain_keywords(enum unweave_detail detail)
{
	switch (detail) {
	case UNWEAVE_DETAIL_SAMPLES:
		return 0;
	case UNWEAVE_DETAIL_TASKS:
		return UNWEAVE_KEYWORDS_TASKS;
	default:
		return UNWEAVE_KEYWORDS_FULL;
	}
}

/* Gives the config a new revision. Only the drain writes it, so it is read without care. */
static uint64_t publish_config(struct drain *drain, uint64_t keywords, enum arena_mode mode)
{
	struct arena_config *config = &drain->attachment->control->config;
	uint64_t revision = (__atomic_load_n(&config->hot.gate, __ATOMIC_RELAXED) >> 8) + 1;

	atomic_store_explicit(&config->keywords, keywords, memory_order_relaxed);
	atomic_fetch_add_explicit(&config->epoch, 1, memory_order_relaxed);
	if (mode == ARENA_MODE_OFF)
		atomic_store_explicit(&config->off_revision, revision, memory_order_relaxed);
	/* E: the rest of the config, before the revision that shows it. */
	__atomic_store_n(&config->hot.gate, revision << 8 | mode, __ATOMIC_RELEASE);
	return revision;
}

static enum arena_mode mode_of(uint64_t keywords)
{
	return keywords ? ARENA_MODE_EVENTS : ARENA_MODE_SAMPLES;
}

/* A recorder died while a block was on its way: whether it arrived, its file's size says. */
static void settle_pending(struct drain *drain)
{
	struct arena_control *control = drain->attachment->control;
	struct arena_session *session = &control->session;
	uint64_t end = atomic_load(&session->pending_end);
	uint64_t which = atomic_load(&session->pending_stream);
	char path[sizeof(session->path)];
	struct stat st;

	memcpy(path, session->path, sizeof(path));
	path[sizeof(path) - 1] = '\0';
	if (end && which < ARENA_LINES * ARENA_STREAMS && stat(path, &st) == 0 &&
	    (uint64_t)st.st_size >= end)
		atomic_store(&arena_lines(control)[which / ARENA_STREAMS]
				      .streams[which % ARENA_STREAMS]
				      .written,
			     atomic_load(&session->pending_number));
	atomic_store(&session->pending_end, 0);
}

/* Whether a drain has moved past the chunk. One that its thread starts over is not. */
static bool is_passed(struct arena_control *control, uint32_t chunk, uint64_t owner)
{
	uint32_t line = owner >> 16 & 0xffff;
	uint32_t stream = (owner & 0xffff) - 1;
	uint64_t taken;

	if (line >= ARENA_LINES || stream >= ARENA_STREAMS)
		return false;
	taken = atomic_load(&arena_lines(control)[line].streams[stream].taken);
	return owner >> 32 < position_number(taken) && position_chunk(taken) != chunk;
}

/*
 * Makes every free chunk findable, and frees those that a recorder had moved
 * past when it died: their numbers lie before their stream's `taken`.
 */
static void recover_chunks(struct drain *drain, uint32_t chunks)
{
	struct arena_control *control = drain->attachment->control;
	struct arena_chunk *pool = drain->attachment->pool;

	for (uint32_t i = 0; i < chunks; i++) {
		uint64_t owner = atomic_load_explicit(&pool[i].owner, memory_order_acquire);

		/* Threads take chunks meanwhile: one that is free or passed may not stay so. */
		if (!owner)
			chunk_hint(control, i);
		else if (is_passed(control, i, owner) &&
			 atomic_compare_exchange_strong(&pool[i].owner, &owner, 0))
			chunk_hint(control, i);
	}
}

static int reserve_pool(struct drain *drain, const struct drain_options *options, struct diag *diag)
{
	struct arena_config *config = &drain->attachment->control->config;
	uint64_t bytes = options->buffer_bytes ? options->buffer_bytes : ARENA_POOL_DEFAULT;
	uint64_t wanted = bytes / ARENA_CHUNK_BYTES;
	uint32_t have = atomic_load(&config->chunks);
	int chunks;

	if (wanted < 2)
		wanted = 2;
	chunks = attach_reserve(drain->attachment,
				wanted < ARENA_CHUNKS_MAX ? (uint32_t)wanted : ARENA_CHUNKS_MAX);
	if (chunks < 0)
		return diag_set(diag, chunks, "no memory for the program's buffers");
	/* Chunks beyond the new number that are in use are drained like the others. */
	drain->chunks = (uint32_t)chunks > have                ? (uint32_t)chunks
			: have > drain->attachment->chunks_max ? drain->attachment->chunks_max
							       : have;
	drain->pool = (uint32_t)chunks;
	recover_chunks(drain, drain->chunks);
	atomic_store_explicit(&config->chunks, (uint32_t)chunks, memory_order_release);
	return 0;
}

static void begin_session(struct drain *drain, const struct drain_options *options)
{
	struct arena_control *control = drain->attachment->control;
	uint64_t keywords = options->keywords ? options->keywords : drain_keywords(options->detail);
	uint64_t gate = __atomic_load_n(&control->config.hot.gate, __ATOMIC_RELAXED);

	if ((gate & UNWEAVE_PRIV_MODE_MASK) != ARENA_MODE_EVENTS)
		atomic_store(&control->session.begun, clock_ticks(drain->attachment->clock));
	atomic_store(&control->session.pid, (uint32_t)getpid());
	atomic_store(&control->armed, 0);
	memcpy(control->session.path, options->path, sizeof(control->session.path));
	atomic_store(&control->config.policy, options->policy);
	atomic_store(&control->config.heartbeat, clock_monotonic());
	drain->shop.session = publish_config(drain, keywords, mode_of(keywords));
}

static int tell_census(struct drain *drain, bool ended)
{
	return drain->sink.thread(drain->sink.data, drain->census.stream.thread, 0, "(live tasks)",
				  ended);
}

/* What the census has to tell looks like a thread of its own, if there is anything. */
static int introduce_census(void *data, struct stream *stream)
{
	struct drain *drain = data;

	stream->thread = ++drain->threads;
	return tell_census(drain, false);
}

int drain_new(struct drain **ret, struct attachment *attachment,
	      const struct drain_options *options, const struct drain_sink *sink, struct diag *diag)
{
	cleanup(drain_freep) struct drain *drain = calloc(1, sizeof(*drain));
	bool armed;
	int r;

	if (!drain)
		return -ENOMEM;
	drain->attachment = attachment;
	drain->sink = *sink;
	drain->passed = clock_monotonic();
	drain->shop.attachment = attachment;
	drain->shop.sink = sink->events;
	drain->shop.sink_data = sink->data;
	drain->watches = calloc(ARENA_LINES, sizeof(*drain->watches));
	r = stream_shop_init(&drain->shop);
	if (r < 0 || !drain->watches || merge_reset(&drain->merge, ARENA_LINES * ARENA_STREAMS) < 0)
		return -ENOMEM;
	armed = atomic_load(&attachment->control->armed);
	drain->adopting =
		armed || (!options->afresh && atomic_load(&attachment->control->session.pid) != 0);
	settle_pending(drain);
	r = reserve_pool(drain, options, diag);
	if (r < 0)
		return r;
	begin_session(drain, options);
	/* After that: who comes in between is in the table as well as in the records. */
	r = armed ? 0 /* each task of the program is in its records */
		  : census_begin(&drain->census, &drain->shop, introduce_census, drain);
	if (r < 0)
		return r;
	*ret = take(drain);
	return 0;
}

struct drain *drain_free(struct drain *drain)
{
	if (!drain)
		return NULL;
	for (uint32_t i = 0; drain->watches && i < ARENA_LINES; i++)
		for (uint32_t s = 0; s < ARENA_STREAMS; s++)
			stream_close(&drain->watches[i].streams[s], &drain->shop);
	free(drain->watches);
	merge_fini(&drain->merge);
	census_fini(&drain->census);
	stream_shop_fini(&drain->shop);
	free(drain);
	return NULL;
}

void drain_set_keywords(struct drain *drain, uint64_t keywords)
{
	publish_config(drain, keywords, mode_of(keywords));
}

static int tell_thread(struct drain *drain, const struct watch *watch, bool ended)
{
	return drain->sink.thread(drain->sink.data, watch->thread, watch->tid, watch->name, ended);
}

/*
 * A thread that this drain has not seen yet. It gets a number of ours: what the
 * program calls it need not be true, and no two streams may have the same.
 */
static int meet(struct drain *drain, uint32_t index, uint32_t serial)
{
	struct arena_line *line = &arena_lines(drain->attachment->control)[index];
	struct watch *watch = &drain->watches[index];

	watch->serial = serial;
	watch->thread = ++drain->threads;
	watch->tid = atomic_load(&line->tid);
	for (uint32_t i = 0; i < ARENA_NAME_WORDS; i++) {
		uint64_t word = atomic_load_explicit(&line->name[i], memory_order_relaxed);

		memcpy(watch->name + i * sizeof(word), &word, sizeof(word));
	}
	watch->name[sizeof(watch->name) - 1] = '\0';
	for (uint32_t s = 0; s < ARENA_STREAMS; s++) {
		watch->streams[s] = (struct stream){.due.order = (uint64_t)watch->thread << 1 | s,
						    .shared = &line->streams[s],
						    .line = index,
						    .index = s,
						    .thread = watch->thread};
		stream_open(&watch->streams[s], &drain->shop, !drain->adopting);
	}
	return tell_thread(drain, watch, false);
}

/*
 * Nothing more comes of this stream. It is noted as written after it was, and before anything is
 * cleared, so that a recorder that comes after our death counts what we took with us.
 */
static int finish(struct drain *drain, struct stream *stream)
{
	int r = stream_settle(stream, &drain->shop);

	if (r >= 0)
		r = drain->sink.end(drain->sink.data, stream);
	stream_note_written(stream);
	return r;
}

/* The thread is gone, and its last records were decoded: its line goes back to the program. */
static int part(struct drain *drain, uint32_t index)
{
	struct arena_line *line = &arena_lines(drain->attachment->control)[index];
	struct watch *watch = &drain->watches[index];
	int r = 0;

	for (uint32_t s = 0; s < ARENA_STREAMS && r >= 0; s++) {
		r = finish(drain, &watch->streams[s]);
		stream_clear(&watch->streams[s], &drain->shop);
		stream_close(&watch->streams[s], &drain->shop);
	}
	if (r >= 0)
		r = tell_thread(drain, watch, true);
	watch->serial = 0;
	atomic_store(&line->serial, 0);
	/* The line is as new: pairs with the compare-and-swap of the thread that gets it. */
	atomic_store_explicit(&line->state, ARENA_LINE_FREE, memory_order_release);
	return r;
}

/* The thread gave its line away without a word, as one may that never emitted. */
static int forget(struct drain *drain, struct watch *watch)
{
	int r = 0;

	for (uint32_t s = 0; s < ARENA_STREAMS && r >= 0; s++) {
		r = drain->sink.end(drain->sink.data, &watch->streams[s]);
		stream_close(&watch->streams[s], &drain->shop);
	}
	watch->serial = 0;
	return r < 0 ? r : tell_thread(drain, watch, true);
}

/* Has at hand what one thread has published; `gone`: its process is no more. */
static int look(struct drain *drain, uint32_t index, bool gone, bool look_after)
{
	struct arena_line *line = &arena_lines(drain->attachment->control)[index];
	struct watch *watch = &drain->watches[index];
	/* F: after EXITED there is no record that we could miss. */
	uint32_t state = atomic_load_explicit(&line->state, memory_order_acquire);
	uint32_t serial = atomic_load_explicit(&line->serial, memory_order_acquire);
	int r = 0;

	if (state == ARENA_LINE_FREE || !serial)
		return 0;
	if (watch->serial && watch->serial != serial)
		r = forget(drain, watch);
	if (r >= 0 && watch->serial != serial)
		r = meet(drain, index, serial);
	if (r < 0)
		return r;
	watch->ended = gone || state == ARENA_LINE_EXITED;
	/* Only if the line is still its own: one that ended in good order may have given it on. */
	if (look_after && !watch->ended)
		watch->ended =
			!attach_thread_is_alive(drain->attachment, atomic_load(&line->tid)) &&
			atomic_load(&line->serial) == serial;
	for (uint32_t s = 0; s < ARENA_STREAMS; s++) {
		r = stream_refill(&watch->streams[s], &drain->shop);
		if (r < 0)
			return r;
		if (r > 0)
			merge_add(&drain->merge, &watch->streams[s].due);
	}
	return 0;
}

/* Lets go of a thread that ended, once all of it was decoded. */
static int part_if_over(struct drain *drain, uint32_t index)
{
	const struct watch *watch = &drain->watches[index];

	if (!watch->serial || !watch->ended || watch->streams[ARENA_STREAM_MAIN].words ||
	    watch->streams[ARENA_STREAM_ASIDE].words)
		return 0;
	return part(drain, index);
}

/*
 * Decodes what is at hand, of all streams in the order of time, up to the horizon. What was
 * stamped before it was in the chunks then: more than they hold is of a program that puts old
 * records back, and waits for the next pass.
 */
static int decode_in_order(struct drain *drain)
{
	struct merge *merge = &drain->merge;
	uint64_t horizon = drain->shop.horizon;
	uint64_t most = drain->shop.records + (uint64_t)drain->chunks * ARENA_CHUNK_WORDS;

	merge_settle(merge);
	while (merge->first && merge->first->ticks <= horizon && drain->shop.records < most) {
		struct stream *stream = (struct stream *)merge->first;
		uint64_t limit = merge->bound < horizon ? merge->bound : horizon;
		int r = events_decode(stream, &drain->shop, limit);

		if (r >= 0)
			r = stream_refill(stream, &drain->shop);
		if (r < 0)
			return r;
		if (r > 0) {
			merge_settle(merge);
			continue;
		}
		merge_drop(merge);
		/* At once: thousands of threads may have come and gone, each with an encoder. */
		r = part_if_over(drain, stream->line);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Those that had nothing left to say. */
static int part_with_silent(struct drain *drain, uint32_t lines)
{
	int r = 0;

	for (uint32_t i = 0; i < lines && r >= 0; i++)
		r = part_if_over(drain, i);
	return r;
}

/*
 * Whatever a record depends on was published before it was stamped. So what is
 * stamped before the horizon can be put in order, if that was read before any
 * stream was looked at; the rest stays for the next pass. `last`: there is none.
 */
static int visit_all(struct drain *drain, bool gone, bool look_after, bool last)
{
	uint64_t horizon = clock_ticks(drain->attachment->clock);
	uint32_t used;
	uint64_t before = drain->shop.records;
	uint64_t taken;
	int r = 0;

	/* Nothing that is read below may be read before the clock. */
	atomic_thread_fence(memory_order_seq_cst);
	used = atomic_load(&drain->attachment->control->lines_used);
	if (used > ARENA_LINES)
		used = ARENA_LINES;
	drain->shop.horizon = gone || last ? UINT64_MAX : horizon;
	merge_reset(&drain->merge, 0);
	for (uint32_t i = 0; i < used && r >= 0; i++)
		r = look(drain, i, gone, look_after);
	if (r >= 0)
		r = decode_in_order(drain);
	if (r >= 0)
		r = part_with_silent(drain, used);
	if (r < 0)
		return r;
	taken = drain->shop.records - before;
	return taken < INT_MAX ? (int)taken : INT_MAX;
}

static int go_on_with_census(struct drain *drain, bool last)
{
	struct census *census = &drain->census;
	int r = 0;

	if (census_is_over(census))
		return 0;
	do {
		r = census_step(census, &drain->shop);
	} while (last && r >= 0 && !census_is_over(census));
	if (r < 0 || !census_is_over(census) || !census->stream.thread)
		return r;
	r = drain->sink.end(drain->sink.data, &census->stream);
	return r < 0 ? r : tell_census(drain, true);
}

bool drain_has_census(const struct drain *drain)
{
	return !census_is_over(&drain->census);
}

/* Words in chunks that no thread holds. */
static uint64_t free_room(const struct drain *drain)
{
	const struct arena_control *control = drain->attachment->control;
	uint64_t chunks = 0;

	for (uint32_t i = 0; i < drain->pool; i++) {
		uint64_t hints =
			atomic_load_explicit(&control->hints[i / 64], memory_order_relaxed);

		chunks += hints >> i % 64 & 1;
	}
	return chunks * ARENA_CHUNK_WORDS;
}

uint64_t drain_pause_ns(const struct drain *drain)
{
	uint64_t between = drain->between < NS_PER_S ? drain->between : NS_PER_S;
	uint64_t room = free_room(drain), pause;

	if (drain_has_census(drain) || drain->was_lossy)
		return PAUSE_LEAST_NS;
	if (!drain->found || drain->found < room / PAUSE_IDLE_PART)
		return PAUSE_IDLE_NS;
	if (drain->found >= room / 4 * 3)
		return PAUSE_LEAST_NS;
	pause = between * (room / PAUSE_ROOM_PART) / drain->found;
	if (pause > PAUSE_MOST_NS)
		return PAUSE_MOST_NS;
	return pause > PAUSE_LEAST_NS ? pause : PAUSE_LEAST_NS;
}

/* What the next pause goes by. */
static void note_pass(struct drain *drain, uint64_t began)
{
	const struct stream_shop *shop = &drain->shop;
	uint64_t words = shop->words - drain->words;
	uint64_t freed = (shop->freed - drain->freed) * ARENA_CHUNK_WORDS;

	drain->found = words > freed ? words : freed;
	drain->was_lossy = shop->lost > drain->lost;
	drain->between = began - drain->passed;
	drain->passed = began;
	drain->words = shop->words;
	drain->freed = shop->freed;
	drain->lost = shop->lost;
}

static int pass(struct drain *drain, bool last)
{
	uint64_t now = clock_monotonic();
	bool look_after = now - drain->looked_after >= LIVENESS_NS;
	bool gone;
	int r;

	atomic_store_explicit(&drain->attachment->control->config.heartbeat, now,
			      memory_order_relaxed);
	if (look_after)
		drain->looked_after = now;
	/* Asked before the streams are read: what a dead program wrote is all there then. */
	gone = !attach_is_alive(drain->attachment);
	r = sites_tell(drain->attachment, &drain->sites_seen, drain->sink.site, drain->sink.data);
	if (r >= 0)
		r = go_on_with_census(drain, gone || last);
	if (r >= 0)
		r = visit_all(drain, gone, look_after, last);
	if (gone)
		drain->program_ended = true;
	note_pass(drain, now);
	return r;
}

int drain_pass(struct drain *drain)
{
	return pass(drain, false);
}

static int settle(void *data, struct stream *stream)
{
	return finish(data, stream);
}

int drain_stop(struct drain *drain)
{
	struct arena_session *session = &drain->attachment->control->session;
	struct timespec grace = {.tv_nsec = GRACE_NS};
	int r = 0;

	if (drain->stopped)
		return 0;
	drain->stopped = true;
	publish_config(drain, 0, ARENA_MODE_OFF);
	/* Twice: a thread may have been inside a hook when the gate changed. */
	for (int i = 0; i < 2 && r >= 0; i++) {
		r = pass(drain, i == 1);
		if (!drain->program_ended)
			nanosleep(&grace, NULL);
	}
	if (r >= 0)
		r = drain_each(drain, settle, drain);
	memset(session->path, 0, sizeof(session->path));
	atomic_store(&session->pid, 0);
	return r;
}

const struct stacks *drain_stacks(const struct drain *drain)
{
	return drain->shop.stacks;
}

struct drain_totals drain_totals(const struct drain *drain)
{
	const struct arena_control *control = drain->attachment->control;
	const struct arena_session *session = &control->session;

	return (struct drain_totals){
		.records = drain->shop.records,
		.lost = drain->shop.lost,
		.orphans = atomic_load(&control->orphans) - atomic_load(&session->orphans_told),
		.reentries =
			atomic_load(&control->reentries) - atomic_load(&session->reentries_told),
		.damaged = drain->shop.damaged,
		.threads = drain->threads - (drain->census.stream.thread != 0),
		.unread = drain->census.silent,
		.unread_why = drain->census.error,
		.program_ended = drain->program_ended,
		.replaced = atomic_load(&control->life) == ARENA_REPLACED,
	};
}

void drain_note_told(struct drain *drain, const struct drain_totals *totals)
{
	struct arena_session *session = &drain->attachment->control->session;

	atomic_fetch_add(&session->orphans_told, totals->orphans);
	atomic_fetch_add(&session->reentries_told, totals->reentries);
}

int drain_each(struct drain *drain, int (*visit_stream)(void *data, struct stream *stream),
	       void *data)
{
	for (uint32_t i = 0; i < ARENA_LINES; i++)
		for (uint32_t s = 0; s < ARENA_STREAMS && drain->watches[i].serial; s++) {
			int r = visit_stream(data, &drain->watches[i].streams[s]);

			if (r < 0)
				return r;
		}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace for Perfetto: https://ui.perfetto.dev, or trace_processor of version
 * 58 and up for the samples.
 *
 * Threads have their tracks, with the runs on them; each task has one below
 * "tasks", where those of one label are shown as one, with its life and what it
 * did in it. Packets are in time order within a track, but for wakes, and not
 * across tracks: trace_processor sorts them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/hash.h"
#include "view/export_formats.h"
#include "view/naming.h"
#include "view/perfetto.h"
#include "view/protobuf.h"
#include "view/tracks.h"

/* Field numbers, by message. */
enum {
	PACKET_CLOCKS = 6,
	PACKET_EVENT = 11,
	PACKET_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
	PACKET_FIRST = 87,
	PACKET_SAMPLE = 135,
};
enum { CLOCKS_CLOCK = 1, CLOCKS_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIME = 2 };
enum {
	DEFAULTS_CLOCK = 58,
	DEFAULTS_SAMPLE = 100,
	SAMPLE_DEFAULT_SOURCE = 1,
	SAMPLE_DEFAULT_COUNTER = 2
};
enum { COUNTER_NAME = 2, COUNTER_UNIT = 3, UNIT_NANOSECONDS = 1 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum {
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,
	EVENT_STACK = 56,
};
enum { NOTE_NUMBER = 3, NOTE_TEXT = 6, NOTE_ADDRESS = 7, NOTE_NAME = 10 };
enum { SAMPLE_TASK = 1, SAMPLE_STACK = 6, SAMPLE_WEIGHT = 11 };
enum { TASK_PID = 2, TASK_TID = 3, TASK_ASYNC = 4 };
enum {
	PACKET_INTERNED_CONTEXTS = 51,
	CONTEXT_IID = 1,
	CONTEXT_NAME = 2,
	CONTEXT_KIND = 3,
};

#define CLOCK_REALTIME_ID 1u
#define CLOCK_RAW_ID 5u
#define STATE_CLEARED 1u

/* What a track's uuid is made of, besides a number. */
enum { TRACK_OF_PROGRAM, TRACK_OF_TASKS, TRACK_OF_LANE, TRACK_OF_TASK };

struct writer {
	struct export *export;
	struct export_loop loop; /* that was told last */
	struct model *model;
	struct code code;
	struct perfetto perfetto;
	struct tracks tracks;
	uint32_t pid;
	uint32_t flows;
};

/* Of an event, as far as there is one. */
struct event {
	uint64_t track;
	uint64_t time;
	uint32_t type;
	const char *name;
	uint32_t stack;
	uint32_t flow, flow_end;
};

static uint64_t uuid(uint64_t of, uint64_t number)
{
	uint64_t words[2] = {of, number};

	return hash_xxh64(words, sizeof(words), 0) | 1; /* 0 is the default track */
}

static uint64_t lane_uuid(const struct lane *lane)
{
	return uuid(TRACK_OF_LANE, (uint64_t)lane->thread << 8 | lane->depth);
}

static struct buffer *packet(struct writer *writer)
{
	return &writer->perfetto.packet;
}

/* Begins an event's packet; annotations may follow. */
static size_t open_event(struct writer *writer, const struct event *event)
{
	struct perfetto *perfetto = &writer->perfetto;
	uint64_t name = 0;
	size_t opened;

	perfetto_open_at(perfetto, event->time);
	if (event->name)
		name = perfetto_name(perfetto, event->name);
	opened = protobuf_open(packet(writer), PACKET_EVENT);
	protobuf_number(packet(writer), EVENT_TYPE, event->type);
	protobuf_number(packet(writer), EVENT_TRACK, event->track);
	if (name)
		protobuf_number(packet(writer), EVENT_NAME_IID, name);
	else if (event->name)
		protobuf_text(packet(writer), EVENT_NAME, event->name);
	if (event->flow)
		protobuf_fixed64(packet(writer), EVENT_FLOW, event->flow);
	if (event->flow_end)
		protobuf_fixed64(packet(writer), EVENT_FLOW_END, event->flow_end);
	if (event->stack)
		protobuf_number(packet(writer), EVENT_STACK,
				perfetto_stack(perfetto, model_tree(writer->model), event->stack));
	return opened;
}

static int close_event(struct writer *writer, size_t opened)
{
	protobuf_close(packet(writer), opened);
	return perfetto_close(&writer->perfetto);
}

static int put_event(struct writer *writer, const struct event *event)
{
	return close_event(writer, open_event(writer, event));
}

static void note(struct writer *writer, const char *name, uint32_t field, uint64_t number,
		 const char *text)
{
	size_t opened = protobuf_open(packet(writer), EVENT_ANNOTATION);

	protobuf_text(packet(writer), NOTE_NAME, name);
	if (text)
		protobuf_text(packet(writer), field, text);
	else
		protobuf_number(packet(writer), field, number);
	protobuf_close(packet(writer), opened);
}

static int put_slice(struct writer *writer, const struct event *begin, uint64_t end)
{
	struct event last = {.track = begin->track, .time = end, .type = PERFETTO_END};
	int r = put_event(writer, begin);

	return r < 0 ? r : put_event(writer, &last);
}

/* A track that is nothing but a name and a place. */
static int put_track(struct writer *writer, uint64_t track, uint64_t parent, const char *name)
{
	size_t opened;

	perfetto_open(&writer->perfetto);
	opened = protobuf_open(packet(writer), PACKET_TRACK);
	protobuf_number(packet(writer), TRACK_UUID, track);
	protobuf_number(packet(writer), TRACK_PARENT, parent);
	protobuf_text(packet(writer), TRACK_NAME, name);
	protobuf_close(packet(writer), opened);
	return perfetto_close(&writer->perfetto);
}

static int put_thread(struct writer *writer, const struct lane *lane)
{
	const char *name = export_thread_name(writer->export, lane->thread);
	size_t opened, thread;

	perfetto_open(&writer->perfetto);
	opened = protobuf_open(packet(writer), PACKET_TRACK);
	protobuf_number(packet(writer), TRACK_UUID, lane_uuid(lane));
	protobuf_number(packet(writer), TRACK_PARENT, uuid(TRACK_OF_PROGRAM, 0));
	thread = protobuf_open(packet(writer), TRACK_THREAD);
	protobuf_number(packet(writer), THREAD_PID, writer->pid);
	protobuf_number(packet(writer), THREAD_TID, export_tid(writer->export, lane->thread));
	if (*name)
		protobuf_text(packet(writer), THREAD_NAME, name);
	protobuf_close(packet(writer), thread);
	protobuf_close(packet(writer), opened);
	return perfetto_close(&writer->perfetto);
}

/* The lane of a thread at a depth, which it has named. */
static int get_lane(struct writer *writer, uint32_t thread, uint32_t depth, struct lane **ret)
{
	struct lane *lane = tracks_lane(&writer->tracks, thread, depth), *outermost = NULL;
	char name[32];
	int r = 0;

	if (!lane)
		return -ENOMEM;
	*ret = lane;
	if (lane->told)
		return 0;
	lane->told = true;
	if (depth == 0)
		return put_thread(writer, lane);
	r = get_lane(writer, thread, 0, &outermost);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "nested %u", lane->depth);
	return put_track(writer, lane_uuid(lane), lane_uuid(outermost), name);
}

static void note_site(struct writer *writer, const struct reader_site *site)
{
	const char *role = naming_role_word(naming_role(site));
	struct symbol_frame origin;

	if (!site)
		return;
	origin = naming_origin(writer->export->symbols, site);
	if (*origin.function)
		note(writer, "site", NOTE_TEXT, 0, origin.function);
	if (*origin.file)
		note(writer, "file", NOTE_TEXT, 0, origin.file);
	if (origin.line)
		note(writer, "line", NOTE_NUMBER, origin.line, NULL);
	if (site->kind && *site->kind)
		note(writer, "kind", NOTE_TEXT, 0, site->kind);
	if (role)
		note(writer, "role", NOTE_TEXT, 0, role);
}

/* The task's track; named, and its life begun, when something of it is first written. */
static int get_track(struct writer *writer, struct model_task *task, struct task_track **ret)
{
	struct task_track *track = tracks_of(&writer->tracks, task, export_label(task));
	struct event life = {.track = uuid(TRACK_OF_TASK, task->id),
			     .time = task->created,
			     .type = PERFETTO_BEGIN,
			     .name = export_label(task)};
	size_t opened;
	int r;

	if (!track)
		return -ENOMEM;
	*ret = track;
	if (track->told)
		return 0;
	track->told = true;
	r = put_track(writer, life.track, uuid(TRACK_OF_TASKS, 0), life.name);
	if (r < 0)
		return r;
	opened = open_event(writer, &life);
	note(writer, "task", NOTE_ADDRESS, task->id, NULL);
	if (task->parent)
		note(writer, "parent", NOTE_ADDRESS, task->parent, NULL);
	note_site(writer, task->site);
	return close_event(writer, opened);
}

static int on_run(void *data, const struct model_run *run)
{
	struct writer *writer = data;
	struct event begin = {.type = PERFETTO_BEGIN, .name = export_label(run->task)};
	struct task_track *track;
	struct lane *lane;
	struct span span;
	int r;

	r = get_lane(writer, run->thread, run->depth, &lane);
	if (r < 0)
		return r;
	span = tracks_cut(&lane->end, run->start, run->end);
	begin.track = lane_uuid(lane);
	begin.time = span.start;
	r = put_slice(writer, &begin, span.end);
	if (r < 0)
		return r;

	r = get_track(writer, run->task, &track);
	if (r < 0)
		return r;
	span = tracks_cut(&track->end, run->start, run->end);
	begin.track = uuid(TRACK_OF_TASK, run->task->id);
	begin.time = span.start;
	begin.name = "running";
	begin.flow_end = track->flow;
	track->flow = 0;
	r = put_slice(writer, &begin, span.end);
	return r < 0 ? r : export_status(writer->export);
}

/* An instant on the track of the task, or else of the thread, that woke this one. */
static int put_wake(struct writer *writer, const struct model_wait *wait, struct task_track *track)
{
	struct model_task *waker = wait->waker ? model_task(writer->model, wait->waker) : NULL;
	struct task_track *from;
	struct lane *lane;
	struct event wake = {.time = wait->woken, .type = PERFETTO_INSTANT, .name = "wake"};
	size_t opened;
	int r;

	if (!waker && !wait->thread)
		return 0;
	if (waker) {
		r = get_track(writer, waker, &from);
		wake.track = uuid(TRACK_OF_TASK, waker->id);
	} else {
		r = get_lane(writer, wait->thread, 0, &lane);
		wake.track = r < 0 ? 0 : lane_uuid(lane);
	}
	if (r < 0)
		return r;
	wake.flow = track->flow = ++writer->flows;
	opened = open_event(writer, &wake);
	note(writer, "task", NOTE_ADDRESS, wait->task->id, NULL);
	note(writer, "source", NOTE_TEXT, 0, export_source(wait->source));
	return close_event(writer, opened);
}

static int on_wait(void *data, const struct model_wait *wait)
{
	struct writer *writer = data;
	struct event begin = {.track = uuid(TRACK_OF_TASK, wait->task->id),
			      .type = PERFETTO_BEGIN,
			      .name = wait->woken ? "pending" : "waiting",
			      .stack = wait->stack};
	struct task_track *track;
	struct span span;
	int r;

	r = get_track(writer, wait->task, &track);
	if (r < 0)
		return r;
	if (!wait->woken || wait->woken > wait->start) {
		span = tracks_cut(&track->end, wait->start, wait->woken ? wait->woken : wait->end);
		begin.time = span.start;
		r = put_slice(writer, &begin, span.end);
		if (r < 0 || !wait->woken)
			return r < 0 ? r : export_status(writer->export);
	}
	span = tracks_cut(&track->end, wait->woken, wait->end);
	begin.time = span.start;
	begin.name = "queued";
	r = put_slice(writer, &begin, span.end);
	if (r == 0 && !wait->end_unknown)
		r = put_wake(writer, wait, track);
	return r < 0 ? r : export_status(writer->export);
}

/* Who the task of a sample is: once for each, by its own number. */
static void tell_context(struct writer *writer, const struct model_task *task)
{
	struct buffer *to = &writer->perfetto.interned;
	size_t opened = protobuf_open(to, PACKET_INTERNED_CONTEXTS);

	protobuf_number(to, CONTEXT_IID, task->id);
	protobuf_text(to, CONTEXT_NAME, export_label(task));
	protobuf_text(to, CONTEXT_KIND, "task");
	protobuf_close(to, opened);
}

static int on_sample(void *data, const struct model_sample *sample)
{
	struct writer *writer = data;
	struct perfetto *perfetto = &writer->perfetto;
	struct task_track *track = NULL;
	size_t opened, task;
	int r;

	if (sample->task) {
		r = get_track(writer, sample->task, &track);
		if (r < 0)
			return r;
	}
	perfetto_open_at(perfetto, sample->time);
	if (track && !track->context_told) {
		track->context_told = true;
		tell_context(writer, sample->task);
	}
	opened = protobuf_open(packet(writer), PACKET_SAMPLE);
	task = protobuf_open(packet(writer), SAMPLE_TASK);
	protobuf_number(packet(writer), TASK_PID, writer->pid);
	protobuf_number(packet(writer), TASK_TID, sample->tid);
	if (sample->task)
		protobuf_number(packet(writer), TASK_ASYNC, sample->task->id);
	protobuf_close(packet(writer), task);
	if (sample->stack)
		protobuf_number(packet(writer), SAMPLE_STACK,
				perfetto_stack(perfetto, model_tree(writer->model), sample->stack));
	protobuf_number(packet(writer), SAMPLE_WEIGHT, sample->weight);
	protobuf_close(packet(writer), opened);
	r = perfetto_close(perfetto);
	return r < 0 ? r : export_status(writer->export);
}

static int on_task(void *data, struct model_task *task)
{
	struct writer *writer = data;
	struct event end = {.track = uuid(TRACK_OF_TASK, task->id), .type = PERFETTO_END};
	struct task_track *track;
	size_t opened;
	int r;

	r = get_track(writer, task, &track);
	if (r < 0)
		return r;
	end.time = task->ended > track->end ? task->ended : track->end;
	opened = open_event(writer, &end);
	if (strcmp(track->name, export_label(task)) != 0)
		note(writer, "label", NOTE_TEXT, 0, export_label(task));
	note(writer, "ended", NOTE_TEXT, 0, export_end(task));
	for (uint32_t i = 0; i < EXPORT_LOOP_FIGURES && writer->loop.task == task->id; i++)
		note(writer, export_loop_figures[i], NOTE_NUMBER, writer->loop.figures[i], NULL);
	if (task->uncertain)
		note(writer, "uncertain", NOTE_TEXT, 0, "events were lost meanwhile");
	r = close_event(writer, opened);
	tracks_end(&writer->tracks, task);
	return r < 0 ? r : export_status(writer->export);
}

/* Its task comes next. */
static int on_loop(void *data, const struct model_loop *loop)
{
	((struct writer *)data)->loop = export_loop(loop);
	return 0;
}

static int on_idle(void *data, uint32_t thread, uint64_t start, uint64_t end)
{
	struct writer *writer = data;
	struct event begin = {.type = PERFETTO_BEGIN, .name = "idle"};
	struct lane *lane;
	struct span span;
	int r;

	r = get_lane(writer, thread, 0, &lane);
	if (r < 0)
		return r;
	span = tracks_cut(&lane->end, start, end);
	begin.track = lane_uuid(lane);
	begin.time = span.start;
	return put_slice(writer, &begin, span.end);
}

static void put_clock(struct buffer *to, uint64_t clock, uint64_t time)
{
	size_t opened = protobuf_open(to, CLOCKS_CLOCK);

	protobuf_number(to, CLOCK_ID, clock);
	protobuf_number(to, CLOCK_TIME, time);
	protobuf_close(to, opened);
}

static int put_clocks(struct writer *writer)
{
	const struct reader_summary *summary = reader_summary(writer->export->reader);
	size_t opened;

	perfetto_open(&writer->perfetto);
	opened = protobuf_open(packet(writer), PACKET_CLOCKS);
	put_clock(packet(writer), CLOCK_RAW_ID, summary->first);
	put_clock(packet(writer), CLOCK_REALTIME_ID, summary->realtime);
	protobuf_number(packet(writer), CLOCKS_PRIMARY, CLOCK_RAW_ID);
	protobuf_close(packet(writer), opened);
	return perfetto_close(&writer->perfetto);
}

/* What holds for all packets: their clock, and what samples measure. */
static int put_defaults(struct writer *writer)
{
	const struct meta_sampler *sampler = reader_sampler(writer->export->reader);
	size_t opened, sample, counter;

	perfetto_open(&writer->perfetto);
	protobuf_number(packet(writer), PACKET_FLAGS, STATE_CLEARED);
	protobuf_number(packet(writer), PACKET_FIRST, 1);
	opened = protobuf_open(packet(writer), PACKET_DEFAULTS);
	protobuf_number(packet(writer), DEFAULTS_CLOCK, CLOCK_RAW_ID);
	sample = protobuf_open(packet(writer), DEFAULTS_SAMPLE);
	protobuf_text(packet(writer), SAMPLE_DEFAULT_SOURCE, "unweave");
	counter = protobuf_open(packet(writer), SAMPLE_DEFAULT_COUNTER);
	protobuf_text(packet(writer), COUNTER_NAME,
		      sampler && sampler->driver == SAMPLER_WALL ? "wall time" : "CPU time");
	protobuf_number(packet(writer), COUNTER_UNIT, UNIT_NANOSECONDS);
	protobuf_close(packet(writer), counter);
	protobuf_close(packet(writer), sample);
	protobuf_close(packet(writer), opened);
	return perfetto_close(&writer->perfetto);
}

static int put_program(struct writer *writer)
{
	char name[256];
	size_t opened, process;

	export_program(writer->export, name, sizeof(name));
	perfetto_open(&writer->perfetto);
	opened = protobuf_open(packet(writer), PACKET_TRACK);
	protobuf_number(packet(writer), TRACK_UUID, uuid(TRACK_OF_PROGRAM, 0));
	process = protobuf_open(packet(writer), TRACK_PROCESS);
	protobuf_number(packet(writer), PROCESS_PID, writer->pid);
	protobuf_text(packet(writer), PROCESS_NAME, name);
	protobuf_close(packet(writer), process);
	protobuf_close(packet(writer), opened);
	return perfetto_close(&writer->perfetto);
}

static int put_head(struct writer *writer)
{
	int r = put_defaults(writer);

	if (r == 0)
		r = put_clocks(writer);
	if (r == 0)
		r = put_program(writer);
	if (r == 0)
		r = put_track(writer, uuid(TRACK_OF_TASKS, 0), uuid(TRACK_OF_PROGRAM, 0), "tasks");
	return r;
}

/* A loss is said where the program is: who looks at the trace must not take it for whole. */
static int put_losses(struct writer *writer)
{
	const struct model_totals *totals = model_totals(writer->model);
	struct event lost = {.track = uuid(TRACK_OF_PROGRAM, 0),
			     .time = totals->last,
			     .type = PERFETTO_INSTANT,
			     .name = "events were lost"};
	size_t opened;

	if (!totals->lost)
		return 0;
	opened = open_event(writer, &lost);
	note(writer, "events", NOTE_NUMBER, totals->lost, NULL);
	return close_event(writer, opened);
}

static void writer_fini(struct writer *writer)
{
	model_free(writer->model);
	perfetto_fini(&writer->perfetto);
	tracks_fini(&writer->tracks);
	code_fini(&writer->code);
}

static int write_perfetto(struct export *export, struct diag *diag)
{
	cleanup(writer_fini) struct writer writer = {.export = export, .pid = export_pid(export)};
	struct model_sink sink = {
		.run = on_run,
		.wait = on_wait,
		.sample = on_sample,
		.task = on_task,
		.idle = on_idle,
		.loop = on_loop,
		.data = &writer,
	};
	int r;

	if (code_init(&writer.code, export->reader, export->symbols) < 0 ||
	    perfetto_init(&writer.perfetto, export->to, &writer.code) < 0 ||
	    tracks_init(&writer.tracks) < 0 || export_model(export, &writer.model) < 0)
		return diag_set(diag, -ENOMEM, "out of memory");
	r = put_head(&writer);
	if (r == 0)
		r = export_read(export, writer.model, &sink, diag);
	if (r == 0)
		r = put_losses(&writer);
	return r == -ENOMEM ? diag_set(diag, r, "out of memory") : r;
}

const struct export_format export_perfetto = {
	.name = "perfetto",
	.opens = "https://ui.perfetto.dev",
	.binary = true,
	.write = write_perfetto,
};

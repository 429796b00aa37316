/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON that Chrome's tracing wrote, and that many programs read.
 *
 * Runs are slices (B, E) of their threads, nested ones of a row below:
 * they are told before those around them, and a row stays in order so. Tasks
 * are nestable async events (b, e), wakes are flows (s, f), samples are P with
 * the number of their innermost frame in stackFrames, which comes last.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "view/code.h"
#include "view/export_formats.h"
#include "view/json.h"
#include "view/naming.h"
#include "view/tracks.h"

/* Rows of nested runs have tids of their own, beyond those of threads. */
#define TID_NESTED (1u << 24)
#define US_DIGITS 3 /* ns are so many digits behind the point of microseconds */

struct writer {
	struct export *export;
	struct export_loop loop; /* that was told last */
	struct model *model;
	struct code code;
	struct tracks tracks;
	struct json json;
	uint8_t *used; /* a byte for each node of the tree: it is in a stack that was referred to */
	uint32_t used_room;
	uint32_t pid;
	uint64_t first;
	uint32_t flows;
};

/* ns since the first event; a damaged trace may have times before that. */
static uint64_t since(const struct writer *writer, uint64_t time)
{
	return time > writer->first ? time - writer->first : 0;
}

static void open_event(struct writer *writer, const char *phase, const char *name, uint32_t tid)
{
	struct json *json = &writer->json;

	fputs_unlocked(json->comma ? ",\n" : "\n", json->to);
	json->comma = false;
	json_open(json, NULL, '{');
	json_text(json, "ph", phase);
	json_text(json, "name", name);
	json_number(json, "pid", writer->pid);
	json_number(json, "tid", tid);
}

static void open_event_at(struct writer *writer, const char *phase, const char *name, uint32_t tid,
			  uint64_t time)
{
	open_event(writer, phase, name, tid);
	json_fixed(&writer->json, "ts", since(writer, time), US_DIGITS);
}

static void close_event(struct writer *writer)
{
	json_close(&writer->json, '}');
}

static void put_meta(struct writer *writer, const char *what, uint32_t tid, const char *name)
{
	open_event(writer, "M", what, tid);
	json_open(&writer->json, "args", '{');
	json_text(&writer->json, "name", name);
	json_close(&writer->json, '}');
	close_event(writer);
}

static void put_sort_index(struct writer *writer, uint32_t tid, uint32_t index)
{
	open_event(writer, "M", "thread_sort_index", tid);
	json_open(&writer->json, "args", '{');
	json_number(&writer->json, "sort_index", index);
	json_close(&writer->json, '}');
	close_event(writer);
}

static uint32_t lane_tid(const struct writer *writer, const struct lane *lane)
{
	return lane->depth ? TID_NESTED + lane->number : export_tid(writer->export, lane->thread);
}

/* The row of a thread at a depth, which it has named. */
static struct lane *get_lane(struct writer *writer, uint32_t thread, uint32_t depth)
{
	struct lane *lane = tracks_lane(&writer->tracks, thread, depth);
	char name[96];

	if (!lane || lane->told)
		return lane;
	lane->told = true;
	snprintf(name, sizeof(name), "%.63s", export_thread_name(writer->export, thread));
	if (!*name)
		snprintf(name, sizeof(name), "thread %u", thread);
	if (depth)
		snprintf(name + strlen(name), sizeof(name) - strlen(name), " nested %u",
			 lane->depth);
	put_meta(writer, "thread_name", lane_tid(writer, lane), name);
	put_sort_index(writer, lane_tid(writer, lane), thread << 8 | lane->depth);
	return lane;
}

/*
 * Both ends of a slice of a row. Not one complete event (X): who adds its length
 * to its start, in floating point, may find that it overlaps the next.
 */
static void put_slice(struct writer *writer, const char *name, const struct model_task *task,
		      uint32_t tid, struct span span)
{
	struct json *json = &writer->json;

	for (unsigned end = 0; end < 2; end++) {
		open_event_at(writer, end ? "E" : "B", name, tid, end ? span.end : span.start);
		json_text(json, "cat", task ? "run" : "idle");
		if (task) {
			json_open(json, "args", '{');
			json_address(json, "task", task->id);
			json_close(json, '}');
		}
		close_event(writer);
	}
}

/* One end of an async event; those of one task nest. */
static void open_async(struct writer *writer, const char *phase, const char *name,
		       const struct model_task *task, uint64_t time)
{
	open_event_at(writer, phase, name, writer->pid, time);
	json_text(&writer->json, "cat", "task");
	json_address(&writer->json, "id", task->id);
}

static void put_async(struct writer *writer, const char *name, const struct model_task *task,
		      struct span span)
{
	open_async(writer, "b", name, task, span.start);
	close_event(writer);
	open_async(writer, "e", name, task, span.end);
	close_event(writer);
}

static void put_task_facts(struct writer *writer, const struct model_task *task)
{
	struct json *json = &writer->json;
	const char *role = naming_role_word(naming_role(task->site));

	json_open(json, "args", '{');
	json_address(json, "task", task->id);
	if (task->parent)
		json_address(json, "parent", task->parent);
	if (task->site) {
		struct symbol_frame origin = naming_origin(writer->export->symbols, task->site);

		json_text(json, "site", origin.function);
		json_text(json, "file", origin.file);
		json_number(json, "line", origin.line);
		if (task->site->kind && *task->site->kind)
			json_text(json, "kind", task->site->kind);
		if (role)
			json_text(json, "role", role);
	}
	json_close(json, '}');
}

/* The task's track; its life begins when something of it is first written. */
static struct task_track *get_track(struct writer *writer, struct model_task *task)
{
	struct task_track *track = tracks_of(&writer->tracks, task, export_label(task));

	if (!track || track->told)
		return track;
	track->told = true;
	open_async(writer, "b", track->name, task, task->created);
	put_task_facts(writer, task);
	close_event(writer);
	return track;
}

/* From where a task was woken to the run that followed. */
static void put_flow(struct writer *writer, struct task_track *track, uint32_t tid, uint64_t start)
{
	const struct lane *from;

	if (!track->wake_on)
		return;
	from = tracks_lane(&writer->tracks, track->wake_on, 0);
	track->wake_on = 0;
	/* A flow begins in a slice: in a row without any it would be an error. */
	if (!from || !from->told)
		return;
	writer->flows++;
	open_event_at(writer, "s", "wake", lane_tid(writer, from), track->woken);
	json_text(&writer->json, "cat", "wake");
	json_number(&writer->json, "id", writer->flows);
	close_event(writer);
	open_event_at(writer, "f", "wake", tid, start);
	json_text(&writer->json, "cat", "wake");
	json_number(&writer->json, "id", writer->flows);
	json_text(&writer->json, "bp", "e");
	close_event(writer);
}

static int on_run(void *data, const struct model_run *run)
{
	struct writer *writer = data;
	struct lane *lane = get_lane(writer, run->thread, run->depth);
	struct task_track *track = get_track(writer, run->task);
	struct span span;

	if (!lane || !track)
		return -ENOMEM;
	span = tracks_cut(&lane->end, run->start, run->end);
	put_slice(writer, export_label(run->task), run->task, lane_tid(writer, lane), span);
	put_flow(writer, track, lane_tid(writer, lane), span.start);
	put_async(writer, "running", run->task, tracks_cut(&track->end, run->start, run->end));
	return export_status(writer->export);
}

static int on_wait(void *data, const struct model_wait *wait)
{
	struct writer *writer = data;
	struct task_track *track = get_track(writer, wait->task);

	if (!track)
		return -ENOMEM;
	if (!wait->woken) {
		put_async(writer, "waiting", wait->task,
			  tracks_cut(&track->end, wait->start, wait->end));
		return export_status(writer->export);
	}
	if (wait->woken > wait->start)
		put_async(writer, "pending", wait->task,
			  tracks_cut(&track->end, wait->start, wait->woken));
	put_async(writer, "queued", wait->task, tracks_cut(&track->end, wait->woken, wait->end));
	/* Only a task has a slice, its run, at the time when it wakes another. */
	track->wake_on = wait->waker && !wait->end_unknown ? wait->thread : 0;
	track->woken = wait->woken;
	return export_status(writer->export);
}

/* Marks a stack, so that it will be in stackFrames. */
static int use(struct writer *writer, uint32_t stack)
{
	const struct tree *tree = model_tree(writer->model);

	if (stack >= writer->used_room) {
		uint32_t room = tree_count(tree) + 1;
		uint8_t *used;

		room = room < UINT32_MAX / 2 ? room * 2 : room;
		used = realloc(writer->used, room);
		if (!used)
			return -ENOMEM;
		memset(used + writer->used_room, 0, room - writer->used_room);
		writer->used = used;
		writer->used_room = room;
	}
	for (; stack && !writer->used[stack]; stack = tree_at(tree, stack)->parent)
		writer->used[stack] = 1;
	return 0;
}

static int on_sample(void *data, const struct model_sample *sample)
{
	struct writer *writer = data;
	struct json *json = &writer->json;

	if (use(writer, sample->stack) < 0)
		return -ENOMEM;
	open_event_at(writer, "P", "sample", sample->tid, sample->time);
	json_text(json, "cat", "sample");
	if (sample->stack)
		json_number(json, "sf", sample->stack);
	json_open(json, "args", '{');
	json_number(json, "weight_ns", sample->weight);
	if (sample->task)
		json_address(json, "task", sample->task->id);
	json_close(json, '}');
	close_event(writer);
	return export_status(writer->export);
}

static int on_task(void *data, struct model_task *task)
{
	struct writer *writer = data;
	struct task_track *track = get_track(writer, task);
	uint64_t end;

	if (!track)
		return -ENOMEM;
	end = task->ended > track->end ? task->ended : track->end;
	open_async(writer, "e", track->name, task, end);
	json_open(&writer->json, "args", '{');
	if (strcmp(track->name, export_label(task)) != 0)
		json_text(&writer->json, "label", export_label(task));
	json_text(&writer->json, "ended", export_end(task));
	for (uint32_t i = 0; i < EXPORT_LOOP_FIGURES && writer->loop.task == task->id; i++)
		json_number(&writer->json, export_loop_figures[i], writer->loop.figures[i]);
	if (task->uncertain)
		json_bool(&writer->json, "uncertain", true);
	json_close(&writer->json, '}');
	close_event(writer);
	tracks_end(&writer->tracks, task);
	return export_status(writer->export);
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
	struct lane *lane = get_lane(writer, thread, 0);

	if (!lane)
		return -ENOMEM;
	put_slice(writer, "idle", NULL, lane_tid(writer, lane), tracks_cut(&lane->end, start, end));
	return export_status(writer->export);
}

/*
 * One frame; functions that are inlined into it are frames of their own, which
 * have its number and their place, and the innermost of them the number alone.
 */
static void put_frame(struct writer *writer, uint32_t number, const struct tree_node *node,
		      const struct code_location *location)
{
	struct json *json = &writer->json;
	char key[32], parent[32];

	snprintf(parent, sizeof(parent), "%u", node->parent);
	for (uint32_t i = location->count; i-- > 0;) {
		const struct code_line *line = code_line(&writer->code, location, i);
		const struct code_function *function = code_function(&writer->code, line->function);

		if (i > 0)
			snprintf(key, sizeof(key), "%u.%u", number, i);
		else
			snprintf(key, sizeof(key), "%u", number);
		fputs_unlocked(json->comma ? ",\n" : "\n", json->to);
		json->comma = false;
		json_open(json, key, '{');
		json_text(json, "name", code_text(&writer->code, function->name));
		json_text(json, "category", code_awaits(node) ? "await" : "native");
		if (parent[0] != '0')
			json_text(json, "parent", parent);
		json_close(json, '}');
		snprintf(parent, sizeof(parent), "%s", key);
	}
}

static int put_frames(struct writer *writer)
{
	const struct tree *tree = model_tree(writer->model);

	json_open(&writer->json, "stackFrames", '{');
	for (uint32_t number = 1; number < writer->used_room; number++) {
		const struct tree_node *node;
		uint32_t location;

		if (!writer->used[number])
			continue;
		node = tree_at(tree, number);
		location = code_locate(&writer->code, node);
		if (!location)
			return -ENOMEM;
		put_frame(writer, number, node, code_location(&writer->code, location));
	}
	json_close(&writer->json, '}');
	return 0;
}

static void put_facts(struct writer *writer)
{
	const struct reader_summary *summary = reader_summary(writer->export->reader);
	const struct model_totals *totals = model_totals(writer->model);
	char start[32];

	/* More digits than a JSON number keeps. */
	snprintf(start, sizeof(start), "%" PRIu64, summary->realtime);
	json_text(&writer->json, "displayTimeUnit", "ns");
	json_open(&writer->json, "otherData", '{');
	json_text(&writer->json, "written_by", "unweave");
	json_text(&writer->json, "realtime_ns", start);
	json_number(&writer->json, "events", totals->events);
	json_number(&writer->json, "lost", totals->lost);
	json_close(&writer->json, '}');
}

static void writer_fini(struct writer *writer)
{
	model_free(writer->model);
	tracks_fini(&writer->tracks);
	code_fini(&writer->code);
	free(writer->used);
}

static int write_all(struct writer *writer, struct diag *diag)
{
	struct model_sink sink = {
		.run = on_run,
		.wait = on_wait,
		.sample = on_sample,
		.task = on_task,
		.idle = on_idle,
		.loop = on_loop,
		.data = writer,
	};
	char name[256];
	int r;

	json_open(&writer->json, NULL, '{');
	json_open(&writer->json, "traceEvents", '[');
	export_program(writer->export, name, sizeof(name));
	put_meta(writer, "process_name", writer->pid, name);
	r = export_read(writer->export, writer->model, &sink, diag);
	if (r < 0)
		return r;
	json_close(&writer->json, ']');
	put_facts(writer);
	r = put_frames(writer);
	json_close(&writer->json, '}');
	json_line(&writer->json);
	return r;
}

static int write_chrome(struct export *export, struct diag *diag)
{
	cleanup(writer_fini) struct writer writer = {
		.export = export,
		.json = {.to = export->to},
		.pid = export_pid(export),
		.first = reader_summary(export->reader)->first,
	};
	int r;

	if (code_init(&writer.code, export->reader, export->symbols) < 0 ||
	    tracks_init(&writer.tracks) < 0 || export_model(export, &writer.model) < 0)
		return diag_set(diag, -ENOMEM, "out of memory");
	r = write_all(&writer, diag);
	return r == -ENOMEM ? diag_set(diag, r, "out of memory") : r;
}

const struct export_format export_chrome = {
	.name = "chrome",
	.opens = "https://ui.perfetto.dev or chrome://tracing",
	.write = write_chrome,
};

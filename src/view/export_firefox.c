/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A processed profile for https://profiler.firefox.com, of the version that its
 * upgraders take for granted since 2025.
 *
 * Threads have their samples, and their runs as markers. Tasks that wait are on
 * no thread: a thread of its own, "waits", has them as markers, and a sample
 * for each with its chain, weighed by its time. Nobody opens a file of
 * gigabytes there, so what goes beyond a few million rows is left out and counted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/grow.h"
#include "view/code.h"
#include "view/export_formats.h"
#include "view/firefox.h"
#include "view/json.h"

#define VERSION 66u
#define GECKO_VERSION 24u
#define SAMPLES_MOST 2000000u
#define MARKERS_MOST 1000000u
#define WAITS 0u /* the key of that thread; no tid is 0 */

struct sample_row {
	uint64_t time;
	uint64_t weight;
	uint32_t stack; /* row, plus 1; 0: none */
};

struct marker_row {
	uint64_t start, end;
	uint64_t task;
	uint32_t name;
	uint32_t category; /* one of RUN, PENDING, QUEUED */
};

struct thread {
	uint32_t tid;
	uint32_t name;
	struct sample_row *samples;
	struct marker_row *markers;
	uint32_t sample_count, marker_count;
};

struct writer {
	struct export *export;
	struct model *model;
	struct code code;
	struct firefox firefox;
	struct json json;
	struct map by_tid;
	struct thread *threads;
	uint32_t thread_count;
	uint32_t samples, markers; /* of all threads */
	uint32_t pid;
	uint64_t first;
};

/* ns since the first event; a damaged trace may have times before that. */
static uint64_t since(const struct writer *writer, uint64_t time)
{
	return time > writer->first ? time - writer->first : 0;
}

/* Times are milliseconds here. */
static void put_ms(struct json *json, const char *name, uint64_t ns)
{
	json_fixed(json, name, ns, 6);
}

static struct thread *get_thread(struct writer *writer, uint32_t tid, const char *name)
{
	const uint32_t *known = map_find(&writer->by_tid, tid);
	struct thread *more;
	char number[32];

	if (known)
		return &writer->threads[*known];
	more = reallocarray(writer->threads, writer->thread_count + 1, sizeof(*more));
	if (!more)
		return NULL;
	writer->threads = more;
	snprintf(number, sizeof(number), "thread %u", tid);
	more += writer->thread_count;
	*more = (struct thread){.tid = tid};
	more->name = texts_add(writer->code.texts, *name ? name : number);
	if (more->name == UINT32_MAX || map_put(&writer->by_tid, tid, writer->thread_count) < 0)
		return NULL;
	writer->thread_count++;
	return more;
}

static int add_sample(struct writer *writer, struct thread *thread, const struct sample_row *row)
{
	uint32_t count = thread->sample_count;
	struct sample_row *more;

	if (writer->samples == SAMPLES_MOST) {
		writer->export->left_out++;
		return 0;
	}
	more = grow_by_count(thread->samples, count, sizeof(*more));
	if (!more)
		return -ENOMEM;
	thread->samples = more;
	thread->samples[count] = *row;
	thread->sample_count++;
	writer->samples++;
	return 0;
}

static int add_marker(struct writer *writer, struct thread *thread, const struct marker_row *row)
{
	uint32_t count = thread->marker_count;
	struct marker_row *more;

	if (writer->markers == MARKERS_MOST) {
		writer->export->left_out++;
		return 0;
	}
	more = grow_by_count(thread->markers, count, sizeof(*more));
	if (!more)
		return -ENOMEM;
	thread->markers = more;
	thread->markers[count] = *row;
	thread->marker_count++;
	writer->markers++;
	return 0;
}

/* A marker of what `task` did. */
static int mark(struct writer *writer, struct thread *thread, const struct model_task *task,
		uint32_t category, uint64_t start, uint64_t end)
{
	struct marker_row row = {
		.start = start, .end = end, .task = task->id, .category = category};

	row.name = texts_add(writer->code.texts, export_label(task));
	return row.name == UINT32_MAX ? -ENOMEM : add_marker(writer, thread, &row);
}

static int add_stack_sample(struct writer *writer, struct thread *thread, uint64_t time,
			    uint64_t weight, uint32_t stack)
{
	struct sample_row row = {.time = time, .weight = weight};
	uint32_t number;

	if (stack) {
		if (firefox_stack(&writer->firefox, stack, &number) < 0)
			return -ENOMEM;
		row.stack = number + 1;
	}
	return add_sample(writer, thread, &row);
}

static int on_sample(void *data, const struct model_sample *sample)
{
	struct writer *writer = data;
	const char *name = reader_tid_name(writer->export->reader, sample->tid);
	struct thread *thread;

	if (!export_wants(writer->export, PROFILE_CPU))
		return 0;
	if (!*name && sample->thread)
		name = export_thread_name(writer->export, sample->thread);
	thread = get_thread(writer, sample->tid, name);
	if (!thread)
		return -ENOMEM;
	return add_stack_sample(writer, thread, sample->time, sample->weight, sample->stack);
}

static int on_run(void *data, const struct model_run *run)
{
	struct writer *writer = data;
	struct thread *thread = get_thread(writer, export_tid(writer->export, run->thread),
					   export_thread_name(writer->export, run->thread));

	if (!thread)
		return -ENOMEM;
	return mark(writer, thread, run->task, FIREFOX_RUN, run->start, run->end);
}

static int on_wait(void *data, const struct model_wait *wait)
{
	struct writer *writer = data;
	uint64_t woken = wait->woken ? wait->woken : wait->end;
	struct thread *thread;
	int r;

	if (!export_wants(writer->export, PROFILE_WAIT))
		return 0;
	thread = get_thread(writer, WAITS, "waits");
	if (!thread)
		return -ENOMEM;
	r = add_stack_sample(writer, thread, wait->end, wait->end - wait->start, wait->stack);
	if (r == 0 && (woken > wait->start || !wait->woken))
		r = mark(writer, thread, wait->task, FIREFOX_PENDING, wait->start, woken);
	if (r == 0 && woken < wait->end)
		r = mark(writer, thread, wait->task, FIREFOX_QUEUED, woken, wait->end);
	return r;
}

static int by_time(const void *left, const void *right)
{
	const struct sample_row *one = left, *other = right;

	if (one->time != other->time)
		return one->time < other->time ? -1 : 1;
	return one->stack < other->stack ? -1 : one->stack > other->stack;
}

static void put_samples(struct writer *writer, const struct thread *thread)
{
	struct json *json = &writer->json;

	/* They come in the order of the file, which may differ by some milliseconds. */
	if (thread->sample_count)
		qsort(thread->samples, thread->sample_count, sizeof(*thread->samples), by_time);
	json_open(json, "samples", '{');
	json_number(json, "length", thread->sample_count);
	json_text(json, "weightType", "tracing-ms");
	json_open(json, "stack", '[');
	for (uint32_t i = 0; i < thread->sample_count; i++)
		if (thread->samples[i].stack)
			json_number(json, NULL, thread->samples[i].stack - 1);
		else
			json_null(json, NULL);
	json_close(json, ']');
	json_open(json, "time", '[');
	for (uint32_t i = 0; i < thread->sample_count; i++)
		put_ms(json, NULL, since(writer, thread->samples[i].time));
	json_close(json, ']');
	json_open(json, "threadCPUDelta", '[');
	for (uint32_t i = 0; i < thread->sample_count; i++)
		json_number(json, NULL,
			    thread->tid == WAITS ? 0 : thread->samples[i].weight / 1000);
	json_close(json, ']');
	json_open(json, "weight", '[');
	for (uint32_t i = 0; i < thread->sample_count; i++)
		put_ms(json, NULL, thread->samples[i].weight);
	json_close(json, ']');
	json_close(json, '}');
}

static const char *state_of(const struct marker_row *row)
{
	return row->category == FIREFOX_PENDING ? "pending" : "queued";
}

static void put_marker_data(struct json *json, const struct marker_row *row)
{
	json_open(json, NULL, '{');
	json_text(json, "type", row->category == FIREFOX_RUN ? "run" : "wait");
	json_address(json, "task", row->task);
	if (row->category != FIREFOX_RUN)
		json_text(json, "state", state_of(row));
	json_close(json, '}');
}

static void put_markers(struct writer *writer, const struct thread *thread)
{
	struct json *json = &writer->json;
	const struct marker_row *rows = thread->markers;
	uint32_t count = thread->marker_count;

	json_open(json, "markers", '{');
	json_number(json, "length", count);
	json_open(json, "name", '[');
	for (uint32_t i = 0; i < count; i++)
		json_number(json, NULL, rows[i].name);
	json_close(json, ']');
	json_open(json, "startTime", '[');
	for (uint32_t i = 0; i < count; i++)
		put_ms(json, NULL, since(writer, rows[i].start));
	json_close(json, ']');
	json_open(json, "endTime", '[');
	for (uint32_t i = 0; i < count; i++)
		put_ms(json, NULL, since(writer, rows[i].end));
	json_close(json, ']');
	json_open(json, "phase", '[');
	for (uint32_t i = 0; i < count; i++)
		json_number(json, NULL, 1); /* a stretch with both its ends */
	json_close(json, ']');
	json_open(json, "category", '[');
	for (uint32_t i = 0; i < count; i++)
		json_number(json, NULL, rows[i].category);
	json_close(json, ']');
	json_open(json, "data", '[');
	for (uint32_t i = 0; i < count; i++)
		put_marker_data(json, &rows[i]);
	json_close(json, ']');
	json_close(json, '}');
}

static void put_thread(struct writer *writer, const struct thread *thread, const char *program,
		       bool main)
{
	struct json *json = &writer->json;
	char number[16];

	json_open(json, NULL, '{');
	json_text(json, "name", code_text(&writer->code, thread->name));
	json_text(json, "processName", program);
	json_text(json, "processType", "default");
	json_number(json, "processStartupTime", 0);
	json_null(json, "processShutdownTime");
	json_number(json, "registerTime", 0);
	json_null(json, "unregisterTime");
	json_open(json, "pausedRanges", '[');
	json_close(json, ']');
	json_bool(json, "showMarkersInTimeline", true);
	json_bool(json, "isMainThread", main);
	snprintf(number, sizeof(number), "%u", writer->pid);
	json_text(json, "pid", number);
	snprintf(number, sizeof(number), "%u", thread->tid);
	json_text(json, "tid", thread->tid == WAITS ? "waits" : number);
	put_samples(writer, thread);
	put_markers(writer, thread);
	json_close(json, '}');
}

/* The program's first thread before all others, and what is on none behind them. */
static void put_threads(struct writer *writer)
{
	const uint32_t *first = map_find(&writer->by_tid, writer->pid);
	const uint32_t *last = map_find(&writer->by_tid, WAITS);
	uint32_t main = first ? *first : last && *last == 0 && writer->thread_count > 1 ? 1 : 0;
	char program[256];

	export_program(writer->export, program, sizeof(program));
	json_open(&writer->json, "threads", '[');
	if (writer->thread_count)
		put_thread(writer, &writer->threads[main], program, true);
	for (uint32_t i = 0; i < writer->thread_count; i++)
		if (i != main && !(last && i == *last))
			put_thread(writer, &writer->threads[i], program, false);
	if (last && *last != main)
		put_thread(writer, &writer->threads[*last], program, false);
	json_close(&writer->json, ']');
}

static void put_categories(struct json *json)
{
	static const struct {
		const char *name, *color;
	} categories[] = {
		[FIREFOX_OTHER] = {"Other", "grey"},       [FIREFOX_NATIVE] = {"Native", "blue"},
		[FIREFOX_AWAIT] = {"Await", "orange"},     [FIREFOX_RUN] = {"Run", "green"},
		[FIREFOX_PENDING] = {"Pending", "purple"}, [FIREFOX_QUEUED] = {"Queued", "red"},
	};

	json_open(json, "categories", '[');
	for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++) {
		json_open(json, NULL, '{');
		json_text(json, "name", categories[i].name);
		json_text(json, "color", categories[i].color);
		json_open(json, "subcategories", '[');
		json_text(json, NULL, "Other");
		json_close(json, ']');
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_field(struct json *json, const char *key, const char *label)
{
	json_open(json, NULL, '{');
	json_text(json, "key", key);
	json_text(json, "label", label);
	json_text(json, "format", "string");
	json_close(json, '}');
}

static void put_schema(struct json *json, const char *name, const char *chart_label, bool state)
{
	json_open(json, NULL, '{');
	json_text(json, "name", name);
	json_open(json, "display", '[');
	json_text(json, NULL, "marker-chart");
	json_text(json, NULL, "marker-table");
	json_close(json, ']');
	json_text(json, "chartLabel", chart_label);
	json_text(json, "tableLabel", chart_label);
	json_open(json, "fields", '[');
	put_field(json, "task", "Task");
	if (state)
		put_field(json, "state", "State");
	json_close(json, ']');
	json_close(json, '}');
}

static void put_meta(struct writer *writer)
{
	const struct meta_sampler *sampler = reader_sampler(writer->export->reader);
	struct json *json = &writer->json;
	char program[256];

	export_program(writer->export, program, sizeof(program));
	json_open(json, "meta", '{');
	json_number(json, "version", GECKO_VERSION);
	json_number(json, "preprocessedProfileVersion", VERSION);
	json_text(json, "product", program);
	put_ms(json, "interval", sampler && sampler->hz ? 1000000000 / sampler->hz : 1000000);
	put_ms(json, "startTime", reader_summary(writer->export->reader)->realtime);
	json_number(json, "processType", 0);
	json_number(json, "stackwalk", 1);
	json_bool(json, "debug", false);
	json_bool(json, "symbolicated", true);
	json_bool(json, "usesOnlyOneStackType", true);
	json_bool(json, "sourceCodeIsNotOnSearchfox", true);
	json_text(json, "importedFrom", "unweave");
	json_open(json, "extensions", '{');
	json_number(json, "length", 0);
	for (const char *const *name = (const char *const[]){"id", "name", "baseURL", NULL}; *name;
	     name++) {
		json_open(json, *name, '[');
		json_close(json, ']');
	}
	json_close(json, '}');
	json_open(json, "sampleUnits", '{');
	json_text(json, "time", "ms");
	json_text(json, "eventDelay", "ms");
	json_text(json, "threadCPUDelta", "µs");
	json_close(json, '}');
	put_categories(json);
	json_open(json, "markerSchema", '[');
	put_schema(json, "run", "{marker.data.task}", false);
	put_schema(json, "wait", "{marker.data.state} {marker.data.task}", true);
	json_close(json, ']');
	json_close(json, '}');
}

static void put_all(struct writer *writer)
{
	struct json *json = &writer->json;

	json_open(json, NULL, '{');
	put_meta(writer);
	firefox_put(&writer->firefox, json);
	json_open(json, "pages", '[');
	json_close(json, ']');
	json_open(json, "counters", '[');
	json_close(json, ']');
	put_threads(writer);
	json_close(json, '}');
	json_line(json);
}

static void writer_fini(struct writer *writer)
{
	for (uint32_t i = 0; i < writer->thread_count; i++) {
		free(writer->threads[i].samples);
		free(writer->threads[i].markers);
	}
	free(writer->threads);
	map_fini(&writer->by_tid);
	firefox_fini(&writer->firefox);
	code_fini(&writer->code);
	model_free(writer->model);
}

static int write_firefox(struct export *export, struct diag *diag)
{
	cleanup(writer_fini) struct writer writer = {
		.export = export,
		.json = {.to = export->to},
		.pid = export_pid(export),
		.first = reader_summary(export->reader)->first,
	};
	struct model_sink sink = {
		.run = on_run, .wait = on_wait, .sample = on_sample, .data = &writer};
	int r;

	if (code_init(&writer.code, export->reader, export->symbols) < 0 ||
	    map_init(&writer.by_tid, UINT32_MAX) < 0 || export_model(export, &writer.model) < 0 ||
	    firefox_init(&writer.firefox, &writer.code, model_tree(writer.model)) < 0)
		return diag_set(diag, -ENOMEM, "out of memory");
	r = export_read(export, writer.model, &sink, diag);
	if (r < 0)
		return r == -ENOMEM ? diag_set(diag, r, "out of memory") : r;
	put_all(&writer);
	return 0;
}

const struct export_format export_firefox = {
	.name = "firefox",
	.opens = "https://profiler.firefox.com",
	.values = 1u << PROFILE_CPU | 1u << PROFILE_WAIT,
	.write = write_firefox,
};

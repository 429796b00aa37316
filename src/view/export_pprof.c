/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile.proto, which `go tool pprof` and others read; not compressed, which
 * they accept. Everything is a sum over equal stacks of equal labels.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/grow.h"
#include "util/hash.h"
#include "util/varint.h"
#include "view/code.h"
#include "view/export_formats.h"
#include "view/naming.h"
#include "view/protobuf.h"

#define MESSAGE_MOST (UINT32_C(64) << 20)
/* Tasks may each have a name of their own: beyond these they are one. */
#define LABELS_MOST 65536u

/* Field numbers, by message. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};
enum { TYPE_NAME = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2, LABEL_NUMBER = 3 };
enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_INLINE_FRAMES = 10,
};
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

enum value { VALUE_SAMPLES, VALUE_CPU, VALUE_WAITS, VALUE_WAIT, VALUE_QUEUED, VALUE_WALL, VALUES };

static const struct {
	const char *name, *unit;
} types[VALUES] = {
	[VALUE_SAMPLES] = {"samples", "count"},     [VALUE_CPU] = {"cpu", "nanoseconds"},
	[VALUE_WAITS] = {"waits", "count"},         [VALUE_WAIT] = {"wait", "nanoseconds"},
	[VALUE_QUEUED] = {"queued", "nanoseconds"}, [VALUE_WALL] = {"wall", "nanoseconds"},
};

/* What makes two entries one. Texts are numbers in the code's texts. */
struct key {
	uint32_t stack;
	uint32_t task;   /* its label; 0: none */
	uint32_t site;   /* 0: none */
	uint32_t thread; /* its name; 0: none */
};

struct entry {
	struct key key;
	uint64_t values[VALUES];
};

struct writer {
	struct export *export;
	struct model *model;
	struct code code;
	struct map by_key;
	struct map labels; /* their numbers: which have been given away */
	struct entry *entries;
	uint32_t entry_count;
	struct buffer message;
	bool no_memory;
};

static uint32_t text(struct writer *writer, const char *what)
{
	uint32_t number = texts_add(writer->code.texts, what);

	if (number != UINT32_MAX)
		return number;
	writer->no_memory = true;
	return 0;
}

static uint32_t label_of(struct writer *writer, const struct model_task *task)
{
	uint32_t number;

	if (writer->labels.count >= LABELS_MOST)
		number = text(writer, "(others)");
	else
		number = text(writer, export_label(task));
	if (!map_find(&writer->labels, number) && map_put(&writer->labels, number, 0) < 0)
		writer->no_memory = true;
	return number;
}

static uint32_t site_of(struct writer *writer, const struct reader_site *site)
{
	struct symbol_frame origin;
	char what[512];

	if (!site)
		return 0;
	origin = naming_origin(writer->export->symbols, site);
	if (origin.line)
		snprintf(what, sizeof(what), "%s %s:%u", origin.function, origin.file, origin.line);
	else
		snprintf(what, sizeof(what), "%s", *origin.function ? origin.function : site->name);
	return text(writer, what);
}

static uint32_t thread_of(struct writer *writer, const struct model_sample *sample)
{
	const char *name = reader_tid_name(writer->export->reader, sample->tid);
	char number[32];

	if (!*name && sample->thread)
		name = export_thread_name(writer->export, sample->thread);
	snprintf(number, sizeof(number), "thread %u", sample->tid);
	return text(writer, *name ? name : number);
}

static struct entry *add_entry(struct writer *writer, uint64_t hash, const struct key *key)
{
	uint32_t count = writer->entry_count;
	struct entry *more;

	more = grow_by_count(writer->entries, count, sizeof(*more));
	if (!more)
		return NULL;
	writer->entries = more;
	if (map_put(&writer->by_key, hash, count) < 0)
		return NULL;
	writer->entries[count] = (struct entry){.key = *key};
	writer->entry_count++;
	return &writer->entries[count];
}

static struct entry *get_entry(struct writer *writer, const struct key *key)
{
	if (writer->no_memory)
		return NULL;
	for (uint64_t seed = 0;; seed++) {
		uint64_t hash = hash_xxh64(key, sizeof(*key), seed);
		const uint32_t *known = map_find(&writer->by_key, hash);

		if (!known)
			return add_entry(writer, hash, key);
		if (memcmp(&writer->entries[*known].key, key, sizeof(*key)) == 0)
			return &writer->entries[*known];
	}
}

static int on_sample(void *data, const struct model_sample *sample)
{
	struct writer *writer = data;
	struct key key = {.stack = sample->stack, .thread = thread_of(writer, sample)};
	struct entry *entry;

	if (sample->task) {
		key.task = label_of(writer, sample->task);
		key.site = site_of(writer, sample->task->site);
	}
	entry = get_entry(writer, &key);
	if (!entry)
		return -ENOMEM;
	entry->values[VALUE_SAMPLES]++;
	entry->values[VALUE_CPU] += sample->flags & SAMPLE_ASLEEP ? 0 : sample->weight;
	return 0;
}

static struct entry *entry_of_task(struct writer *writer, const struct model_task *task,
				   uint32_t stack)
{
	struct key key = {.stack = stack,
			  .task = label_of(writer, task),
			  .site = site_of(writer, task->site)};

	return get_entry(writer, &key);
}

static int on_wait(void *data, const struct model_wait *wait)
{
	struct writer *writer = data;
	struct entry *entry = entry_of_task(writer, wait->task, wait->stack);
	uint64_t woken = wait->woken ? wait->woken : wait->end;

	if (!entry)
		return -ENOMEM;
	entry->values[VALUE_WAITS]++;
	entry->values[VALUE_WAIT] += woken - wait->start;
	entry->values[VALUE_QUEUED] += wait->end - woken;
	entry->values[VALUE_WALL] += wait->end - wait->start;
	return 0;
}

static int on_run(void *data, const struct model_run *run)
{
	struct writer *writer = data;
	struct entry *entry = entry_of_task(writer, run->task, run->stack);
	uint64_t length = run->end - run->start;

	if (!entry)
		return -ENOMEM;
	entry->values[VALUE_WALL] += length > run->inner ? length - run->inner : 0;
	return 0;
}

/* Writes `message` as a field of the profile, and empties it. */
static int flush(struct writer *writer, uint32_t field)
{
	struct buffer *message = &writer->message;
	uint8_t head[2 * VARINT_MOST], *at = head;

	if (message->bad || writer->no_memory)
		return -ENOMEM;
	at = varint_put(at, (uint64_t)field << 3 | 2);
	at = varint_put(at, message->length);
	fwrite_unlocked(head, 1, (size_t)(at - head), writer->export->to);
	fwrite_unlocked(message->bytes, 1, message->length, writer->export->to);
	message->length = 0;
	return export_status(writer->export);
}

static void put_number(struct writer *writer, uint32_t field, uint64_t number)
{
	uint8_t bytes[2 * VARINT_MOST], *at = bytes;

	at = varint_put(at, (uint64_t)field << 3);
	at = varint_put(at, number);
	fwrite_unlocked(bytes, 1, (size_t)(at - bytes), writer->export->to);
}

static int put_type(struct writer *writer, uint32_t field, enum value value)
{
	protobuf_number(&writer->message, TYPE_NAME, text(writer, types[value].name));
	protobuf_number(&writer->message, TYPE_UNIT, text(writer, types[value].unit));
	return flush(writer, field);
}

static int put_types(struct writer *writer)
{
	int r = 0;

	for (enum value value = 0; value < VALUES && r == 0; value++)
		r = put_type(writer, PROFILE_SAMPLE_TYPE, value);
	return r;
}

static void put_label(struct writer *writer, const char *key, uint32_t value)
{
	size_t opened;

	if (!value)
		return;
	opened = protobuf_open(&writer->message, SAMPLE_LABEL);
	protobuf_number(&writer->message, LABEL_KEY, text(writer, key));
	protobuf_number(&writer->message, LABEL_TEXT, value);
	protobuf_close(&writer->message, opened);
}

static void put_location_number(struct writer *writer, uint32_t location)
{
	writer->no_memory |= !location;
	buffer_put_varint(&writer->message, location);
}

/* Innermost first. */
static void put_stack(struct writer *writer, uint32_t stack)
{
	const struct tree *tree = model_tree(writer->model);
	size_t opened = protobuf_open(&writer->message, SAMPLE_LOCATION);

	if (!stack)
		put_location_number(writer, code_unknown(&writer->code));
	for (; stack; stack = tree_at(tree, stack)->parent)
		put_location_number(writer, code_locate(&writer->code, tree_at(tree, stack)));
	protobuf_close(&writer->message, opened);
}

static int put_sample(struct writer *writer, const struct entry *entry)
{
	struct buffer *to = &writer->message;
	size_t opened;

	put_stack(writer, entry->key.stack);
	opened = protobuf_open(to, SAMPLE_VALUE);
	for (enum value value = 0; value < VALUES; value++)
		buffer_put_varint(to, entry->values[value]);
	protobuf_close(to, opened);
	put_label(writer, "task", entry->key.task);
	put_label(writer, "site", entry->key.site);
	put_label(writer, "thread", entry->key.thread);
	return flush(writer, PROFILE_SAMPLE);
}

static int put_samples(struct writer *writer)
{
	int r = 0;

	for (uint32_t i = 0; i < writer->entry_count && r == 0; i++)
		r = put_sample(writer, &writer->entries[i]);
	return r;
}

static int put_module(struct writer *writer, uint32_t number)
{
	const struct code_module *module = code_module(&writer->code, number);
	struct buffer *to = &writer->message;

	protobuf_number(to, MAPPING_ID, number);
	protobuf_number(to, MAPPING_START, module->start);
	protobuf_number(to, MAPPING_LIMIT, module->end);
	protobuf_number(to, MAPPING_OFFSET, module->offset);
	protobuf_number(to, MAPPING_FILE, module->path);
	protobuf_number(to, MAPPING_BUILD_ID, module->build_id);
	/* All names that can be had are here: a reader need not look for more. */
	for (uint32_t field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINE_FRAMES; field++)
		protobuf_number(to, field, 1);
	return flush(writer, PROFILE_MAPPING);
}

static int put_location(struct writer *writer, uint32_t number)
{
	const struct code_location *location = code_location(&writer->code, number);
	struct buffer *to = &writer->message;

	protobuf_number(to, LOCATION_ID, number);
	if (location->module)
		protobuf_number(to, LOCATION_MAPPING, location->module);
	protobuf_number(to, LOCATION_ADDRESS, location->address);
	for (uint32_t i = 0; i < location->count; i++) {
		const struct code_line *line = code_line(&writer->code, location, i);
		size_t opened = protobuf_open(to, LOCATION_LINE);

		protobuf_number(to, LINE_FUNCTION, line->function);
		protobuf_number(to, LINE_NUMBER, line->line);
		protobuf_close(to, opened);
	}
	return flush(writer, PROFILE_LOCATION);
}

static int put_function(struct writer *writer, uint32_t number)
{
	const struct code_function *function = code_function(&writer->code, number);
	struct buffer *to = &writer->message;

	protobuf_number(to, FUNCTION_ID, number);
	protobuf_number(to, FUNCTION_NAME, function->name);
	protobuf_number(to, FUNCTION_SYSTEM_NAME, function->name);
	protobuf_number(to, FUNCTION_FILE, function->file);
	return flush(writer, PROFILE_FUNCTION);
}

static int put_code(struct writer *writer)
{
	int r = 0;

	for (uint32_t i = 1; i <= writer->code.module_count && r == 0; i++)
		r = put_module(writer, i);
	for (uint32_t i = 1; i <= writer->code.location_count && r == 0; i++)
		r = put_location(writer, i);
	for (uint32_t i = 1; i <= writer->code.function_count && r == 0; i++)
		r = put_function(writer, i);
	return r;
}

/* What must be known to judge the rest. */
static void put_comments(struct writer *writer)
{
	const struct model_totals *totals = model_totals(writer->model);
	uint64_t of_tasks = totals->samples - totals->outcomes[SPLICE_NO_TASK];
	char what[256];

	snprintf(what, sizeof(what),
		 "%" PRIu64 " of %" PRIu64 " samples of tasks have an exact logical stack",
		 totals->outcomes[SPLICE_EXACT], of_tasks);
	put_number(writer, PROFILE_COMMENT, text(writer, what));
	snprintf(what, sizeof(what), "%" PRIu64 " events, %" PRIu64 " more were lost",
		 totals->events, totals->lost);
	put_number(writer, PROFILE_COMMENT, text(writer, what));
}

/* The one that a reader shows first. */
static enum value usual(const struct writer *writer)
{
	unsigned values = writer->export->values;

	if (values >> PROFILE_WAIT & 1)
		return VALUE_WAIT;
	if (values >> PROFILE_WALL & 1)
		return VALUE_WALL;
	if (values >> PROFILE_CPU & 1 || model_totals(writer->model)->samples)
		return VALUE_CPU;
	return VALUE_WAIT;
}

static int put_facts(struct writer *writer)
{
	const struct meta_sampler *sampler = reader_sampler(writer->export->reader);
	const struct reader_summary *summary = reader_summary(writer->export->reader);

	put_number(writer, PROFILE_TIME, summary->realtime);
	put_number(writer, PROFILE_DURATION, summary->last - summary->first);
	if (sampler && sampler->hz)
		put_number(writer, PROFILE_PERIOD, 1000000000 / sampler->hz);
	put_comments(writer);
	put_number(writer, PROFILE_DEFAULT_TYPE, text(writer, types[usual(writer)].name));
	return put_type(writer, PROFILE_PERIOD_TYPE, VALUE_CPU);
}

/* Last: everything before may add to them. */
static int put_strings(struct writer *writer)
{
	struct buffer bytes = BUFFER_INIT(MESSAGE_MOST);
	int r = 0;

	for (uint32_t i = 0; i < texts_count(writer->code.texts) && r == 0; i++) {
		bytes.length = 0;
		protobuf_text(&bytes, PROFILE_STRING, code_text(&writer->code, i));
		if (bytes.bad)
			r = -ENOMEM;
		else
			fwrite_unlocked(bytes.bytes, 1, bytes.length, writer->export->to);
	}
	buffer_fini(&bytes);
	return r;
}

static int write_all(struct writer *writer, struct diag *diag)
{
	struct model_sink sink = {
		.run = on_run, .wait = on_wait, .sample = on_sample, .data = writer};
	int r = export_read(writer->export, writer->model, &sink, diag);

	if (r == 0)
		r = put_types(writer);
	if (r == 0)
		r = put_samples(writer);
	if (r == 0)
		r = put_code(writer);
	if (r == 0)
		r = put_facts(writer);
	if (r == 0)
		r = put_strings(writer);
	return r == -ECANCELED ? 0 : r;
}

static void writer_fini(struct writer *writer)
{
	model_free(writer->model);
	code_fini(&writer->code);
	map_fini(&writer->by_key);
	map_fini(&writer->labels);
	free(writer->entries);
	buffer_fini(&writer->message);
}

static int write_pprof(struct export *export, struct diag *diag)
{
	cleanup(writer_fini) struct writer writer = {.export = export,
						     .message = BUFFER_INIT(MESSAGE_MOST)};
	int r;

	if (code_init(&writer.code, export->reader, export->symbols) < 0 ||
	    map_init(&writer.by_key, UINT32_MAX) < 0 || map_init(&writer.labels, UINT32_MAX) < 0 ||
	    export_model(export, &writer.model) < 0)
		return diag_set(diag, -ENOMEM, "out of memory");
	r = write_all(&writer, diag);
	return r == -ENOMEM ? diag_set(diag, r, "out of memory") : r;
}

const struct export_format export_pprof = {
	.name = "pprof",
	.opens = "go tool pprof",
	.values = 1u << PROFILE_CPU | 1u << PROFILE_WAIT | 1u << PROFILE_WALL,
	.one_value = true,
	.binary = true,
	.write = write_pprof,
};

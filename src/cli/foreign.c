/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/foreign.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/foreign_stack.h"
#include "perf/file.h"
#include "trace/stacks.h"
#include "util/cleanup.h"
#include "util/grow.h"

#define NS_PER_S UINT64_C(1000000000)
#define NODES_MOST (1u << 26) /* frames of distinct stacks */
#define MODULES_MOST 65536u

/* One reading of a file. */
struct reading {
	struct foreign *foreign;
	struct perf_file *file;
	const struct reader *reader;
	const struct reader_summary *summary;
	struct symbols *symbols;
	struct foreign_walker *walker;
	uint32_t counted; /* the attribute whose samples count */
	bool attr_chosen;
};

static int no_memory(struct diag *diag)
{
	return diag_set(diag, -ENOMEM, "out of memory");
}

static int name_thread(struct foreign *foreign, const struct perf_name *name)
{
	uint32_t *found = map_find(&foreign->name_index, name->tid);
	char(*names)[sizeof(*foreign->names)], *to;

	if (!found) {
		names = grow(foreign->names, foreign->name_count, &foreign->name_capacity, 64,
			     sizeof(*names));
		if (!names)
			return -ENOMEM;
		foreign->names = names;
		if (map_put(&foreign->name_index, name->tid, foreign->name_count) < 0)
			return -ENOMEM;
		found = map_find(&foreign->name_index, name->tid);
		foreign->name_count++;
	}
	to = foreign->names[*found];
	memset(to, 0, sizeof(*foreign->names));
	memcpy(to, name->name, strnlen(name->name, sizeof(*foreign->names) - 1));
	return 0;
}

const char *foreign_name(const struct foreign *foreign, uint32_t tid)
{
	uint32_t *found = map_find(&foreign->name_index, tid);

	return found ? foreign->names[*found] : NULL;
}

struct overlap {
	uint64_t start, end;
};

static int overlaps(void *data, const struct meta_module *module)
{
	const struct overlap *with = data;

	return module->start < with->end && with->start < module->end;
}

/* Keeps a mapping that the trace does not have: its own are surer. */
static int add_mapping(struct reading *reading, const struct perf_mapping *mapping)
{
	struct foreign *foreign = reading->foreign;
	struct overlap range = {mapping->start, mapping->start + mapping->bytes};
	struct foreign_module *module;

	if (foreign->module_count >= MODULES_MOST ||
	    reader_each_module(reading->reader, overlaps, &range))
		return 0;
	module = grow(foreign->modules, foreign->module_count, &foreign->module_capacity, 64,
		      sizeof(*module));
	if (!module)
		return -ENOMEM;
	foreign->modules = module;
	module += foreign->module_count;
	*module = (struct foreign_module){.start = range.start,
					  .end = range.end,
					  .offset = mapping->offset,
					  .path = strdup(mapping->path)};
	if (!module->path)
		return -ENOMEM;
	if (mapping->build_id_bytes <= sizeof(module->build_id)) {
		module->build_id_bytes = (uint32_t)mapping->build_id_bytes;
		if (mapping->build_id_bytes)
			memcpy(module->build_id, mapping->build_id, mapping->build_id_bytes);
	}
	foreign->module_count++;
	return 0;
}

/* perf adds an event that counts nothing, to be told of mappings. */
static bool is_dummy(const struct perf_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;
}

static bool counts_ns(const struct perf_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
						    attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

/* The samples of the first event count: those of several would not add up to CPU time. */
static int choose_attr(struct reading *reading, struct diag *diag)
{
	struct foreign *foreign = reading->foreign;
	const struct perf_attr *attr;
	uint32_t index = 0;

	while (index + 1 < perf_attr_count(reading->file) &&
	       is_dummy(perf_attr(reading->file, index)))
		index++;
	attr = perf_attr(reading->file, index);
	if (!attr)
		return diag_set(diag, -EBADMSG, "does not say what was sampled");
	if (!(attr->sample_type & PERF_SAMPLE_TIME) || !(attr->sample_type & PERF_SAMPLE_TID) ||
	    !attr->own_clock || attr->clock != CLOCK_MONOTONIC_RAW) {
		diag_set(diag, 0,
			 "its samples are not stamped with CLOCK_MONOTONIC_RAW, "
			 "so they cannot be matched with the trace");
		return diag_hint(diag, -EINVAL, "perf record -k CLOCK_MONOTONIC_RAW ...");
	}
	reading->counted = index;
	reading->attr_chosen = true;
	foreign->hz = attr->by_frequency ? attr->period : 0;
	if (!attr->by_frequency && counts_ns(attr) && attr->period)
		foreign->hz = NS_PER_S / attr->period;
	foreign->user_only = attr->without_kernel;
	foreign->weights_unknown = !counts_ns(attr) && !foreign->hz;
	if (attr->sample_type & PERF_SAMPLE_STACK_USER)
		foreign->walk = FOREIGN_STACK_BYTES;
	else if (attr->sample_type & PERF_SAMPLE_CALLCHAIN)
		foreign->walk = FOREIGN_FRAME_POINTERS;
	return 0;
}

/* The CPU time that a sample stands for, as well as it is known. */
static uint64_t weight_of(const struct reading *reading, const struct perf_sample *sample)
{
	if (counts_ns(perf_attr(reading->file, sample->attr)))
		return sample->period;
	return reading->foreign->hz ? NS_PER_S / reading->foreign->hz : sample->period;
}

/* Innermost first into a list; -ENOMEM. */
static int intern(struct stacks *stacks, const struct foreign_stack *stack,
		  const struct unweave_frame **ret)
{
	const struct unweave_frame *frame = NULL;
	uint32_t walked = stack->count - stack->scanned;

	for (uint32_t i = stack->count; i-- > 0;) {
		frame = stacks_push(stacks, frame, stack->addresses[i], 0, UNWEAVE_FRAME_CODE);
		/* What is between an anchor that was only seen and what is above it nobody knows.
		 */
		if (frame && i >= walked)
			frame = stacks_push(stacks, frame, 0, 0, UNWEAVE_FRAME_OMITTED);
		if (!frame)
			return -ENOMEM;
	}
	*ret = frame;
	return 0;
}

static int add_sample(struct reading *reading, const struct perf_sample *sample)
{
	struct foreign *foreign = reading->foreign;
	struct foreign_sample *made;
	struct foreign_stack stack;

	foreign->read++;
	if (sample->pid != reading->summary->session.pid) {
		foreign->others++;
		return 0;
	}
	if (sample->time < reading->summary->first || sample->time > reading->summary->last) {
		foreign->outside++;
		return 0;
	}
	made = grow(foreign->samples, foreign->count, &foreign->capacity, 64, sizeof(*made));
	if (!made)
		return -ENOMEM;
	foreign->samples = made;
	made += foreign->count;
	foreign_walk(reading->walker, sample, &stack);
	*made = (struct foreign_sample){.time = sample->time,
					.weight = weight_of(reading, sample),
					.tid = sample->tid,
					.scanned = stack.scanned,
					.cut = stack.cut};
	if (intern(foreign->stacks, &stack, &made->native) < 0)
		return -ENOMEM;
	foreign->count++;
	return 0;
}

/* First all mappings, so that a stack can be unwound wherever its sample is in the file. */
static int read_mappings(struct reading *reading, struct diag *diag)
{
	struct perf_record record;
	int r = 0;

	while ((r = perf_next(reading->file, &record, diag)) == 0) {
		if (record.kind == PERF_SAMPLE && !reading->attr_chosen)
			r = choose_attr(reading, diag);
		else if (record.kind == PERF_LOST)
			reading->foreign->lost += record.lost;
		else if (record.kind == PERF_NAME)
			r = name_thread(reading->foreign, &record.name);
		else if (record.kind == PERF_MAPPING &&
			 record.mapping.pid == reading->summary->session.pid)
			r = add_mapping(reading, &record.mapping);
		if (r < 0)
			return r == -ENOMEM ? no_memory(diag) : r;
	}
	reading->foreign->damaged = perf_damaged(reading->file);
	reading->foreign->torn = perf_torn(reading->file);
	if (r == PERF_END && !reading->attr_chosen)
		return diag_set(diag, -ENODATA, "has no samples");
	return r < 0 ? r : 0;
}

static int read_samples(struct reading *reading, struct diag *diag)
{
	struct perf_record record;
	int r;

	perf_rewind(reading->file);
	while ((r = perf_next(reading->file, &record, diag)) == 0) {
		if (record.kind != PERF_SAMPLE || record.sample.attr != reading->counted)
			continue;
		if (add_sample(reading, &record.sample) < 0)
			return no_memory(diag);
	}
	return r < 0 ? r : 0;
}

static int add_trace_module(void *data, const struct meta_module *module)
{
	char *path = strndup(module->path.bytes, module->path.length);
	int r;

	if (!path)
		return -ENOMEM;
	r = symbols_add_module(data, &(struct symbol_module){
					     .start = module->start,
					     .end = module->end,
					     .offset = module->offset,
					     .path = path,
					     .build_id = (const uint8_t *)module->build_id.bytes,
					     .build_id_bytes = module->build_id.length,
				     });
	free(path);
	return r;
}

/* What unwinding needs to know of the program. */
static int prepare_walker(struct reading *reading, struct splice_anchors anchors)
{
	const struct meta_session *session = &reading->summary->session;
	struct foreign *foreign = reading->foreign;
	char machine[32];
	int r = symbols_new(&reading->symbols, &(struct symbols_options){0});

	if (r == 0)
		r = reader_each_module(reading->reader, add_trace_module, reading->symbols);
	for (uint32_t i = 0; i < foreign->module_count && r == 0; i++) {
		const struct foreign_module *module = &foreign->modules[i];

		r = symbols_add_module(
			reading->symbols,
			&(struct symbol_module){
				.start = module->start,
				.end = module->end,
				.offset = module->offset,
				.path = module->path,
				.build_id = module->build_id_bytes ? module->build_id : NULL,
				.build_id_bytes = module->build_id_bytes,
			});
	}
	if (r < 0)
		return r;
	memset(machine, 0, sizeof(machine));
	if (session->machine.length < sizeof(machine))
		memcpy(machine, session->machine.bytes, session->machine.length);
	return foreign_walker_new(&reading->walker, reading->symbols, machine, anchors);
}

static int by_time(const void *left, const void *right)
{
	const struct foreign_sample *one = left, *other = right;

	if (one->time != other->time)
		return one->time < other->time ? -1 : 1;
	return one->tid < other->tid ? -1 : one->tid > other->tid;
}

static void reading_fini(struct reading *reading)
{
	foreign_walker_free(reading->walker);
	symbols_free(reading->symbols);
	perf_free(reading->file);
}

int foreign_read(struct foreign *foreign, const char *path, const struct reader *reader,
		 struct splice_anchors anchors, struct diag *diag)
{
	cleanup(reading_fini) struct reading reading = {
		.foreign = foreign, .reader = reader, .summary = reader_summary(reader)};
	int r;

	*foreign = (struct foreign){0};
	if (map_init(&foreign->name_index, UINT32_MAX) < 0 ||
	    stacks_new(&foreign->stacks, NODES_MOST) < 0)
		return no_memory(diag);
	r = perf_open(&reading.file, path, diag);
	if (r == 0)
		r = read_mappings(&reading, diag);
	if (r < 0)
		return r;
	r = prepare_walker(&reading, anchors);
	if (r < 0)
		return r == -ENOMEM ? no_memory(diag) : r;
	r = read_samples(&reading, diag);
	if (r < 0)
		return r;
	if (foreign->count)
		qsort(foreign->samples, foreign->count, sizeof(*foreign->samples), by_time);
	return 0;
}

void foreign_fini(struct foreign *foreign)
{
	for (uint32_t i = 0; i < foreign->module_count; i++)
		free(foreign->modules[i].path);
	free(foreign->modules);
	free(foreign->samples);
	free(foreign->names);
	stacks_free(foreign->stacks);
	map_fini(&foreign->name_index);
	*foreign = (struct foreign){0};
}

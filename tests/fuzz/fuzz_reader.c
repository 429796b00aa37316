/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes at all as a trace: the reader must end, must not read outside of
 * them, and must keep what it promises about what it gives.
 *
 * Checksums would keep nearly all inputs out. So each is read twice: as it is,
 * and with the checksums of what looks like a block made right.
 */
#include <string.h>

#include "trace/reader.h"
#include "trace_file.h"

#define EVENTS_MOST 2000000u

static void on_fault(void *data, const struct reader_fault *fault)
{
	uint64_t *faults = data;

	must(fault->what && fault->what[0]);
	++*faults;
}

static void check_event(const struct unweave_event *event)
{
	uint32_t depth = event->stack ? event->stack->depth : 0;

	must(event->kind >= UNWEAVE_EVENT_CREATE && event->kind <= UNWEAVE_EVENT_DUE);
	for (const struct unweave_frame *frame = event->stack; frame; frame = frame->awaiter) {
		must(frame->depth == depth-- && frame->id && frame->kind <= UNWEAVE_FRAME_OMITTED);
		/* Chains share their frames: to walk all of all would take for ever. */
		if (depth % 64 == 0 && depth > 1000)
			break;
	}
	must(!event->text || strlen(event->text) <= FORMAT_PAYLOAD_MAX);
}

/* Reads up to the end; returns the number of events and the time of one in the middle. */
static uint64_t read_all(struct reader *reader, uint64_t from, uint64_t to, uint64_t *ret_middle)
{
	struct unweave_event event;
	uint64_t count = 0, last = from;

	while (count < EVENTS_MOST && reader_next(reader, &event, NULL) == 0) {
		must(event.time >= last && (event.time < to || to == UINT64_MAX));
		last = event.time;
		check_event(&event);
		count++;
		if ((count & (count - 1)) == 0)
			*ret_middle = event.time;
	}
	return count;
}

static void read_trace(const char *path)
{
	struct reader *reader = NULL;
	uint64_t faults = 0, middle = 0, count, again;
	struct diag diag;

	if (reader_open(&reader, path, on_fault, &faults, &diag) < 0) {
		must(diag.text[0]);
		return;
	}
	count = read_all(reader, 0, UINT64_MAX, &middle);
	must(reader_summary(reader)->faults == faults);
	for (uint32_t i = 0; i < reader_thread_count(reader); i++)
		must(reader_thread(reader, reader_thread_at(reader, i)->thread) ==
		     reader_thread_at(reader, i));
	must(reader_seek(reader, middle, UINT64_MAX, &diag) == 0);
	again = read_all(reader, middle, UINT64_MAX, &(uint64_t){0});
	/* Without a fault, both halves are the whole. */
	if (!faults && count < EVENTS_MOST && middle) {
		must(reader_seek(reader, 0, middle, &diag) == 0);
		must(again + read_all(reader, 0, middle, &(uint64_t){0}) == count);
	}
	reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	read_trace(trace_file(bytes, length));
	read_trace(trace_file_repaired(bytes, length));
	return 0;
}

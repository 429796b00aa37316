/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the events of one stream into EVENTS blocks, each readable alone.
 *
 * The encoder follows the nest of runs and what a reader has been told of each
 * task within the block, and says only what the reader could not know.
 */
#ifndef TRACE_ENCODER_H
#define TRACE_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"
#include "unweave/event.h"

struct encoder;

/* Gets each block when it is complete; `payload` is block->raw bytes, borrowed for the call. */
typedef int (*encoder_sink)(void *data, const struct block *block, const uint8_t *payload);

/*
 * `number` is that of the first record to come. A stream that is joined in the
 * middle starts with `nest_known` false, until its first RESET. Returns -ENOMEM.
 */
int encoder_new(struct encoder **ret, uint32_t thread, bool aside, uint64_t number, bool nest_known,
		encoder_sink sink, void *data);
struct encoder *encoder_free(struct encoder *encoder);

/*
 * Adds events. Their `time` is in ticks and not less than that of the one
 * before (it is raised to that if it is); equal chains must be equal pointers,
 * of one `struct stacks`, and are borrowed until the next encoder_flush(). An
 * event that closes the block makes it go to the sink first.
 *
 * Returns what the sink returned, or -ENOMEM. Either way the encoder goes on:
 * the events of a block that the sink refused, or the one that there was no
 * memory for, become a LOST event (cause DISK, or FULL) in a block of its own
 * before the next one that the sink takes, and keep their numbers. So the
 * caller must not count them again.
 */
int encoder_put(struct encoder *encoder, const struct unweave_event *events, uint32_t count);

/* Sends what is there to the sink, if there is anything: events, or losses not said yet. */
int encoder_flush(struct encoder *encoder);

/* Memory in use for the block under construction: its bytes, and what its reader knows of it. */
size_t encoder_bytes(const struct encoder *encoder);

/* Events that did not get into a block or that the sink refused, in all. */
uint64_t encoder_lost(const struct encoder *encoder);

/* Whether some of those are not said in the trace yet: the next block is to do so. */
bool encoder_owes(const struct encoder *encoder);

/* The number that the next record will have. */
uint64_t encoder_number(const struct encoder *encoder);

/* Ticks of the first event of the block under construction; 0 if it has none. */
uint64_t encoder_first(const struct encoder *encoder);

#endif /* TRACE_ENCODER_H */

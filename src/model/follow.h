/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which runs a thread is inside of at a moment, by the events up to then; for
 * samples that another tool took.
 *
 * A run's chain is that of its RESUME, which later APPENDs make longer. What of
 * it is done say FRAME_COMPLETE and UNWIND events where they are recorded, and
 * else the number of the anchor on the sampled stack and how often the anchors
 * started over. The chain of a callback is the callback, as its site says.
 */
#ifndef MODEL_FOLLOW_H
#define MODEL_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "model/splice.h"
#include "trace/samples.h"

struct follow;

/* `keywords`: what the session recorded. Returns -ENOMEM. */
int follow_new(struct follow **ret, struct splice_anchors anchors, uint64_t keywords);
struct follow *follow_free(struct follow *follow);

/* The callback that tasks of a site are calls of; 0: it is not a site of callbacks. */
typedef uint64_t (*follow_code)(void *data, uint64_t site);

void follow_set_code(struct follow *follow, follow_code code, void *data);

/* Events in the order of time. Returns -ENOMEM. */
int follow_event(struct follow *follow, const struct unweave_event *event);

/* A thread of the trace has this id from now on; an earlier one with it has ended. -ENOMEM. */
int follow_thread(struct follow *follow, uint32_t thread, uint32_t tid);

/*
 * The runs that the thread is inside of after the last event, innermost first;
 * `native` is what was sampled, and may be empty. At most SAMPLE_SEGMENTS_MAX go
 * to `ret`; their chains stay until the next event. Returns how many.
 */
uint32_t follow_segments(struct follow *follow, uint32_t tid, const struct samples_stack *native,
			 struct samples_segment *ret);

/*
 * The anchors through which those runs should have gone by the events alone, 32
 * where nobody knows. Returns how many.
 */
uint32_t follow_expected(const struct follow *follow, uint32_t tid,
			 uint8_t slots[SAMPLE_SEGMENTS_MAX]);

/* Whether events of the thread are missing, so that nobody knows what it is inside of. */
bool follow_lost(const struct follow *follow, uint32_t tid);

#endif /* MODEL_FOLLOW_H */

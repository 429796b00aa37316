/* SPDX-License-Identifier: Apache-2.0 */
/* Events that tests put into an encoder, one by one. */
#ifndef TESTS_ENCODING_H
#define TESTS_ENCODING_H

#include "streams.h"

#define TICKS 1000

static inline struct encoder *new_encoder(struct blocks *blocks)
{
	struct encoder *encoder = NULL;

	CHECK_EQ(encoder_new(&encoder, 3, false, 0, true, blocks_take, blocks), 0);
	return encoder;
}

static inline void put(struct encoder *encoder, struct unweave_event event)
{
	CHECK_EQ(encoder_put(encoder, &event, 1), 0);
}

static inline struct unweave_event at(uint64_t time, unsigned kind, uint64_t task)
{
	return (struct unweave_event){.kind = (uint16_t)kind, .time = time, .task = task};
}

/* Ends the run of one task and begins that of another, at one time. */
static inline void put_switch(struct encoder *encoder, uint64_t from,
			      const struct unweave_frame *was, uint64_t to,
			      const struct unweave_frame *is)
{
	struct unweave_event suspend = at(TICKS, UNWEAVE_EVENT_SUSPEND, from);
	struct unweave_event resume = at(TICKS, UNWEAVE_EVENT_RESUME, to);

	suspend.stack = was;
	resume.stack = is;
	put(encoder, suspend);
	put(encoder, resume);
}

#endif /* TESTS_ENCODING_H */

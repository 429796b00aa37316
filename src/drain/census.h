/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A census: the tasks that were there when a session began, with their chains.
 * The table says which there are; a chain is read where it lies, in the memory of
 * the program, which is not asked and does not notice.
 */
#ifndef DRAIN_CENSUS_H
#define DRAIN_CENSUS_H

#include <stdbool.h>
#include <stdint.h>

#include "drain/stream.h"

struct census {
	struct stream stream; /* its events are a stream of their own */
	uint32_t next;        /* slot to be looked at */
	uint32_t end;
	uint64_t told;   /* tasks */
	uint64_t silent; /* of those, chains that could not be read, though they have one */
	/* Called before its first event: gives the stream its number, and tells of it. */
	int (*introduce)(void *data, struct stream *stream);
	void *data;
	int error; /* why the program's memory cannot be read; 0 if it can */
	struct heads *batch;
};

/* Begins one, over the tasks that there are by now. Returns -ENOMEM. */
int census_begin(struct census *census, const struct stream_shop *shop,
		 int (*introduce)(void *data, struct stream *stream), void *data);
void census_fini(struct census *census);

static inline bool census_is_over(const struct census *census)
{
	return census->next >= census->end;
}

/* Goes on for a while. Returns what the sink returned. */
int census_step(struct census *census, struct stream_shop *shop);

#endif /* DRAIN_CENSUS_H */

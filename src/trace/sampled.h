/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace says besides its events: the samples, and what their addresses mean. */
#ifndef TRACE_SAMPLED_H
#define TRACE_SAMPLED_H

#include "trace/blocks.h"
#include "trace/samples.h"
#include "trace/timeline.h"
#include "util/map.h"

/* Blocks that are kept as they are, and decoded by who asks. */
struct sampled_kept {
	struct sampled_payload {
		uint8_t *bytes;
		uint32_t length;
	} * payloads;
	uint32_t count;
	uint32_t capacity;
};

struct sampled {
	uint64_t *offsets; /* of the SAMPLES blocks */
	uint32_t count;
	uint32_t capacity;
	uint32_t next; /* block to come */
	uint8_t *payload;
	uint32_t payload_capacity;
	struct samples_block block;

	struct meta_sampler sampler; /* `note` is owned */
	bool sampler_known;
	uint64_t anchors;                /* 0: unknown */
	uint64_t dispatch, dispatch_end; /* code that calls them, with them; 0: unknown */
	struct sampled_kept modules;
	struct sampled_kept symbols;
	struct map name_index; /* by tid */
	char (*names)[65];
	uint32_t name_count;
	uint32_t name_capacity;
};

/* Returns -ENOMEM. */
int sampled_init(struct sampled *sampled);
void sampled_fini(struct sampled *sampled);

/* Takes note of a SAMPLES block. -ENOMEM. */
int sampled_add_block(struct sampled *sampled, uint64_t offset);
/* Each reads one block's payload; -EBADMSG if it is not whole, -ENOMEM. */
int sampled_read_sampler(struct sampled *sampled, struct wire *from);
int sampled_read_modules(struct sampled *sampled, struct wire *from);
int sampled_read_symbols(struct sampled *sampled, struct wire *from);

/* As reader_next_sample(), but for the time, which is still ticks. */
int sampled_next(struct sampled *sampled, struct blocks *blocks, struct sample *ret,
		 struct diag *diag);

#endif /* TRACE_SAMPLED_H */

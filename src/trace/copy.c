/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/copy.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/blocks.h"
#include "util/cleanup.h"

struct copying {
	struct blocks blocks;
	struct faults faults;
	uint8_t *payload;
	uint64_t end; /* offset of the END block; 0: there is none */
	struct block end_block;
};

static void copying_fini(struct copying *copying)
{
	blocks_fini(&copying->blocks);
	free(copying->payload);
}

static int copy_block(struct copying *copying, const struct block *block, uint64_t offset,
		      struct writer *to, struct diag *diag)
{
	int r;

	if (!blocks_readable(&copying->blocks, offset, block))
		return 0;
	r = blocks_payload(&copying->blocks, offset, block, copying->payload, diag);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	return writer_put(to, block, copying->payload, diag);
}

static int copy_all(struct copying *copying, const struct copy_plan *plan, struct writer *to,
		    struct diag *diag)
{
	struct block block;
	uint64_t offset;
	int r;

	while ((r = blocks_next(&copying->blocks, &block, &offset, diag)) == 0) {
		if (block.kind == BLOCK_END) {
			copying->end = offset;
			copying->end_block = block;
			continue;
		}
		if (block.kind < 32 && plan->without_kinds >> block.kind & 1)
			continue;
		r = copy_block(copying, &block, offset, to, diag);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : 0;
}

int copy_trace(const struct copy_plan *plan, struct writer *to, struct diag *diag)
{
	cleanup(copying_fini) struct copying copying = {
		.blocks = {.fd = -1},
		.faults = {.tell = plan->on_fault, .data = plan->fault_data},
		.payload = malloc(FORMAT_PAYLOAD_MAX),
	};
	int r;

	if (!copying.payload)
		return diag_set(diag, -ENOMEM, "out of memory");
	r = blocks_open(&copying.blocks, plan->path, &copying.faults, diag);
	if (r == 0)
		r = copy_all(&copying, plan, to, diag);
	if (r == 0)
		r = plan->add(plan->data, to, diag);
	if (r == 0 && copying.end)
		r = copy_block(&copying, &copying.end_block, copying.end, to, diag);
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The native stack of a sample that perf took, by whatever it has of it. */
#ifndef CLI_FOREIGN_STACK_H
#define CLI_FOREIGN_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "model/splice.h"
#include "perf/file.h"
#include "symbol/symbol.h"

#define FOREIGN_FRAMES_MOST 1024u

struct foreign_stack {
	uint64_t addresses[FOREIGN_FRAMES_MOST];
	uint32_t count;
	uint32_t scanned; /* of them, at the end: anchors that were found without a walk */
	bool cut;         /* the walk ended early */
};

struct foreign_walker;

/* `machine` as in a trace's session. `symbols` is borrowed. Returns -ENOMEM. */
int foreign_walker_new(struct foreign_walker **ret, struct symbols *symbols, const char *machine,
		       struct splice_anchors anchors);
struct foreign_walker *foreign_walker_free(struct foreign_walker *walker);

void foreign_walk(struct foreign_walker *walker, const struct perf_sample *sample,
		  struct foreign_stack *ret);

#endif /* CLI_FOREIGN_STACK_H */

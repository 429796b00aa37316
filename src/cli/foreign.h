/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of one program out of a perf.data, in the order of time: each
 * with the native stack that perf walked, or that is unwound here from what it
 * copied.
 */
#ifndef CLI_FOREIGN_H
#define CLI_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/splice.h"
#include "trace/reader.h"
#include "util/diag.h"
#include "util/map.h"

struct foreign_sample {
	uint64_t time; /* ns, CLOCK_MONOTONIC_RAW */
	uint64_t weight;
	const struct unweave_frame *native; /* of `stacks`; NULL: unknown */
	uint32_t tid;
	uint32_t scanned; /* anchors at its end that were found in the bytes of the stack, ... */
	bool cut;         /* ... after the walk ended early */
};

/* A mapping that the trace does not have. */
struct foreign_module {
	uint64_t start, end, offset;
	char *path;
	uint8_t build_id[20];
	uint32_t build_id_bytes;
};

/* What kind of stacks the samples have. */
enum foreign_walk { FOREIGN_NO_STACKS, FOREIGN_FRAME_POINTERS, FOREIGN_STACK_BYTES };

struct foreign {
	struct foreign_sample *samples;
	uint32_t count;
	uint32_t capacity;
	struct stacks *stacks;
	struct foreign_module *modules;
	uint32_t module_count;
	uint32_t module_capacity;
	struct map name_index; /* by thread id */
	char (*names)[16];
	uint32_t name_count;
	uint32_t name_capacity;
	enum foreign_walk walk;
	uint64_t hz; /* samples a second, as asked for; 0: something else was asked for */
	bool user_only;
	bool weights_unknown; /* what they count is no time */
	uint64_t read;        /* samples in the file */
	uint64_t others;      /* ... of other processes */
	uint64_t outside;     /* ... of this one, before or after the trace */
	uint64_t damaged;     /* ... that make no sense */
	uint64_t lost;        /* that perf had no room for */
	bool torn;            /* the file ends early */
};

/*
 * Reads `path`: samples of the trace's program within its time. Returns -EBADMSG
 * for what is no perf.data, -EINVAL where its clock is another one, -ENOMEM, and
 * what reading met. To be freed by foreign_fini() either way.
 */
int foreign_read(struct foreign *foreign, const char *path, const struct reader *reader,
		 struct splice_anchors anchors, struct diag *diag);
void foreign_fini(struct foreign *foreign);

/* What perf calls a thread; NULL if it does not say. */
const char *foreign_name(const struct foreign *foreign, uint32_t tid);

#endif /* CLI_FOREIGN_H */

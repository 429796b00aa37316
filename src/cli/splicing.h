/* SPDX-License-Identifier: Apache-2.0 */
/* A trace and a perf.data of the same program become one trace with samples. */
#ifndef CLI_SPLICING_H
#define CLI_SPLICING_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/foreign.h"
#include "util/diag.h"

struct splicing_plan {
	const char *trace;
	const char *perf;
	const char *output;
};

/* What became of the samples. */
struct splicing_result {
	uint64_t outcomes[SPLICE_OUTCOMES];
	uint64_t in_losses;     /* of SPLICE_NO_TASK: events of the thread were lost */
	uint64_t samples;       /* that were written */
	uint64_t replaced;      /* blocks of samples that the trace had, and the new one has not */
	uint64_t others;        /* samples of other processes */
	uint64_t outside;       /* ... before or after the trace */
	uint64_t damaged;       /* ... that make no sense */
	uint64_t lost;          /* ... that perf had no room for */
	bool torn;              /* perf did not come to the end of its file */
	enum foreign_walk walk; /* how their stacks were had */
	bool without_stacks;    /* the trace has no chains: it was recorded with less detail */
	bool without_anchors;   /* the trace does not say where they are */
	const char *file;       /* on failure: the one that is to blame */
};

/* Writes the output, or nothing. Returns -errno with `diag` filled. */
int splicing_run(const struct splicing_plan *plan, struct splicing_result *ret, struct diag *diag);

#endif /* CLI_SPLICING_H */

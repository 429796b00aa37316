/* SPDX-License-Identifier: Apache-2.0 */
/* Recording, once it is clear what: a running program, or one that is started for it. */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/adapters.h"
#include "unweave.h"
#include "util/diag.h"

struct record_plan {
	const char *output;
	uint32_t pid;   /* 0: start `command` */
	char **command; /* ended by NULL */
	enum unweave_detail detail;
	enum unweave_policy policy;
	uint64_t buffer_bytes; /* 0: the default */
	uint64_t duration_ns;  /* 0: until the program ends, or Ctrl-C */
	uint64_t size_bytes;   /* of a trace, that ends it; 0: none */
	uint64_t flight_bytes; /* keep so much, and write it when asked to; 0: all, at once */
	uint64_t flight_ns;    /* and no more than the last so long; 0: no limit */
	uint32_t hz;           /* samples a second of each thread; 0: none */
	bool wall;             /* samples by the wall clock */
	bool timers;           /* no perf events */
	bool no_symbols;       /* names are left to who reads the trace */
	struct adapters_wish adapters;
	bool no_children; /* only the command itself */
	bool quiet;       /* no words about what was recorded */
};

/*
 * Records. Returns 0, or the exit status of a program that was started for it
 * (128 + signal if one ended it, 128 + SIGINT if it goes on); -errno with `diag`
 * filled if nothing could be recorded.
 */
int record_run(const struct record_plan *plan, struct diag *diag);

#endif /* CLI_RECORD_H */

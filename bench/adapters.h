/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an adapter costs: a program that knows an event library and nothing of
 * unweave runs as it is, with the adapter loaded and nobody recording, and recorded
 * at `samples` and at `tasks` by the real recorder. All four are there at the same
 * time, and measure a slice in turn when they are told to; see adapters_program.h.
 */
#ifndef BENCH_ADAPTERS_H
#define BENCH_ADAPTERS_H

#include "bench.h"

struct adapters_subject {
	const char *prefix;  /* of its rows: "uv." */
	const char *program; /* from where the bench is: "bench-libuv" */
	const char *adapter; /* from there, too: "../adapters/libuv/libunweave-libuv.so" */
};

/*
 * Measures the rows PREFIXpair.tasks.ns, pair.samples.ns, pair.off.ns and iteration.ns: what is
 * added to an arm and its run, and at `tasks` to an iteration with one callback.
 */
int adapters_measure(struct bench *bench, const struct adapters_subject *subject);

#endif /* BENCH_ADAPTERS_H */

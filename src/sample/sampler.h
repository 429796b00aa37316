/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of a program under record: has its threads sampled, takes what they
 * say, finds their native stacks, and puts it all into the trace.
 *
 * Trouble with samples is no reason not to record: it is said in the trace and
 * in `note`, and the events go on without.
 */
#ifndef SAMPLE_SAMPLER_H
#define SAMPLE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "drain/recorder.h"
#include "trace/sample.h"

struct sampler;

struct sampler_options {
	uint32_t hz;     /* up to SAMPLER_HZ_MAX; 0: only mappings and names are told */
	bool wall;       /* by the wall clock: threads that sleep too */
	bool no_perf;    /* timers, also where perf events may be had */
	bool no_symbols; /* names are left to whoever reads the trace */
};

#define SAMPLER_HZ_DEFAULT 99u
#define SAMPLER_HZ_MAX 10000u

struct sampler_totals {
	uint64_t samples;
	uint64_t lost;
	enum sampler_driver driver;
	uint32_t threads; /* that are sampled now */
	uint32_t blocked; /* that block the signal, and so are not */
	const char *note; /* sentences; "" if all is well */
};

/* Both are borrowed. Returns -ENOMEM. */
int sampler_new(struct sampler **ret, struct attachment *attachment, struct recorder *recorder,
		const struct sampler_options *options);
/* Stops the clocks, if that is still to be done. */
struct sampler *sampler_free(struct sampler *sampler);

/* Looks after new threads, and takes what there is. Returns -ENOMEM. */
int sampler_pass(struct sampler *sampler);

/* When the next pass is due at the latest, ns from now. */
uint64_t sampler_pause_ns(const struct sampler *sampler);

/* Stops the clocks and takes the rest: before the session ends, and with it what threads know. */
int sampler_halt(struct sampler *sampler);

/* Names all addresses that the trace speaks of, which may take a while. Before recorder_stop(). */
int sampler_finish(struct sampler *sampler);

/* In a copy of the process, before recorder_snapshot(): all that is known, as at the end. */
int sampler_snapshot(struct sampler *sampler);

struct sampler_totals sampler_totals(const struct sampler *sampler);

#endif /* SAMPLE_SAMPLER_H */

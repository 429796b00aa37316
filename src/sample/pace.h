/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often a thread switches: leaves its processor, and comes back.
 *
 * A perf event takes its time whenever that happens. A timer takes none, but is looked at only
 * when the kernel's clock ticks, and so may never meet a thread that works in step with it. One
 * that switches often enough to suffer by a perf event is met.
 */
#ifndef SAMPLE_PACE_H
#define SAMPLE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* What is known of a thread at some moment. */
struct pace_look {
	uint64_t now_ns;
	uint64_t switches; /* ever */
	uint64_t ran_ns;   /* of CPU time, ever */
};

struct pace {
	struct pace_look last; /* `now_ns` 0: none */
	uint32_t calm;         /* looks at which it ran, and did not switch often */
	bool often;            /* it switches often */
};

/* Takes note of a look, and so decides on `often`. One that hardly ran leaves it as it is. */
void pace_note(struct pace *pace, const struct pace_look *look);

#endif /* SAMPLE_PACE_H */

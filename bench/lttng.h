/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LTTng in private: a session daemon of our own, in a directory of our own, with
 * one session that records one tracepoint of this process, dropping what finds
 * no room, to a file.
 */
#ifndef BENCH_LTTNG_H
#define BENCH_LTTNG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct lttng {
	pid_t daemon;
	void *module;
	void (*emit)(const uint64_t *tasks, uint32_t count);
	char why[128]; /* it is not there */
};

/*
 * Starts it all; false with `why` if LTTng is not installed or did not start.
 * It cannot be private to root, so the process must not be root's by now.
 * `module` is the file to load.
 */
bool lttng_begin(struct lttng *lttng, const char *directory, const char *module);

/* Ends the daemon. `*ret_discarded`: events that found no room, UINT64_MAX if that is unknown. */
void lttng_end(struct lttng *lttng, uint64_t *ret_discarded);

#endif /* BENCH_LTTNG_H */

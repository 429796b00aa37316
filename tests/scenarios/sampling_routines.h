/* SPDX-License-Identifier: Apache-2.0 */
/* Coroutines for sampling.c: what they will show is said before each step. */
#ifndef SCENARIOS_SAMPLING_ROUTINES_H
#define SCENARIOS_SAMPLING_ROUTINES_H

#include <stdbool.h>
#include <stdint.h>

/* Runs a new one, and what it calls, until it waits or is done. */
void routines_run(uint32_t dice);

/* Runs one that waits, of this thread or handed over by another. False: there is none. */
bool routines_run_waiting(void);

#endif /* SCENARIOS_SAMPLING_ROUTINES_H */

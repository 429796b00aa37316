/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives each thread its clock: a perf event, or a timer, which the program sets by order. An
 * order waits in the arena until a thread that runs is told of it.
 */
#ifndef SAMPLE_ARM_H
#define SAMPLE_ARM_H

#include "sample/sampler.h"

/* Looks which threads there are, and which of them block the signal. */
void arm_find(struct sampler *sampler);

/* Gives clocks to those that have none, and others to those that they suit no more. */
void arm_all(struct sampler *sampler);

/* There may be room by now: for some, lest a program in want be asked all the time. */
void arm_try_again(struct sampler *sampler);

/* Sees to it that an order waits, by which it shows whose handler it is. False if none can. */
bool arm_probe(struct sampler *sampler);

/* Adds a sentence on those that could have no clock. */
void arm_say_lack(struct sampler *sampler);

#endif /* SAMPLE_ARM_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* The native stack of a sample, from the registers and the piece of stack that it copied. */
#ifndef SAMPLE_STACKS_H
#define SAMPLE_STACKS_H

#include "sample/modules.h"
#include "sample/take.h"
#include "trace/samples.h"

struct stack_finder;

/* `modules` is borrowed. Returns -ENOMEM. */
int stack_finder_new(struct stack_finder **ret, struct modules *modules);
struct stack_finder *stack_finder_free(struct stack_finder *finder);

/* Fills `native`, which stays until the next call, and adds SAMPLE_CUT where it is not whole. */
void stack_finder_find(struct stack_finder *finder, const struct taken *taken,
		       struct samples_input *ret);

/* The same number for the same frames, of the stack that was found last. */
uint64_t stack_finder_place(const struct stack_finder *finder);

#endif /* SAMPLE_STACKS_H */

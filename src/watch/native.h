/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a thread of a living program sleeps: what the kernel tells of it, and its stack, read
 * from the program's memory. Nothing runs in the program, and it is not stopped.
 */
#ifndef WATCH_NATIVE_H
#define WATCH_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "drain/attach.h"
#include "symbol/unwind.h"

#define NATIVE_FRAMES 48u
#define NATIVE_KERNEL 48u

struct native {
	bool asleep;                /* it was, all the time that it was looked at */
	char kernel[NATIVE_KERNEL]; /* function of the kernel that it sleeps in; "" if unknown */
	uint64_t frames[NATIVE_FRAMES]; /* addresses, innermost first */
	uint32_t count;                 /* 0: nobody may look, or it did not sleep */
};

/* What cannot be had is left out. */
void native_look(struct native *ret, const struct attachment *attachment, uint32_t tid,
		 struct unwinder *unwinder);

#endif /* WATCH_NATIVE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program of the tree test says itself of what it does, to be compared
 * with a recording of it. It knows nothing of unweave: it has a number for each
 * operation, and keeps which one each thread is in.
 *
 *     arm NUMBER KIND FUNCTION ADDRESS PARENT    an operation, 0: outside of any
 *     run NUMBER
 *     end NUMBER ok|error|cancelled              if it ends at all
 */
#ifndef GLIB_TEST_LOG_H
#define GLIB_TEST_LOG_H

#include <stdbool.h>
#include <stdio.h>

/* An operation. The callback gets it as its data. */
struct op {
	const char *kind;
	const char *function;
	const void *address;
	int number;
	int calls;
	bool stands;     /* each call of it is an operation of its own */
	unsigned source; /* its id */
	void *data;
};

/* One run of an operation, or of a call of a standing one. */
struct run {
	int number;
	int outer;
};

extern FILE *test_log;

/* How many operations have begun, and not ended. */
int ops_open(void);

struct op *op_new(const char *kind, const char *function, const void *address, bool stands);
void op_end(const struct op *op, const char *status);
/* A call of its callback begins; and ends. `again`: it is to be called again. */
struct run op_enter(struct op *op);
void op_leave(struct op *op, struct run run, bool again);
/* A run of the operation itself, whatever comes after. */
struct run op_run(const struct op *op);
void op_pause(struct run run);

#define OP(kind, function) op_new(kind, #function, (const void *)(function), false)
#define STANDING(kind, function) op_new(kind, #function, (const void *)(function), true)

#endif /* GLIB_TEST_LOG_H */

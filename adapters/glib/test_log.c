/* SPDX-License-Identifier: Apache-2.0 */
#include "test_log.h"

#include <stdatomic.h>
#include <stdlib.h>

FILE *test_log;
static _Atomic int last, ended;
static __thread int here;

static int arm(const char *kind, const char *function, const void *address, int parent)
{
	int number = atomic_fetch_add(&last, 1) + 1;

	fprintf(test_log, "arm %d %s %s %#lx %d\n", number, kind, function, (unsigned long)address,
		parent);
	return number;
}

struct op *op_new(const char *kind, const char *function, const void *address, bool stands)
{
	struct op *op = calloc(1, sizeof(*op));

	if (!op)
		abort();
	op->kind = kind;
	op->function = function;
	op->address = address;
	op->stands = stands;
	op->number = arm(kind, function, address, here);
	return op;
}

int ops_open(void)
{
	return last - ended;
}

static void end(int number, const char *status)
{
	fprintf(test_log, "end %d %s\n", number, status);
	ended++;
}

void op_end(const struct op *op, const char *status)
{
	end(op->number, status);
}

static struct run enter(int number)
{
	struct run run = {.number = number, .outer = here};

	fprintf(test_log, "run %d\n", number);
	here = number;
	return run;
}

struct run op_enter(struct op *op)
{
	bool again = op->calls++ > 0;

	if (!op->stands && !again)
		return enter(op->number);
	return enter(arm(op->kind, op->function, op->address, op->number));
}

void op_leave(struct op *op, struct run run, bool again)
{
	here = run.outer;
	if (run.number != op->number)
		end(run.number, "ok");
	if (!again)
		op_end(op, "ok");
}

struct run op_run(const struct op *op)
{
	return enter(op->number);
}

void op_pause(struct run run)
{
	here = run.outer;
}

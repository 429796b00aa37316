/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/names.h"
#include "cli/record.h"
#include "cli/say.h"
#include "sample/sampler.h"

#define DEFAULT_OUTPUT "trace.unw"
#define FLIGHT_BYTES_MIN (UINT64_C(1) << 20)   /* some blocks */
#define FLIGHT_BYTES_MAX (UINT64_C(512) << 20) /* kept for so many seconds */

enum {
	OUTPUT = 1,
	PID,
	DETAIL,
	RATE,
	WALL,
	TIMERS,
	NO_SYMBOLS,
	POLICY,
	BUFFER,
	DURATION,
	SIZE,
	FLIGHT,
	NO_CHILDREN,
	WITH,
	WITHOUT,
	QUIET
};

static const struct option_entry entries[] = {
	{OUTPUT, 'o', "output", "FILE", "the trace to write; " DEFAULT_OUTPUT " if not given"},
	{PID, 'p', "pid", "PID", "a running program, or what one left that died"},
	{DETAIL, 0, "detail", "LEVEL", "samples, tasks or full, which is the default"},
	{RATE, 'F', "frequency", "HZ",
	 "CPU samples a second of each thread, 99 if not given; 0: none"},
	{WALL, 0, "wall", NULL, "sample threads that sleep, too"},
	{TIMERS, 0, "timers", NULL, "sample by timers, not by perf events"},
	{NO_SYMBOLS, 0, "no-symbols", NULL, "leave names to whoever reads the trace"},
	{POLICY, 0, "policy", "POLICY", "when buffers are full: drop, overwrite or block"},
	{BUFFER, 0, "buffer", "BYTES", "memory for the program's buffers, such as 32M"},
	{DURATION, 0, "duration", "SECONDS", "stop after so long; the program goes on"},
	{SIZE, 0, "size", "BYTES", "stop when a trace is so large, such as 100M"},
	{FLIGHT, 0, "flight", "LIMIT",
	 "keep the last 30s or 64M; SIGUSR2, or the end, writes them"},
	{NO_CHILDREN, 0, "no-children", NULL, "the command alone, not what it starts"},
	{WITH, 0, "with", "NAMES", "adapters to load in any case: " ADAPTERS_NAMES},
	{WITHOUT, 0, "without", "NAMES", "adapters not to load, such as libuv,glib"},
	{QUIET, 'q', "quiet", NULL, "no words about what was recorded"},
	{0},
};

static bool read_detail(const char *value, enum unweave_detail *ret)
{
	for (unsigned i = UNWEAVE_DETAIL_SAMPLES; i <= UNWEAVE_DETAIL_FULL; i++)
		if (strcmp(value, name_detail(i)) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

static bool read_policy(const char *value, enum unweave_policy *ret)
{
	static const char *const names[] = {"drop", "overwrite", "block"};

	for (unsigned i = UNWEAVE_POLICY_DROP; i <= UNWEAVE_POLICY_BLOCK; i++)
		if (strcmp(value, names[i]) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

/* A number of bytes, with k, M or G behind it for powers of 1024. */
static bool read_bytes(const char *value, uint64_t *ret)
{
	static const char units[] = "kMG";
	char *end;
	uint64_t number = strtoull(value, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;

	if (end == value || *value == '-' || (*end && (!unit || end[1])) ||
	    number > UINT64_MAX >> shift)
		return false;
	*ret = number << shift;
	return true;
}

static bool read_seconds(const char *value, uint64_t *ret)
{
	char *end;
	double seconds = strtod(value, &end);

	if (end == value || (*end && strcmp(end, "s") != 0) || !(seconds > 0) || seconds > 1e9)
		return false;
	*ret = (uint64_t)(seconds * 1e9);
	return true;
}

/* Seconds, which are bounded by a size all the same; or a size, which has a unit. */
static bool read_flight(const char *value, struct record_plan *plan)
{
	plan->flight_ns = 0;
	plan->flight_bytes = FLIGHT_BYTES_MAX;
	if (read_seconds(value, &plan->flight_ns))
		return true;
	return read_bytes(value, &plan->flight_bytes) && plan->flight_bytes >= FLIGHT_BYTES_MIN;
}

/* The last word on an adapter counts. */
static int read_adapters(struct options *options, uint32_t *to, uint32_t *not_to)
{
	uint32_t named;

	if (!adapters_read(options->value, &named))
		return options_bad_value(options, "a list of " ADAPTERS_NAMES);
	*to |= named;
	*not_to &= ~named;
	return EXIT_OK;
}

/* One option into the plan; EXIT_OK, or how to exit. */
static int apply(struct options *options, int id, struct record_plan *plan)
{
	uint64_t number;

	switch (id) {
	case OUTPUT:
		plan->output = options->value;
		return EXIT_OK;
	case PID:
		if (!options_number(options, &number) || !number || number > INT32_MAX)
			return options_bad_value(options, "a process id");
		plan->pid = (uint32_t)number;
		return EXIT_OK;
	case DETAIL:
		if (!read_detail(options->value, &plan->detail))
			return options_bad_value(options, "samples, tasks or full");
		return EXIT_OK;
	case RATE:
		if (!options_number(options, &number) || number > SAMPLER_HZ_MAX)
			return options_bad_value(options, "a number from 0 to 10000");
		plan->hz = (uint32_t)number;
		return EXIT_OK;
	case WALL:
		plan->wall = true;
		return EXIT_OK;
	case TIMERS:
		plan->timers = true;
		return EXIT_OK;
	case NO_SYMBOLS:
		plan->no_symbols = true;
		return EXIT_OK;
	case POLICY:
		if (!read_policy(options->value, &plan->policy))
			return options_bad_value(options, "drop, overwrite or block");
		return EXIT_OK;
	case BUFFER:
		if (!read_bytes(options->value, &plan->buffer_bytes))
			return options_bad_value(options, "a size such as 32M");
		return EXIT_OK;
	case DURATION:
		if (!read_seconds(options->value, &plan->duration_ns))
			return options_bad_value(options, "a number of seconds");
		return EXIT_OK;
	case SIZE:
		if (!read_bytes(options->value, &plan->size_bytes) || !plan->size_bytes)
			return options_bad_value(options, "a size such as 100M");
		return EXIT_OK;
	case FLIGHT:
		if (!read_flight(options->value, plan))
			return options_bad_value(options,
						 "30s, or a size such as 64M, at least 1M");
		return EXIT_OK;
	case NO_CHILDREN:
		plan->no_children = true;
		return EXIT_OK;
	case WITH:
		return read_adapters(options, &plan->adapters.with, &plan->adapters.without);
	case WITHOUT:
		return read_adapters(options, &plan->adapters.without, &plan->adapters.with);
	default:
		plan->quiet = true;
		return EXIT_OK;
	}
}

static int run(struct options *options)
{
	struct record_plan plan = {.output = DEFAULT_OUTPUT, .hz = SAMPLER_HZ_DEFAULT};
	struct diag diag = {.text = "out of memory"};
	int id, r;

	while ((id = options_next(options)) > 0) {
		r = apply(options, id, &plan);
		if (r != EXIT_OK)
			return r;
	}
	if (id < 0)
		return options->status;
	if (plan.flight_bytes && plan.size_bytes) {
		say_error(NULL, "record: --flight has a size of its own, --size is for the rest");
		return EXIT_USAGE;
	}
	if (!plan.pid == !options->operand_count) {
		say_error(NULL, plan.pid ? "record: a process id and a command are two things"
					 : "record: which program?");
		say_hint("unweave record -p PID, or unweave record -- COMMAND [ARGUMENT]...");
		return EXIT_USAGE;
	}
	plan.command = options->operands;
	r = record_run(&plan, &diag);
	if (r < 0) {
		say_diag(NULL, &diag);
		return EXIT_FAILED;
	}
	return r;
}

const struct cmd cmd_record = {
	.name = "record",
	.arguments = "(-p PID | [--] COMMAND [ARGUMENT]...)",
	.summary = "Record what the tasks of a program do",
	.details = "The program carries libunweave, or uses libuv, libevent or GLib. Records\n"
		   "until it ends, or Ctrl-C; passes its exit status on.\n",
	.options = entries,
	.command_follows = true,
	.run = run,
};

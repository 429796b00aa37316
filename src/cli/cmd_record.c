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

static int set_pid(const struct options *options, void *to)
{
	uint64_t number;

	if (!options_number(options, &number) || !number || number > INT32_MAX)
		return options_bad_value(options, "a process id");
	*(uint32_t *)to = (uint32_t)number;
	return EXIT_OK;
}

static int set_detail(const struct options *options, void *to)
{
	for (unsigned i = UNWEAVE_DETAIL_SAMPLES; i <= UNWEAVE_DETAIL_FULL; i++)
		if (strcmp(options->value, name_detail(i)) == 0) {
			*(enum unweave_detail *)to = i;
			return EXIT_OK;
		}
	return options_bad_value(options, "samples, tasks or full");
}

static int set_rate(const struct options *options, void *to)
{
	uint64_t number;

	if (!options_number(options, &number) || number > SAMPLER_HZ_MAX)
		return options_bad_value(options, "a number from 0 to 10000");
	*(uint32_t *)to = (uint32_t)number;
	return EXIT_OK;
}

static int set_policy(const struct options *options, void *to)
{
	static const char *const names[] = {"drop", "overwrite", "block"};

	for (unsigned i = UNWEAVE_POLICY_DROP; i <= UNWEAVE_POLICY_BLOCK; i++)
		if (strcmp(options->value, names[i]) == 0) {
			*(enum unweave_policy *)to = i;
			return EXIT_OK;
		}
	return options_bad_value(options, "drop, overwrite or block");
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

static int set_buffer(const struct options *options, void *to)
{
	return read_bytes(options->value, to) ? EXIT_OK
					      : options_bad_value(options, "a size such as 32M");
}

static int set_size(const struct options *options, void *to)
{
	uint64_t *bytes = to;

	return read_bytes(options->value, bytes) && *bytes
		       ? EXIT_OK
		       : options_bad_value(options, "a size such as 100M");
}

static int set_duration(const struct options *options, void *to)
{
	return read_seconds(options->value, to) ? EXIT_OK
						: options_bad_value(options, "a number of seconds");
}

/* Seconds, which are bounded by a size all the same; or a size, which has a unit. */
static int set_flight(const struct options *options, void *to)
{
	struct record_plan *plan = to;

	plan->flight_ns = 0;
	plan->flight_bytes = FLIGHT_BYTES_MAX;
	if (read_seconds(options->value, &plan->flight_ns) ||
	    (read_bytes(options->value, &plan->flight_bytes) &&
	     plan->flight_bytes >= FLIGHT_BYTES_MIN))
		return EXIT_OK;
	return options_bad_value(options, "30s, or a size such as 64M, at least 1M");
}

/* --with and --without; the last word on an adapter counts. */
static int set_adapters(const struct options *options, void *to)
{
	struct adapters_wish *wish = to;
	bool with = strcmp(options->name, "with") == 0;
	uint32_t named;

	if (!adapters_read(options->value, &named))
		return options_bad_value(options, "a list of " ADAPTERS_NAMES);
	*(with ? &wish->with : &wish->without) |= named;
	*(with ? &wish->without : &wish->with) &= ~named;
	return EXIT_OK;
}

static int run(struct options *options)
{
	struct record_plan plan = {.output = DEFAULT_OUTPUT, .hz = SAMPLER_HZ_DEFAULT};
	struct diag diag = {.text = "out of memory"};
	int r;

	if (!options_read(options, &plan))
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

static const struct option_entry entries[] = {
	{'o', "output", "FILE", "the trace to write; " DEFAULT_OUTPUT " if not given",
	 OPTION_TEXT(struct record_plan, output)},
	{'p', "pid", "PID", "a running program, or what one left that died", set_pid,
	 offsetof(struct record_plan, pid)},
	{0, "detail", "LEVEL", "samples, tasks or full, which is the default", set_detail,
	 offsetof(struct record_plan, detail)},
	{'F', "frequency", "HZ", "CPU samples a second of each thread, 99 if not given; 0: none",
	 set_rate, offsetof(struct record_plan, hz)},
	{0, "wall", NULL, "sample threads that sleep, too", OPTION_FLAG(struct record_plan, wall)},
	{0, "timers", NULL, "sample by timers, never by perf events",
	 OPTION_FLAG(struct record_plan, timers)},
	{0, "no-symbols", NULL, "leave names to whoever reads the trace",
	 OPTION_FLAG(struct record_plan, no_symbols)},
	{0, "policy", "POLICY", "when buffers are full: drop, overwrite or block", set_policy,
	 offsetof(struct record_plan, policy)},
	{0, "buffer", "BYTES", "memory for the program's buffers, such as 32M", set_buffer,
	 offsetof(struct record_plan, buffer_bytes)},
	{0, "duration", "SECONDS", "stop after so long; the program goes on", set_duration,
	 offsetof(struct record_plan, duration_ns)},
	{0, "size", "BYTES", "stop when a trace is so large, such as 100M", set_size,
	 offsetof(struct record_plan, size_bytes)},
	{0, "flight", "LIMIT", "keep the last 30s or 64M; SIGUSR2, or the end, writes them",
	 set_flight, 0},
	{0, "no-children", NULL, "the command alone, not what it starts",
	 OPTION_FLAG(struct record_plan, no_children)},
	{0, "with", "NAMES", "adapters to load in any case: " ADAPTERS_NAMES, set_adapters,
	 offsetof(struct record_plan, adapters)},
	{0, "without", "NAMES", "adapters not to load, such as libuv,glib", set_adapters,
	 offsetof(struct record_plan, adapters)},
	{'q', "quiet", NULL, "no words about what was recorded",
	 OPTION_FLAG(struct record_plan, quiet)},
	{0},
};

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

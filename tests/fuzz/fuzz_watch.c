/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes at all as a trace that is watched, at moments to and fro, with all that a screen asks
 * for, and all nine warnings, with limits that are soon exceeded: that must end, the sums must be
 * those of the rows, and each warning one that can be said. As they are, and with checksums made
 * right.
 */
#include <stdio.h>

#include "trace_file.h"
#include "watch/lint.h"
#include "watch/watch.h"

#define ROWS 8u
#define LIMITS                                                                                     \
	"deadlock=1ns,lost-wake=1ns,endless=1ns,run=1ns,queue=1ns,wait=1ns,empty-runs=1,"          \
	"self-wakes=1,leak=1"

static int note_cycle(void *data, const uint64_t *tasks, uint32_t count)
{
	(void)data;
	must(tasks[0] && count);
	return 0;
}

static void check_sums(struct watch *watch)
{
	const struct watch_totals *totals = watch_totals(watch);
	uint64_t of_states = 0, of_sites = 0;

	for (uint32_t i = 0; i < WATCH_STATES; i++)
		of_states += totals->states[i];
	for (uint32_t i = 0; i < watch_site_count(watch); i++)
		of_sites += watch_site_at(watch, i)->alive;
	must(of_states == totals->alive && of_sites == totals->alive);
	must(watch_task_count(watch) == totals->alive);
	for (uint32_t i = 0; i < watch_task_count(watch); i++)
		must(watch_task_find(watch, watch_task_at(watch, i)->id) ==
		     watch_task_at(watch, i));
}

static void ask(struct watch *watch, unsigned order)
{
	static struct watch_row rows[ROWS];
	struct watch_query query = {.order = order / 2, .ascending = order % 2, .group = order % 3};
	struct watch_found found;
	struct watch_wait waits[ROWS];
	int count = watch_select(watch, &query, 0, ROWS, rows, &found);
	uint64_t at;

	must(count >= 0 && found.tasks == watch_totals(watch)->alive);
	if (count > 0 && query.group == WATCH_NO_GROUP)
		must(watch_where(watch, &query, rows[count - 1].task.id, &at) == 0 &&
		     at == (uint64_t)count - 1);
	must(watch_waits_on(watch, order % WATCH_KINDS, ROWS, waits) >= 0);
	must(watch_cycles(watch, note_cycle, NULL) == 0);
	if (count > 0 && order == 9 && watch_choose(watch, rows[0].task.id) == 0)
		watch_detail(watch);
}

/* Each is over its limit, the worst kind first, and has words. */
static void check_warnings(struct watch_lint *lint)
{
	static FILE *nowhere;
	enum lint_kind kind = 0;

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	must(nowhere && watch_lint_refresh(lint) == 0);
	for (uint32_t i = 0; i < watch_lint_count(lint); i++) {
		const struct lint_warning *warning = &watch_lint_at(lint, i)->lint;

		must(warning->kind >= kind && warning->kind < LINT_KINDS);
		must(warning->worst >= warning->limit && warning->count);
		must(warning->task_count <= LINT_TASKS);
		lint_say(nowhere, warning);
		kind = warning->kind;
	}
}

static void watch_trace(const char *path)
{
	struct watch *watch = NULL;
	struct watch_lint *lint = NULL;
	struct lint_limits limits;
	uint64_t first, span;

	if (watch_new_trace(&watch, path, NULL) < 0)
		return;
	lint_limits_init(&limits);
	must(lint_limits_set(&limits, LIMITS, NULL) == 0);
	/* What a trace of which a part can be read does not have is no fault of the warnings. */
	watch_lint_new(&lint, watch, &limits, path, NULL);
	first = watch_totals(watch)->first;
	span = watch_totals(watch)->last - first;
	for (unsigned i = 0; i < 2 * WATCH_COLUMNS; i++) {
		check_sums(watch);
		if (lint)
			check_warnings(lint);
		ask(watch, i);
		if (i % 10 == 0 && watch_seek(watch, first + span / 16 * (i * 7 % 16), NULL) < 0)
			break;
	}
	watch_lint_free(lint);
	watch_free(watch);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	watch_trace(trace_file(bytes, length));
	watch_trace(trace_file_repaired(bytes, length));
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes at all as a trace that is watched, at moments to and fro, with all that a screen asks
 * for, and all nine warnings, with limits that are soon exceeded: that must end, the sums must be
 * those of the rows, and each warning one that can be said. As they are, and with checksums made
 * right.
 */
#include "trace_file.h"
#include "watching.h"

#define ROWS 8u

static int note_cycle(void *data, const uint64_t *tasks, uint32_t count)
{
	(void)data;
	must(tasks[0] && count);
	return 0;
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

static void watch_trace(const char *path)
{
	struct watch *watch = NULL;
	struct watch_lint *lint = NULL;
	uint64_t first, span;

	if (watch_new_trace(&watch, path, NULL) < 0)
		return;
	/* What a trace of which a part can be read does not have is no fault of the warnings. */
	watching_warnings(&lint, watch, path);
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

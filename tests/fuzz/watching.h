/* SPDX-License-Identifier: Apache-2.0 */
/* What must be true of a watch, and of its warnings, whatever it was made from. */
#ifndef TESTS_WATCHING_H
#define TESTS_WATCHING_H

#include <stdio.h>

#include "fuzz.h"
#include "watch/lint.h"
#include "watch/watch.h"

/* Limits that are soon exceeded, so that all nine warnings come up. */
#define WATCHING_LIMITS                                                                            \
	"deadlock=1ns,lost-wake=1ns,endless=1ns,run=1ns,queue=1ns,wait=1ns,empty-runs=1,"          \
	"self-wakes=1,leak=1"

/* Those with `path`, of that trace. */
static inline int watching_warnings(struct watch_lint **ret, struct watch *watch, const char *path)
{
	struct lint_limits limits;

	lint_limits_init(&limits);
	must(lint_limits_set(&limits, WATCHING_LIMITS, NULL) == 0);
	return watch_lint_new(ret, watch, &limits, path, NULL);
}

static inline void check_sums(struct watch *watch)
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

/* Each is over its limit, the worst kind first, and has words. */
static inline void check_warnings(struct watch_lint *lint)
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

#endif /* TESTS_WATCHING_H */

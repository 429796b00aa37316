/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warnings of what is watched: of a living program, as they come up; of a trace, those of
 * all of it. view/lint.h has the rules.
 */
#ifndef WATCH_LINT_H
#define WATCH_LINT_H

#include "view/lint.h"
#include "watch/native.h"
#include "watch/watch.h"

#define WATCH_LINT_STACK 64u

struct watch_warning {
	struct lint_warning lint;
	/* The logical stack of the worst, innermost first: addresses, as far as it is known. */
	uint64_t stack[WATCH_LINT_STACK];
	uint32_t stack_count;
	char kernel[NATIVE_KERNEL]; /* function of the kernel that its thread slept in; or "" */
};

struct watch_lint;

/*
 * Taps `watch`, which must stay. `path` is the trace that is watched, else NULL. Returns -ENOMEM,
 * or why the trace cannot be read.
 */
int watch_lint_new(struct watch_lint **ret, struct watch *watch, const struct lint_limits *limits,
		   const char *path, struct diag *diag);
/* Before the watch is freed. */
struct watch_lint *watch_lint_free(struct watch_lint *lint);

/* After watch_listen(): what was seen of events counts no more. -ENOMEM. */
int watch_lint_renew(struct watch_lint *lint);

/* After each watch_pass(): looks at runs that take long while they do. */
void watch_lint_pass(struct watch_lint *lint);

/*
 * After each watch_refresh() or watch_seek(): finds the warnings, and tells the picture which tasks
 * have some: bits, 1 << enum lint_kind. -ENOMEM.
 */
int watch_lint_refresh(struct watch_lint *lint);

/* The worst first; until the next watch_lint_refresh(). */
uint32_t watch_lint_count(const struct watch_lint *lint);
const struct watch_warning *watch_lint_at(const struct watch_lint *lint, uint32_t index);

#endif /* WATCH_LINT_H */

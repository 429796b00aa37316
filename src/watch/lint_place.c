/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the warnings of a living program are. Its events tell no stacks here: chains, and the
 * native stacks of threads that sleep, are read from its memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arena/clock.h"
#include "snapshot/snapshot.h"
#include "util/grow.h"
#include "watch/lint_parts.h"

#define TRIES 100
#define MATCH_NS (NS_PER_S / 100) /* clocks are not turned into ns by the same figures */

/* What awaits what in a task now. Returns whether it ran meanwhile: what runs is missing then. */
static bool read_chain(const struct watch_lint *lint, uint64_t task, struct sighting *ret)
{
	const struct snapshot_task *one;
	struct snapshot snapshot;
	bool ran;

	ret->chain_count = 0;
	if (!table_index(task) || snapshot_take_task(&snapshot, lint->watch->attachment, task) < 0)
		return false;
	one = snapshot.count && snapshot.tasks[0].chain_known ? &snapshot.tasks[0] : NULL;
	for (uint32_t i = 0; one && i < one->chain_count; i++) {
		const struct snapshot_frame *frame = &snapshot.frames[one->chain + i];

		if (frame->omitted || ret->chain_count == WATCH_LINT_STACK)
			continue;
		ret->chain[ret->chain_count] = frame->address;
		ret->states[ret->chain_count++] = frame->state;
	}
	ran = snapshot.count && snapshot.tasks[0].task.head &&
	      snapshot.tasks[0].rest != SNAPSHOT_AT_REST;
	snapshot_fini(&snapshot);
	return ran;
}

/* Of one that runs again and again it takes some tries to see where it waits. */
static void read_chain_at_rest(const struct watch_lint *lint, uint64_t task, struct sighting *ret)
{
	for (int i = 0; i < TRIES && read_chain(lint, task, ret); i++)
		;
}

static struct sighting *find_sighting(struct watch_lint *lint, uint64_t task, uint64_t start)
{
	for (uint32_t i = 0; i < SIGHTINGS; i++) {
		struct sighting *seen = &lint->sightings[i];
		uint64_t apart = seen->start > start ? seen->start - start : start - seen->start;

		if (seen->task == task && apart < MATCH_NS)
			return seen;
	}
	return NULL;
}

static struct sighting *sight(struct watch_lint *lint, uint64_t task, uint64_t resumed,
			      uint32_t tid)
{
	struct watch *watch = lint->watch;
	struct sighting *seen = &lint->sightings[lint->sighting_next++ % SIGHTINGS];

	*seen = (struct sighting){.task = task, .resumed = resumed};
	read_chain(lint, task, seen);
	native_look(&seen->native, watch->attachment, tid, lint->unwinder);
	return seen;
}

/* Until the program runs on, what is seen of a run is true of it. */
static bool still_runs(const struct arena_line *line, uint32_t depth, uint64_t task,
		       uint64_t resumed)
{
	return __atomic_load_n(&line->nest.tasks[depth], __ATOMIC_ACQUIRE) == task &&
	       __atomic_load_n(&line->nest.resumed[depth], __ATOMIC_RELAXED) == resumed;
}

static bool was_sighted(const struct watch_lint *lint, uint64_t task, uint64_t resumed)
{
	for (uint32_t i = 0; i < SIGHTINGS; i++)
		if (lint->sightings[i].task == task && lint->sightings[i].resumed == resumed)
			return true;
	return false;
}

static void look_at_line(struct watch_lint *lint, const struct arena_line *line, uint64_t ticks,
			 uint64_t raw)
{
	uint64_t limit = lint->lints.limits.at[LINT_RUN], task, resumed, passed;
	struct watch *watch = lint->watch;
	struct sighting *seen;
	uint32_t depth = 0;

	while (depth + 1 < UNWEAVE_PRIV_NEST && line->nest.tasks[depth + 1])
		depth++;
	task = line->nest.tasks[depth];
	resumed = line->nest.resumed[depth];
	if (!task || !resumed || resumed > ticks || was_sighted(lint, task, resumed))
		return;
	passed = (uint64_t)((unsigned __int128)(ticks - resumed) * NS_PER_S / watch->ticks_per_s);
	if (passed < limit)
		return;
	seen = sight(lint, task, resumed, atomic_load(&line->tid));
	seen->start = raw - passed;
	if (!still_runs(line, depth, task, resumed))
		seen->task = 0;
}

void watch_lint_pass(struct watch_lint *lint)
{
	struct watch *watch = lint->watch;
	struct arena_line *lines;
	struct clock_moment now;
	uint64_t revision;

	if (!watch->recorder || watch->totals.over || lint->lints.limits.at[LINT_RUN] == LINT_OFF)
		return;
	lines = arena_lines(watch->attachment->control);
	now = clock_measure(watch->attachment->clock);
	revision =
		__atomic_load_n(&watch->attachment->control->config.hot.gate, __ATOMIC_RELAXED) >>
		8;
	for (uint32_t i = 0; i < ARENA_LINES; i++)
		/* The nest of another session says nothing of now. */
		if (atomic_load(&lines[i].state) == ARENA_LINE_LIVE &&
		    atomic_load(&lines[i].revision) == revision)
			look_at_line(lint, &lines[i], now.ticks, now.raw);
}

/* The thread that an unheard run is on, also where that is the only one that there is; 0: unknown.
 */
static uint32_t thread_of_unheard(const struct watch *watch, uint64_t task)
{
	const struct unheard *unheard = unheard_task(watch, task);
	char path[32];
	struct stat st;

	if (unheard && unheard->tid)
		return unheard->inner ? unheard->tid : 0;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", watch->attachment->pid);
	/* Itself, what is above it, and one for each thread. */
	return stat(path, &st) == 0 && st.st_nlink == 3 ? watch->attachment->pid : 0;
}

/* Whether it waits for something to do: a loop inside of a run. */
static bool is_polling(const struct native *native)
{
	return native->asleep && (!native->kernel[0] || strstr(native->kernel, "poll") ||
				  strstr(native->kernel, "select"));
}

uint64_t lint_unheard_ns(struct watch_lint *lint, const struct watch_task *task)
{
	struct watch *watch = lint->watch;
	struct sighting *seen = find_sighting(lint, task->id, watch->totals.first);
	bool alive = watch->attachment && !watch->totals.over;
	uint32_t tid = alive ? thread_of_unheard(watch, task->id) : 0;

	if (alive ? !tid : !seen)
		return 0;
	if (!seen) {
		seen = sight(lint, task->id, 0, tid);
		seen->start = watch->totals.first;
	}
	return is_polling(&seen->native) ? 0 : watch_passed(watch->totals.first, watch->totals.now);
}

static uint64_t start_of(struct symbols *symbols, uint64_t address)
{
	return symbols_find(symbols, address)->start;
}

/* How many native frames are inside of the function that the chain says runs; all, if none is. */
static uint32_t count_inside(const struct watch_lint *lint, const struct native *native,
			     const uint64_t *chain, uint32_t chain_count)
{
	struct symbols *symbols = lint->lints.symbols;
	uint64_t runs = chain_count && symbols ? start_of(symbols, chain[0]) : 0;

	for (uint32_t i = 0; runs && i < native->count; i++)
		if (start_of(symbols, native->frames[i]) == runs)
			return i;
	return native->count;
}

/* The logical stack, as a node of the tree: the chain, and in it what the thread was in. 0: none.
 */
static uint32_t plant(struct watch_lint *lint, const struct sighting *seen)
{
	const struct native *native = &seen->native;
	uint32_t inside = count_inside(lint, native, seen->chain, seen->chain_count), node = 0;

	/* Where the two do not meet, the native one is what is known for certain. */
	for (uint32_t i = seen->chain_count; i && (inside < native->count || !inside); i--)
		node = tree_child(lint->tree, node, seen->chain[i - 1], seen->states[i - 1],
				  SPLICE_AWAIT);
	for (uint32_t i = inside; i; i--)
		node = tree_child(lint->tree, node, native->frames[i - 1], 0, SPLICE_NATIVE);
	return node;
}

/* The same warning at the last picture; NULL: there was none. */
static const struct watch_warning *told_before(const struct watch_lint *lint,
					       const struct lint_warning *warning)
{
	for (uint32_t i = 0; i < lint->told_count; i++)
		if (lint->told[i].lint.kind == warning->kind &&
		    lint->told[i].lint.worst_task == warning->worst_task)
			return &lint->told[i];
	return NULL;
}

/* A program that has ended has no memory to look at: what was seen while it lived. */
static bool keep_place(const struct watch_lint *lint, struct lint_warning *warning, char *kernel)
{
	const struct watch_warning *before =
		lint->watch->totals.over ? told_before(lint, warning) : NULL;

	if (!before)
		return false;
	warning->stack = before->lint.stack;
	warning->how = before->lint.how;
	memcpy(kernel, before->kernel, NATIVE_KERNEL);
	return true;
}

/* What was seen of the worst while it was so, or can be seen now. */
static void find_stack(struct watch_lint *lint, struct lint_warning *warning, struct sighting *ret)
{
	bool run = warning->kind == LINT_RUN || warning->kind == LINT_ENDLESS;
	const struct sighting *seen =
		run ? find_sighting(lint, warning->worst_task, warning->time) : NULL;

	*ret = seen ? *seen : (struct sighting){0};
	if (seen && (seen->resumed || seen->native.count))
		warning->how = "in";
	else if (lint->watch->totals.over)
		return;
	else if (warning->kind == LINT_ENDLESS)
		read_chain(lint, warning->worst_task, ret);
	else if (warning->kind != LINT_RUN)
		read_chain_at_rest(lint, warning->worst_task, ret);
}

int lint_find_places(struct watch_lint *lint)
{
	struct lints *lints = &lint->lints;
	struct sighting found;

	for (uint32_t i = 0; i < lints->count && i < LINT_TOLD_MOST; i++) {
		if (keep_place(lint, &lints->at[i], lint->kernels[i]))
			continue;
		find_stack(lint, &lints->at[i], &found);
		lints->at[i].stack = plant(lint, &found);
		memcpy(lint->kernels[i], found.native.kernel, NATIVE_KERNEL);
	}
	return lints->symbols ? lints_locate(lints, lint->tree) : 0;
}

static const char *thread_name(const struct watch *watch, uint32_t number)
{
	for (uint32_t i = 0; number && i < watch_thread_count(watch); i++)
		if (watch_thread_at(watch, i)->thread == number)
			return watch_thread_at(watch, i)->name;
	return NULL;
}

static void take_stack(const struct tree *tree, struct watch_warning *told)
{
	for (uint32_t at = told->lint.stack; at && told->stack_count < WATCH_LINT_STACK;
	     at = tree_at(tree, at)->parent)
		if (tree_at(tree, at)->kind != SPLICE_OMITTED)
			told->stack[told->stack_count++] = tree_at(tree, at)->address;
}

int lint_tell_all(struct watch_lint *lint, const struct tree *tree)
{
	lint->told_count = 0;
	for (uint32_t i = 0; i < lint->lints.count && i < LINT_TOLD_MOST; i++) {
		struct watch_warning *told =
			grow(lint->told, lint->told_count, &lint->told_capacity, 16, sizeof(*told));

		if (!told)
			return -ENOMEM;
		lint->told = told;
		told += lint->told_count++;
		*told = (struct watch_warning){.lint = lint->lints.at[i]};
		told->lint.thread_name = thread_name(lint->watch, told->lint.thread);
		memcpy(told->kernel, lint->kernels[i], NATIVE_KERNEL);
		take_stack(tree, told);
	}
	return 0;
}

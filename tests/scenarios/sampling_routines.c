/* SPDX-License-Identifier: Apache-2.0 */
#include "sampling_routines.h"

#include <stdlib.h>
#include <string.h>

#include "sampling_stage.h"
#include "unweave/routine.h"

#define CODE 0x3000
#define DEPTH_MOST 5u
#define WAITING_MOST 32u

struct co {
	struct unweave_routine routine;
	struct co *awaiter;
	uint32_t depth;
	bool generator;
};

static struct co *handed_over;
static __thread struct co *waiting[WAITING_MOST];
static __thread uint32_t waiting_count;
static __thread struct picture outer; /* what runs outside of the place that this is in */
static __thread struct co *transfer;  /* where control goes next, instead of returning */
static __thread bool came_back;       /* a child is done, and returned to who started it */
/* One that was just started, and so may return to who did that. */
static __thread const struct co *started;
static __thread uint32_t dice;

static uint32_t roll(void)
{
	dice = dice * 1664525 + 1013904223;
	return dice >> 20;
}

static int go(struct unweave_link *link, void *context);

static struct co *new_co(struct co *awaiter)
{
	struct co *co = calloc(1, sizeof(*co));

	if (!co)
		abort();
	co->awaiter = awaiter;
	co->depth = awaiter ? awaiter->depth + 1 : 1;
	unweave_routine_init(&co->routine, go, (const void *)(uintptr_t)(CODE + 16 * co->depth), 0);
	return co;
}

/* Whoever looks at a frame that is gone is to fall over it. */
static void free_co(struct co *co)
{
	memset(co, 0xdd, sizeof(*co));
	free(co);
}

/* What is shown while it runs: its own line is not known. */
static struct picture running(const struct co *co)
{
	struct picture picture = {.task = unweave_routine_task(&co->routine)};

	for (const struct co *at = co; at; at = at->awaiter)
		add_frame(&picture, &at->routine.link);
	picture.states[0] = UNWEAVE_STATE_LINE;
	return picture;
}

/* Which is so after a moment in which the line is still there. */
static void will_run(const struct co *co)
{
	struct picture after = running(co), before = after;

	before.states[0] = co->routine.link.state;
	will_be(&before);
	will_be(&after);
}

static void run(struct co *co)
{
	struct picture outside = outer;

	outer = now();
	will_run(co);
	unweave_routine_run(&co->routine, NULL, 0);
	is_now();
	outer = outside;
}

static uint32_t line(void)
{
	return 1 + roll() % 100;
}

static void wait_here(struct co *co)
{
	will_be(&outer);
	unweave_routine_suspend(&co->routine, line());
	is_now();
}

/* To this thread, or to any. */
static void keep(struct co *co)
{
	struct co *none = NULL;

	if (roll() % 4 == 0 && __atomic_compare_exchange_n(&handed_over, &none, co, false,
							   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	if (waiting_count == WAITING_MOST)
		abort();
	waiting[waiting_count++] = co;
}

static struct co *take(void)
{
	struct co *co = __atomic_exchange_n(&handed_over, NULL, __ATOMIC_ACQ_REL);

	return co || !waiting_count ? co : waiting[--waiting_count];
}

static void call(struct co *co)
{
	struct picture after;

	transfer = new_co(co);
	unweave_routine_call(&co->routine, &transfer->routine, line());
	after = running(transfer);
	will_be(&after);
	unweave_routine_switch(&transfer->routine);
	is_now();
}

/* Inside of the wait. Returns whether it goes on at once. */
static bool start(struct co *co)
{
	struct co *child = new_co(co);
	struct picture after;

	unweave_routine_call(&co->routine, &child->routine, line());
	after = running(child);
	will_be(&after);
	came_back = false;
	started = child;
	unweave_routine_run(&child->routine, NULL, 0);
	is_now();
	if (!came_back)
		return false;
	came_back = false;
	unweave_routine_resumed(&co->routine);
	return true;
}

static void generate(struct co *co)
{
	struct picture before = now(), inside;
	struct co *generator = new_co(NULL);

	generator->generator = true;
	generator->routine.flags = UNWEAVE_ROUTINE_GENERATOR;
	generator->awaiter = co;
	inside = running(generator);
	inside.task = before.task;
	will_be(&inside);
	unweave_routine_run(&generator->routine, NULL, 0);
	is_now();
	generator->awaiter = NULL;
	unweave_routine_drop(&generator->routine);
	free_co(generator);
}

static void switch_to(struct co *co, struct co *other)
{
	struct picture after = running(other);

	wait_here(co);
	keep(co);
	will_be(&after);
	unweave_routine_switch(&other->routine);
	is_now();
	transfer = other;
}

/* It is done; `back`: it returns to who started it inside of a wait. */
static void end(struct co *co, bool back)
{
	struct co *awaiter = co->awaiter;
	struct picture after;

	if (!awaiter)
		will_be(&outer);
	unweave_routine_complete(&co->routine, UNWEAVE_OK);
	if (!awaiter) {
		is_now();
	} else {
		after = running(awaiter);
		will_be(&after);
		if (back) {
			came_back = true;
		} else {
			unweave_routine_switch(&awaiter->routine);
			is_now();
			transfer = awaiter;
		}
	}
	unweave_routine_drop(&co->routine);
	free_co(co);
}

static void body(struct co *co)
{
	bool goes_on = true;

	is_now();
	if (co->generator) {
		/* Back to whom it runs for. */
		struct picture after = running(co->awaiter);

		will_be(&after);
		return;
	}
	while (goes_on) {
		const struct co *mine = started;
		struct co *other;

		started = NULL;
		goes_on = false;
		switch (roll() % 8) {
		case 0:
		case 1:
			if (co->depth < DEPTH_MOST) {
				call(co);
				break;
			}
			/* fall through */
		case 2:
			if (waiting_count < WAITING_MOST - 1) {
				wait_here(co);
				keep(co);
				break;
			}
			/* fall through */
		case 3:
			generate(co);
			goes_on = true;
			break;
		case 4:
			if (co->depth < DEPTH_MOST) {
				goes_on = start(co);
				break;
			}
			/* fall through */
		case 5:
			other = waiting_count < WAITING_MOST - 1 ? take() : NULL;
			if (other) {
				switch_to(co, other);
				break;
			}
			/* fall through */
		default:
			end(co, mine == co);
			break;
		}
	}
}

static int go(struct unweave_link *link, void *context)
{
	struct co *co = (struct co *)link;

	(void)context;
	while (co) {
		transfer = NULL;
		body(co);
		co = transfer;
	}
	return 0;
}

void routines_run(uint32_t first_dice)
{
	struct co *co = new_co(NULL);

	if (!dice)
		dice = first_dice;
	/* It gets its number before its first run, as one that began in its caller's place. */
	unweave_routine_suspend(&co->routine, line());
	run(co);
}

bool routines_run_waiting(void)
{
	struct co *co = take();

	if (co)
		run(co);
	return co != NULL;
}

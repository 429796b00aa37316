/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor's boxes. What they know of each other changes under the lock,
 * together with the call that tells the recorder and with the oracle's word for it;
 * the functions themselves run without.
 */
#include "random.h"

#include <stdlib.h>
#include <string.h>

#define DEEPEST 900u /* frames: a longer stack does not fit a record */

static int box_go(struct unweave_link *link, void *context);

static void lock(void)
{
	pthread_mutex_lock(&self->world->lock);
}

static void unlock(void)
{
	pthread_mutex_unlock(&self->world->lock);
}

static struct box *done_box(uint32_t choice)
{
	struct world *world = self->world;

	for (uint32_t i = 0; i < world->box_count; i++) {
		struct box *box = world->boxes[(choice + i) % world->box_count];

		if (box->state == BOX_DONE)
			return box;
	}
	return NULL;
}

struct box *box_new(uint32_t choice, uint32_t site)
{
	struct world *world = self->world;
	struct box *box = choice % 2 ? done_box(choice) : NULL;

	if (!box) {
		if (world->box_count == sizeof(world->boxes) / sizeof(world->boxes[0]))
			return NULL;
		box = calloc(1, sizeof(*box));
		if (!box)
			abort();
		world->boxes[world->box_count++] = box;
	}
	memset(box, 0, sizeof(*box));
	box->address = choice % 5 ? address_of(choice) : (uintptr_t)box_go;
	box->queues = choice / 16 % 4 == 0;
	unweave_box_init(&box->box, box_go,
			 choice % 5 ? (const void *)(uintptr_t)address_of(choice) : NULL,
			 (struct unweave_site *)site_of(site));
	return box;
}

void boxes_free(struct world *world)
{
	for (struct box_task *task; (task = world->box_tasks);) {
		world->box_tasks = task->all;
		if (!task->dead)
			unweave_task_complete(task->id, UNWEAVE_CANCELLED);
		known_fini(&task->known);
		free(task);
	}
	for (uint32_t i = 0; i < world->box_count; i++)
		free(world->boxes[i]);
}

/* It will wait for something outside. */
static void suspend(struct box *box)
{
	if (box->own) {
		saw_stop(box);
		unweave_box_suspend(&box->box);
	} else {
		unweave_box_suspend(&box->box);
		saw_box_create(box);
		saw_stop(box);
	}
}

/* Whether `box` is waited for by `from`, or something on the way is in no state to be awaited. */
static bool is_barred(const struct box *box, struct box *from, uint32_t search)
{
	if (from == box || from->state == BOX_STARTING || (from->state == BOX_RUNS && from->left) ||
	    from->pending < from->await_count || (from->within && from->within->ending))
		return true;
	if (from->looked_at == search)
		return false;
	from->looked_at = search;
	if ((from->own && from->own->known.count > DEEPEST / 2) ||
	    (from->within && from->within->known.count > DEEPEST / 2))
		return true;
	for (uint32_t i = 0; i < from->await_count; i++)
		if (is_barred(box, from->awaits[i], search))
			return true;
	return false;
}

/*
 * Whether `box`, which runs, may await `child`: it must not wait for itself, nor
 * what it tells race with a chain that is told elsewhere just now. A run that ends
 * without a time is over for a reader when the thread said something last.
 */
static bool may_await(const struct box *box, struct box *child)
{
	struct known_chain chain = box_chain(box);
	bool fits = chain.count < DEEPEST / 2;

	known_fini(&chain);
	return fits && child->awaiter_count < AWAITERS_MAX &&
	       !is_barred(box, child, ++self->world->searches);
}

static void box_goes_on(struct box *box, const struct box *child, unsigned flags);

/* A child that is known to be done; or that is found to be, by a box that waits already. */
static bool await_done(struct box *box, struct box *child, bool known)
{
	if (known) {
		saw_late(box, child);
		unweave_box_await_late(&box->box, &child->box);
		return false;
	}
	saw_stop(box);
	if (box->own)
		box->own->stale = true;
	saw_late(box, child);
	unweave_box_await(&box->box, &child->box);
	box->state = BOX_STARTING;
	return true;
}

static void await_open(struct box *box, struct box **children, uint32_t count)
{
	box->await_count = box->pending = 0;
	if (box->queues)
		suspend(box);
	for (uint32_t i = 0; i < count; i++) {
		self->world->awaited_elsewhere +=
			children[i]->state == BOX_RUNS && children[i]->on != self;
		saw_await(box, children[i]);
		unweave_box_await(&box->box, &children[i]->box);
	}
	self->world->awaited_several += count > 1;
}

/* Those that are done are awaited late. True if the function is to return. */
static bool box_awaits(struct box *box, struct box **children, uint32_t count, const struct op *op)
{
	struct box *open[AWAITS_MAX], *done = NULL;
	uint32_t waits = 0;
	bool over = false;

	lock();
	for (uint32_t i = 0; i < count; i++)
		if (may_await(box, children[i]) && children[i]->state != BOX_DONE &&
		    (!waits || children[i] != open[0]) && (waits < 2 || children[i] != open[1]))
			open[waits++] = children[i];
	box->box.link.state = state_of(op->c);
	for (uint32_t i = 0; i < count && !over; i++) {
		if (children[i]->state != BOX_DONE || children[i] == box)
			continue;
		done = children[i];
		over = await_done(box, done, waits || op->c / 8 % 4);
	}
	if (waits)
		await_open(box, open, waits);
	unlock();
	if (over)
		box_goes_on(box, done, 0);
	return over || waits;
}

/* Mostly one of the last that were made. */
static struct box *some_box(uint32_t choice, bool recent)
{
	struct world *world = self->world;

	return recent ? world->boxes[world->box_count - 1 - choice % 4 % world->box_count]
		      : world->boxes[choice % world->box_count];
}

bool box_await_some(struct box *box, const struct op *op)
{
	uint32_t count = op->b / 4 % 4 ? 1 : 1 + op->b / 16 % AWAITS_MAX;
	struct box *children[AWAITS_MAX];

	lock();
	for (uint32_t i = 0; i < count; i++)
		children[i] = some_box(op->a >> 2 * i, op->b % 4);
	unlock();
	return box_awaits(box, children, count, op);
}

/* It goes on by the list, whether or not what it watches is done. */
static void watch_some(struct box *box, const struct op *op)
{
	for (uint32_t i = 0; i < op->b / 4 % 4; i++) {
		struct box *child = some_box(op->a >> 2 * i, op->b % 4);
		struct box_task *task = child->own ? child->own : child->within;

		if (child->state == BOX_DONE || !may_await(box, child))
			continue;
		saw_joined(box, task, false);
		unweave_box_watch(&box->box, &child->box);
	}
}

static void box_waits(struct box *box, const struct op *op)
{
	lock();
	box->box.link.state = state_of(op->c);
	suspend(box);
	if (op->c / 8 % 4 == 0)
		watch_some(box, op);
	box->state = BOX_WAITS;
	make_ready(self->world, READY_BOX, box);
	unlock();
}

/* Runs a box as a task, or goes on with it in the run of `child`. */
static void box_goes_on(struct box *box, const struct box *child, unsigned flags)
{
	struct run *run = box_run_here();
	uint32_t depth = self->run_count;

	box->inside = child && run && run->completed == child && run->next == box && !box->own;
	box->left = flags & UNWEAVE_RUN_LEAVE;
	if (box->inside) {
		unweave_box_continue(&box->box, &child->box);
		return;
	}
	if (child)
		unweave_box_continue(&box->box, &child->box);
	else
		unweave_box_run(&box->box, flags);
	run = &self->runs[depth];
	lock();
	if (!run->ended)
		saw_run_end(run);
	unlock();
	self->run_count = depth;
}

/* Takes the awaiters of a box that is done. Those that waited for the last are queued, or `ret`. */
static uint32_t release(struct box *box, struct box **ret)
{
	uint32_t here = 0;

	for (uint32_t i = 0; i < box->awaiter_count; i++) {
		struct box *awaiter = box->awaiters[i];

		if (--awaiter->pending)
			continue;
		awaiter->await_count = 0;
		if (awaiter->queues) {
			awaiter->state = BOX_QUEUED;
			make_ready(self->world, READY_BOX, awaiter);
		} else {
			awaiter->state = BOX_STARTING;
			ret[here++] = awaiter;
		}
	}
	box->awaiter_count = 0;
	return here;
}

static void box_ends(struct box *box, enum unweave_status status)
{
	struct box *here[AWAITERS_MAX];
	uint32_t count;

	lock();
	saw_box_end(box, status);
	unweave_box_complete(&box->box, status);
	count = release(box, here);
	box->state = BOX_DONE;
	unlock();
	for (uint32_t i = 0; i < count; i++)
		box_goes_on(here[i], box, 0);
}

void box_cancel(struct box *box, const struct op *op)
{
	if (box->state == BOX_WAITS) {
		box_ends(box, op->b % 2 ? UNWEAVE_ERROR : UNWEAVE_CANCELLED);
		return;
	}
	lock();
	make_ready(self->world, READY_BOX, box);
	unlock();
}

void box_run_ready(struct box *box, const struct op *op)
{
	lock();
	box->state = BOX_STARTING;
	unlock();
	box_goes_on(box, NULL, op->b % 3 == 0 ? UNWEAVE_RUN_LEAVE : 0);
}

static struct box *call(uint32_t levels, uint32_t choice, uint32_t site)
{
	struct box *box;

	lock();
	box = box_new(choice, site);
	if (box) {
		box->eager = true;
		box->levels = levels;
		box->state = BOX_RUNS;
	}
	unlock();
	if (!box)
		return NULL;
	self->eager++;
	box->box.link.go(&box->box.link, NULL);
	self->eager--;
	return box;
}

void box_call(uint32_t levels, uint32_t choice, uint32_t site)
{
	call(levels, choice, site);
}

static void box_begins(struct box *box)
{
	bool eager = box->eager;

	lock();
	box->state = BOX_RUNS;
	box->on = self;
	box->eager = false;
	if (!eager && box->inside)
		saw_box_continue(box);
	else if (!eager)
		saw_box_begin(box);
	unlock();
}

static int box_go(struct unweave_link *link, void *context)
{
	struct box *box = (struct box *)link;
	struct scope scope = {.sort = SCOPE_BOX, .box = box};
	uint32_t levels = box->levels;
	enum outcome outcome;
	struct op op;

	(void)context;
	box->levels = 0;
	box_begins(box);
	if (levels) {
		struct box *child = call(levels - 1, levels * 7, levels);

		if (child && box_awaits(box, &child, 1, &(struct op){.c = levels}))
			return 0;
	}
	outcome = interpret(&scope, &op);
	if (outcome == OUTCOME_WAIT)
		box_waits(box, &op);
	else if (outcome == OUTCOME_RETURN)
		box_ends(box, UNWEAVE_OK);
	else if (outcome == OUTCOME_FAIL)
		box_ends(box, op.a % 3 ? UNWEAVE_ERROR : UNWEAVE_CANCELLED);
	return 0;
}

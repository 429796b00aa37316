/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks, up to their call: arming finds the cause and makes a task. */
#include "unweave/callback.h"

#include "emit/cause.h"
#include "emit/quick.h"

/* The task that runs here, and its site. */
static inline uint64_t current(const struct emit_thread *self, uint32_t *ret_site)
{
	const struct arena_task *slot;
	uint64_t task;

	*ret_site = 0;
	if (emit_unlikely(!self->hot.nest))
		return 0;
	task = emit_innermost(self->hot.nest);
	if (emit_unlikely(task & TABLE_LIGHT)) {
		*ret_site = table_light_site(task);
		return 0;
	}
	if (!task || !table_knows(self, task))
		return task;
	slot = table_slot(self, task);
	if (table_is(slot, task))
		*ret_site = table_get(slot->site);
	return task;
}

static __attribute__((noinline)) uint64_t arm(const char *kind, const void *code, const void *place,
					      unsigned flags)
{
	const struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();
	bool samples = (gate & UNWEAVE_PRIV_MODE_MASK) == UNWEAVE_PRIV_MODE_SAMPLES;
	struct cause *cause;
	uint32_t under;
	uint64_t parent;

	/* A session that the thread has not joined yet: what it arms next is armed inline. */
	if (emit_unlikely(samples && self->hot.nest && !unweave_priv_inline(gate, &self->hot)))
		emit_refresh();
	parent = current(self, &under);
	cause = cause_find(&(struct unweave_priv_way){kind, code, place, cause_how(under, flags)});
	if (samples && !flags && cause)
		return cause->seen.light;
	return unweave_task_new(cause ? &cause->is->site : NULL, UNWEAVE_MODEL_CHAIN, parent, NULL);
}

/*
 * The usual case: what is armed was armed before, and there is room for it. The clock is read
 * first: some processors wait there for all that comes before, and all else waits for memory. What
 * is not needed for a while is left in memory, so that no register has to be saved.
 */
uint64_t unweave_priv_arm(const char *kind, const void *code, const void *place, unsigned flags)
{
	struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();
	struct unweave_priv_way way = {kind, code, place, flags & UNWEAVE_STANDING};
	const struct unweave_priv_cause *cause;
	uint32_t under;
	uint64_t parent, *at;

	if (emit_unlikely(!is_quick(self, gate) || !begin(self, line_of(self), gate, 4, &at)))
		return arm(kind, code, place, (unsigned)way.how);
	stamp(at, RECORD_CREATE);
	parent = current(self, &under);
	way.how |= cause_how(under, 0);
	cause = cause_known(&way);
	if (emit_unlikely(!cause || !table_has(self))) {
		exit_quickly(self);
		return arm(kind, code, place, (unsigned)way.how & UNWEAVE_STANDING);
	}
	at = begun_at(line_of(self));
	return put_create(self, line_of(self), at,
			  &(struct table_birth){
				  .parent = parent,
				  .changed = record_ticks(__atomic_load_n(at, __ATOMIC_RELAXED)),
				  /* What it would be at detail `samples` says its site, too. */
				  .site = table_light_site(cause->light),
				  .model = UNWEAVE_MODEL_CHAIN,
			  });
}
_Static_assert(UNWEAVE_STANDING == UNWEAVE_SITE_STANDING, "the flag goes to the site");
_Static_assert((UNWEAVE_TASK_SPARE & (TABLE_MOST - 1) << 1) == 0 && UNWEAVE_MODEL_CHAIN == 0 &&
		       UNWEAVE_TASK_SPARE >> TABLE_GENERATION_SHIFT == 0,
	       "what a task's index leaves free, and its model");

uint64_t unweave_loop_open(const char *kind, const void *code, const void *place)
{
	return arm(kind, code, place, UNWEAVE_SITE_STANDING | UNWEAVE_SITE_LOOP);
}

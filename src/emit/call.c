/* SPDX-License-Identifier: Apache-2.0 */
/* The call of a callback: a run of its task, or of a new one, through an anchor. */
#include "emit/cause.h"
#include "emit/links.h"
#include "emit/quick.h"
#include "unweave/callback.h"

/* What a call means after which the thread goes straight on: see unweave_priv_call_means(). */
#define MEANS_STRAIGHT(end) ((unsigned)(end) | 1u << 16)

/* What is called, and as which callback. */
struct call {
	void *object, *context, *more;
	unweave_go go;
	uint64_t task;
	const void *code;
	enum unweave_call_end end;
	enum unweave_status status;
	bool straight_on;
};

static inline struct call call_of(void *object, void *context, void *more, unweave_go go,
				  uint64_t task, const void *code, unsigned means)
{
	return (struct call){
		.object = object,
		.context = context,
		.more = more,
		.go = go,
		.task = task,
		.code = code,
		.end = (enum unweave_call_end)(means & 0xff),
		.status = (enum unweave_status)(means >> 8 & 0xff),
		.straight_on = means >> 16,
	};
}

static inline int go_through_anchor(const struct call *call)
{
	return emit_first_anchor(call->object, call->context, call->more, call->go);
}

static struct unweave_site *site_of(struct cause *cause)
{
	return cause ? &cause->is->site : NULL;
}

/* The site of the calls of a standing task. */
static struct unweave_site *site_of_calls(uint64_t task, const void *code)
{
	const struct arena_task *slot = emit_table_slot(task);
	struct unweave_site *site = slot ? cause_fired(table_get(slot->site)) : NULL;

	/* Of one that a parent of this process armed, the callback is all that is known. */
	return site ? site
		    : site_of(cause_find(
			      &(struct unweave_priv_way){.code = code, .how = UNWEAVE_SITE_FIRED}));
}

static EMIT_COLD void say_due(uint64_t late)
{
	if (!unweave_priv_silent(unweave_priv_gate()))
		emit_slowly(&(struct emit_request){
			.kind = RECORD_DUE,
			.fields = 1,
			.keyword = UNWEAVE_KEYWORD_RESUME,
			.field = {late},
		});
}

static inline bool is_over(enum unweave_call_end end, int result)
{
	return end == UNWEAVE_CALL_ENDS || (end == UNWEAVE_CALL_ASKS && !result);
}

/* While nobody records: without an anchor. */
static LINKS_DISPATCH __attribute__((noinline)) int call_plainly(const struct call *call)
{
	int result = ((int (*)(void *, void *, void *))(void (*)(void))call->go)(
		call->object, call->context, call->more);

	if (is_over(call->end, result) && !unweave_priv_is_light(call->task))
		unweave_task_complete(call->task, call->status);
	return result;
}

/* Fills what is shown of the run. */
static inline void prepare(struct links_run *run, uint64_t task, const void *code)
{
	run->dispatch.task = task;
	run->dispatch.model = UNWEAVE_MODEL_CHAIN;
	run->dispatch.shown = 0;
	run->dispatch.views[0] = (struct unweave_priv_view){.code = code};
}

/* Of a run of `task` on the thread `self`. Returns `result`. */
static __attribute__((noinline)) int end_unrecorded(struct emit_thread *self, uint64_t task,
						    struct unweave_priv_dispatch *outer, int result)
{
	/* In a child of fork() the thread has another place, where none of this is. */
	if (emit_self() != self)
		return result;
	/* If a session began to record events meanwhile, it was told of this run by its replay. */
	unweave_task_suspend(task);
	links_take_in(outer, self->hot.nest);
	return result;
}

/*
 * Whether the run is the only one on this thread, as it was, and no session was told of it: not
 * one that records events, since the thread would have joined that.
 */
static inline bool is_as_before(const struct links_run *run, const struct unweave_priv_thread *self)
{
	return emit_likely(self == &run->self->hot && self->inline_gate) &&
	       emit_likely(self->nest->tasks[0] == run->dispatch.task && !self->nest->tasks[1]);
}

/*
 * A call that nothing is recorded of, and with which nothing ends. What is needed after it
 * is in `run`, where it has to be anyway, and not in registers that would be saved first.
 */
static inline __attribute__((always_inline)) int
call_unrecorded(void *object, void *context, void *more, unweave_go go, uint64_t task,
		const void *code, struct emit_thread *self,
		void (*push)(struct unweave_priv_nest *nest, uint64_t task))
{
	struct unweave_priv_nest *nest = self->hot.nest;
	struct links_run run;
	int result;

	run.self = self;
	prepare(&run, task, code);
	links_hang_out(&run, nest);
	push(nest, task);
	result = emit_first_anchor(object, context, more, go);
	self = emit_self();
	if (emit_unlikely(!is_as_before(&run, &self->hot)))
		return end_unrecorded(run.self, run.dispatch.task, run.dispatch.outer, result);
	nest = self->hot.nest;
	__atomic_store_n(&nest->tasks[0], 0, __ATOMIC_RELEASE);
	links_take_in(run.dispatch.outer, nest);
	return result;
}

/* Begins a task for this call alone: of a standing one, or of what was armed as a light one. */
static uint64_t begin_new(const struct call *call)
{
	bool light = unweave_priv_is_light(call->task);
	uint64_t parent = light ? 0 : call->task, task = 0;
	struct unweave_site *site = light ? site_of(cause_of(table_light_site(call->task)))
					  : site_of_calls(call->task, call->code);

	if (emit_likely(site && site->id))
		task = emit_new_running(emit_self(), unweave_priv_gate(), site->id, parent);
	if (emit_unlikely(!task)) {
		task = unweave_task_new(site, UNWEAVE_MODEL_CHAIN, parent, NULL);
		unweave_task_resume(task);
	}
	return task;
}

/* The number under which a call is seen at detail `samples`; 0: its task has one of its own. */
static inline uint64_t light_of(const struct call *call)
{
	struct unweave_site *site;

	if (emit_likely(unweave_priv_is_light(call->task)))
		return call->task;
	if (call->end != UNWEAVE_CALL_FIRES)
		return 0;
	site = site_of_calls(call->task, call->code);
	return site ? table_light(site->id) : 0;
}

/* The run of `task` is over, and so is the task unless it waits again. */
static inline void end_run(const struct call *call, uint64_t task, bool waits)
{
	if (waits)
		unweave_task_suspend(task);
	else if (!call->straight_on ||
		 !quick_end(emit_self(), unweave_priv_gate(), task, call->status))
		unweave_task_complete(task, call->status);
}

/* With whatever the session asks for. */
static LINKS_DISPATCH __attribute__((noinline)) int call_seen(const struct call *call,
							      uint64_t late)
{
	bool fires = call->end == UNWEAVE_CALL_FIRES || unweave_priv_is_light(call->task);
	struct links_run run;
	int result;

	if (emit_unlikely(late != 0))
		say_due(late);
	run.self = emit_self();
	/* Nobody is shown until there is a task. */
	prepare(&run, fires ? 0 : call->task, call->code);
	if (emit_likely(run.self->hot.nest != NULL))
		links_hang_out(&run, run.self->hot.nest);
	if (fires)
		run.dispatch.task = begin_new(call);
	else
		unweave_task_resume(call->task);
	result = go_through_anchor(call);
	end_run(call, run.dispatch.task, !fires && !is_over(call->end, result));
	/* In a child of fork() the thread has another place. */
	run.self = emit_self();
	links_end(&run);
	return result;
}

static LINKS_DISPATCH __attribute__((noinline)) int call_otherwise(void *object, void *context,
								   void *more, unweave_go go,
								   uint64_t task, const void *code,
								   uint64_t late, unsigned means)
{
	struct call call = call_of(object, context, more, go, task, code, means);
	struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();
	uint64_t light;

	if (unweave_priv_off(gate))
		return call_plainly(&call);
	if (unweave_priv_inline(gate, &self->hot)) {
		light = light_of(&call);
		if (emit_likely(light))
			return call_unrecorded(object, context, more, go, light, code, self,
					       unweave_priv_push);
	}
	/* A thread's first, or the first of a session: it is to be seen by samples as well. */
	if (emit_unlikely(self->hot.gate != gate))
		emit_refresh();
	return call_seen(&call, late);
}

LINKS_DISPATCH int unweave_priv_call(void *object, void *context, void *more, unweave_go go,
				     uint64_t task, const void *code, uint64_t late, unsigned means)
{
	return call_otherwise(object, context, more, go, task, code, late, means);
}

/* The usual calls. In each of them, the thread runs nothing else. */

static inline void push_first(struct unweave_priv_nest *nest, uint64_t task)
{
	__atomic_store_n(&nest->tasks[0], task, __ATOMIC_RELEASE);
}

LINKS_DISPATCH int unweave_priv_call_lightly(void *object, void *context, void *more, unweave_go go,
					     uint64_t task, const void *code)
{
	struct emit_thread *self = emit_self();

	if (emit_unlikely(!unweave_priv_inline(unweave_priv_gate(), &self->hot) ||
			  self->hot.nest->tasks[0]))
		return call_otherwise(object, context, more, go, task, code, 0,
				      MEANS_STRAIGHT(UNWEAVE_CALL_ENDS));
	return call_unrecorded(object, context, more, go, task, code, self, push_first);
}

/* Ends a run that began as usual, in whatever way. Returns `result`. */
static __attribute__((noinline)) int end_otherwise(struct links_run *run, enum unweave_call_end end,
						   int result)
{
	struct call call = call_of(NULL, NULL, NULL, NULL, 0, NULL, MEANS_STRAIGHT(end));

	end_run(&call, run->dispatch.task, !is_over(end, result));
	/* In a child of fork() the thread has another place. */
	run->self = emit_self();
	links_end(run);
	return result;
}

/* Of a run that began as usual: false if it does not end as usual. */
static inline __attribute__((always_inline)) bool
end_as_usual(struct links_run *run, enum unweave_call_end end, int result)
{
	struct emit_thread *self = emit_self();

	if (emit_unlikely(!is_over(end, result) ||
			  !quick_end_first(self, unweave_priv_gate(), run->dispatch.task)))
		return false;
	links_take_in(run->dispatch.outer, self->hot.nest);
	return true;
}

static inline __attribute__((always_inline)) int call_usually(void *object, void *context,
							      void *more, unweave_go go,
							      uint64_t task, const void *code,
							      enum unweave_call_end end)
{
	struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();
	struct links_run run;
	uint64_t *at;
	int result;

	if (emit_unlikely(self->hot.gate != gate || !begin_first_run(self, gate, &at)))
		return call_otherwise(object, context, more, go, task, code, 0,
				      MEANS_STRAIGHT(end));
	prepare(&run, task, code);
	links_hang_out(&run, self->hot.nest);
	put_resume(self, line_of(self), begun_at(line_of(self)), 0, run.dispatch.task);
	exit_quickly(self);
	result = emit_first_anchor(object, context, more, go);
	return emit_likely(end_as_usual(&run, end, result)) ? result
							    : end_otherwise(&run, end, result);
}

LINKS_DISPATCH int unweave_priv_call_once(void *object, void *context, void *more, unweave_go go,
					  uint64_t task, const void *code)
{
	return call_usually(object, context, more, go, task, code, UNWEAVE_CALL_ENDS);
}

LINKS_DISPATCH int unweave_priv_call_asking(void *object, void *context, void *more, unweave_go go,
					    uint64_t task, const void *code)
{
	return call_usually(object, context, more, go, task, code, UNWEAVE_CALL_ASKS);
}

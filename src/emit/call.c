/* SPDX-License-Identifier: Apache-2.0 */
/* The call of a callback: a run of its task, or of a new one, through an anchor. */
#include "emit/cause.h"
#include "emit/links.h"
#include "emit/table.h"
#include "unweave/callback.h"

static struct unweave_site *site_of(struct cause *cause)
{
	return cause ? &cause->is->site : NULL;
}

/* The site of the calls of a standing task. */
static struct unweave_site *site_of_calls(const struct unweave_call *call)
{
	const struct arena_task *slot = emit_table_slot(call->task);
	struct unweave_site *site = slot ? cause_fired(table_get(slot->site)) : NULL;

	/* Of one that a parent of this process armed, the callback is all that is known. */
	return site ? site
		    : site_of(cause_find(
			      &(struct cause_key){.code = call->code, .how = UNWEAVE_SITE_FIRED}));
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

/* While nobody records. */
static __attribute__((noinline)) int call_plainly(const struct unweave_call *call)
{
	enum unweave_call_end end = call->end;
	enum unweave_status status = call->status;
	uint64_t task = call->task;
	int result = call->go(call->object, call->context);

	if (is_over(end, result) && !unweave_priv_is_light(task))
		unweave_task_complete(task, status);
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

/* At detail `samples`, of a light task: nothing is recorded, and nothing ends with the call. */
static inline int call_lightly(const struct unweave_call *call, struct emit_thread *self,
			       uint64_t task)
{
	struct unweave_priv_nest *nest = self->hot.nest;
	struct links_run run;
	int result;

	prepare(&run, task, call->code);
	links_hang_out(&run, nest);
	unweave_priv_push(nest, task);
	result = emit_first_anchor(call->object, call->context, call->go);
	/* In a child of fork() the thread has another place, where none of this is. */
	if (emit_unlikely(unweave_priv_self != &self->hot))
		return result;
	/* If a session began to record events meanwhile, it was told of this run by its replay. */
	unweave_task_suspend(task);
	links_take_in(&run, nest);
	return result;
}

/* Begins a task for this call alone: of a standing one, or of what was armed as a light one. */
static uint64_t begin_new(const struct unweave_call *call)
{
	bool light = unweave_priv_is_light(call->task);
	uint64_t parent = light ? 0 : call->task, task = 0;
	struct unweave_site *site =
		light ? site_of(cause_of(table_light_site(call->task))) : site_of_calls(call);

	if (emit_likely(site && site->id))
		task = emit_new_running(emit_self(), unweave_priv_gate(), site->id, parent);
	if (emit_unlikely(!task)) {
		task = unweave_task_new(site, UNWEAVE_MODEL_CHAIN, parent, NULL);
		unweave_task_resume(task);
	}
	return task;
}

/* The number under which a call is seen at detail `samples`; 0: its task has one of its own. */
static inline uint64_t light_of(const struct unweave_call *call)
{
	struct unweave_site *site;

	if (emit_likely(unweave_priv_is_light(call->task)))
		return call->task;
	if (call->end != UNWEAVE_CALL_FIRES)
		return 0;
	site = site_of_calls(call);
	return site ? table_light(site->id) : 0;
}

/* With whatever the session asks for. */
static LINKS_DISPATCH __attribute__((noinline)) int call_seen(const struct unweave_call *call)
{
	bool fires = call->end == UNWEAVE_CALL_FIRES || unweave_priv_is_light(call->task);
	enum unweave_call_end end = fires ? UNWEAVE_CALL_ENDS : call->end;
	enum unweave_status status = call->status;
	bool straight = call->straight_on;
	struct links_run run;
	int result;

	if (emit_unlikely(call->late != 0))
		say_due(call->late);
	run.self = emit_self();
	/* Nobody is shown until there is a task. */
	prepare(&run, fires ? 0 : call->task, call->code);
	if (emit_likely(run.self->hot.nest != NULL))
		links_hang_out(&run, run.self->hot.nest);
	if (fires)
		run.dispatch.task = begin_new(call);
	else
		unweave_task_resume(call->task);
	result = emit_first_anchor(call->object, call->context, call->go);
	if (!is_over(end, result))
		unweave_task_suspend(run.dispatch.task);
	else if (!straight ||
		 !emit_end_later(emit_self(), unweave_priv_gate(), run.dispatch.task, status))
		unweave_task_complete(run.dispatch.task, status);
	/* In a child of fork() the thread has another place. */
	run.self = emit_self();
	links_end(&run);
	return result;
}

LINKS_DISPATCH int unweave_callback_call(const struct unweave_call *call)
{
	struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();
	uint64_t light;

	if (unweave_priv_off(gate))
		return call_plainly(call);
	if (unweave_priv_inline(gate, &self->hot)) {
		light = light_of(call);
		if (emit_likely(light))
			return call_lightly(call, self, light);
	}
	/* A thread's first, or the first of a session: it is to be seen by samples as well. */
	if (emit_unlikely(self->hot.gate != gate))
		emit_refresh();
	return call_seen(call);
}

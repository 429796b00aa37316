/* SPDX-License-Identifier: Apache-2.0 */
/* What a loop of callbacks emits over and over, in the usual case: see hooks.c. */
#include "emit/quick.h"
#include "emit/table.h"
#include "unweave/callback.h"

/* Two records with one stamp: the task is created, and runs. */
uint64_t emit_new_running(struct emit_thread *self, uint64_t gate, uint32_t site, uint64_t parent)
{
	struct arena_line *line;
	unsigned depth;
	uint64_t now, task, *at;

	if (emit_unlikely(!is_quick(self, gate)))
		return 0;
	line = line_of(self);
	depth = depth_of(&line->nest);
	if (emit_unlikely(depth == UNWEAVE_PRIV_NEST || !begin(self, line, gate, 6, &at)))
		return 0;
	if (emit_unlikely(!table_has(self))) {
		unweave_priv_exit(&self->hot, gate);
		return 0;
	}
	now = stamp(at, RECORD_CREATE);
	task = table_begin(self, &(struct table_birth){parent, now, site, UNWEAVE_MODEL_CHAIN});
	emit_store(at + 1, task);
	emit_store(at + 2, parent);
	emit_store(at + 3, site);
	emit_store(at + 4, record_first_word(RECORD_RESUME, now));
	emit_store(at + 5, task);
	self->main.tried++;
	__atomic_store_n(&line->nest.resumed[depth], now, __ATOMIC_RELAXED);
	end_at_depth(self, line, gate, at + 6, depth, task);
	return task;
}

static EMIT_COLD void loop_slowly(uint64_t loop, unsigned kind)
{
	emit_slowly(&(struct emit_request){
		.kind = (uint8_t)kind,
		.with_task = true,
		.keyword = UNWEAVE_KEYWORD_IDLE,
		.task = loop,
	});
}

void unweave_priv_loop(uint64_t loop, int woke)
{
	unsigned kind = woke ? RECORD_WOKE : RECORD_WAIT;
	struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();
	struct arena_line *line;
	uint64_t *at;

	if (emit_unlikely(!is_quick(self, gate)))
		return loop_slowly(loop, kind);
	if (!emit_wants(self, 0, UNWEAVE_KEYWORD_IDLE))
		return;
	line = line_of(self);
	if (emit_unlikely(!begin(self, line, gate, 2, &at)))
		return loop_slowly(loop, kind);
	stamp(at, kind);
	emit_store(at + 1, loop);
	end(self, line, gate, at + 2);
}

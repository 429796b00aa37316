/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow ways: a first event, a changed session, a full chunk, a stack, a
 * signal handler inside a hook. All hooks meet here in one form, a request.
 */
#include "emit/emit.h"

#include <errno.h>

#include "emit/links.h"

static size_t text_words(size_t length)
{
	return (length + 7) / 8;
}

static uint64_t *store_text(uint64_t *to, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i += 8) {
		uint64_t word = 0;

		memcpy(&word, text + i, length - i < 8 ? length - i : 8);
		emit_store(to++, word);
	}
	return to;
}

/* Stores and publishes the record, in a new chunk if it must be. */
static void put(struct emit_thread *self, struct emit_stream *stream,
		const struct emit_request *request)
{
	unsigned fixed = 1u + request->with_task + request->fields;
	struct frames_plan plan = {0};
	size_t words = fixed;
	uint64_t *at;

	if (request->frames) {
		plan = frames_plan(request->frames, RECORD_WORDS_MAX - fixed);
		words += plan.words;
	}
	if (request->text)
		words += text_words(request->field[0]);

	at = emit_room(stream, words);
	if (!at)
		at = emit_turn(self, stream);
	if (!at) {
		emit_count_loss(stream);
		return;
	}

	if (request->kind == RECORD_LEAVE)
		emit_store(at,
			   record_first_word(
				   RECORD_LEAVE | (request->frames ? RECORD_WITH_STACK : 0), 0));
	else
		emit_stamp(at, request->kind | (request->frames ? RECORD_WITH_STACK : 0));
	at++;
	if (request->with_task)
		emit_store(at++, request->task);
	for (unsigned i = 0; i < request->fields; i++)
		emit_store(at++, request->field[i]);
	if (request->frames)
		at = frames_store(at, request->frames, &plan);
	if (request->text)
		at = store_text(at, request->text, request->field[0]);
	emit_publish(stream, at);
	/* Only now: what found no room is not told, and comes again. */
	if (request->frames && request->frames->head)
		head_note_told(request->frames->head, emit_epoch());
}

static bool is_end(unsigned kind)
{
	return kind == RECORD_SUSPEND || kind == RECORD_LEAVE ||
	       (kind >= RECORD_COMPLETE && kind <= RECORD_COMPLETE_CANCELLED);
}

/* An end that says of what: for a run that the reader may not see as innermost. */
static void name_the_task(struct emit_request *request)
{
	request->with_task = true;
	if (request->kind >= RECORD_COMPLETE) {
		request->field[0] = request->kind - RECORD_COMPLETE;
		request->fields = 1;
		request->kind = RECORD_COMPLETE_TASK;
	} else {
		request->kind = RECORD_SUSPEND_TASK;
	}
}

/* What the session asked for of it, in the form that its place in the nest allows. */
static void record(struct emit_thread *self, struct emit_stream *stream,
		   const struct emit_request *request)
{
	struct emit_request shaped = *request;

	if (shaped.keyword && !emit_wants(self, shaped.task, shaped.keyword))
		return;
	if (shaped.frames && !emit_wants(self, shaped.task, shaped.stack_keyword))
		shaped.frames = NULL;
	if (is_end(shaped.kind) && (stream == &self->aside || !self->compact ||
				    emit_innermost(self->hot.nest) != shaped.task))
		name_the_task(&shaped);
	put(self, stream, &shaped);
}

static void change_nest(struct emit_thread *self, const struct emit_request *request)
{
	if (request->kind == RECORD_RESUME)
		unweave_priv_push(self->hot.nest, request->task);
	else if (is_end(request->kind))
		unweave_priv_pop(self->hot.nest, request->task);
}

/* Inside a hook of the same thread, which a signal interrupted: the nest is not ours to touch. */
static void emit_aside(struct emit_thread *self, const struct emit_request *request)
{
	uint64_t gate = unweave_priv_gate();

	if ((gate & UNWEAVE_PRIV_MODE_MASK) != ARENA_MODE_EVENTS)
		return;
	/* Also if the thread is still about to find out what the session wants. */
	if (self->aside_busy || self->revision != gate >> 8) {
		atomic_fetch_add_explicit(&emit_process.control->reentries, 1,
					  memory_order_relaxed);
		return;
	}
	self->aside_busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	if (self->aside_revision != self->revision) {
		self->aside_revision = self->revision;
		emit_start_over(self, &self->aside, UNWEAVE_RESET_CONFIG);
	}
	record(self, &self->aside, request);
	atomic_signal_fence(memory_order_seq_cst);
	self->aside_busy = false;
}

/*
 * The calling thread with its gate closed and its config current, and `*ret_gate` to open it
 * with. NULL: there is no place for its events, which is counted, or it is inside a hook already
 * (`*ret_inside`).
 */
static struct emit_thread *enter(uint64_t *ret_gate, struct emit_thread **ret_inside)
{
	struct emit_thread *self = NULL;

	*ret_inside = NULL;
	if (emit_birth())
		self = emit_self();
	if (self == &emit_muted) {
		atomic_fetch_add_explicit(&emit_process.control->muted, 1, memory_order_relaxed);
		return NULL;
	}
	if (self == &emit_nobody)
		self = emit_register();
	if (!self) {
		emit_orphan();
		return NULL;
	}
	if (self->hot.gate == 0) {
		*ret_inside = self;
		return NULL;
	}
	unweave_priv_enter(&self->hot);
	*ret_gate = emit_adopt(self);
	return self;
}

void emit_slowly(const struct emit_request *request)
{
	int error = errno;
	struct emit_thread *inside;
	struct emit_thread *self;
	uint64_t gate;

	self = enter(&gate, &inside);
	if (self) {
		uint64_t mode = gate & UNWEAVE_PRIV_MODE_MASK;

		if (mode == ARENA_MODE_EVENTS)
			record(self, &self->main, request);
		if (mode != ARENA_MODE_OFF)
			change_nest(self, request);
		unweave_priv_exit(&self->hot, gate);
	} else if (inside) {
		emit_aside(inside, request);
	}
	errno = error;
}

struct emit_thread *emit_refresh(void)
{
	int error = errno;
	struct emit_thread *inside;
	struct emit_thread *self;
	uint64_t gate;

	self = enter(&gate, &inside);
	if (self)
		unweave_priv_exit(&self->hot, gate);
	errno = error;
	return self;
}

static uint64_t take_task(struct emit_thread *self)
{
	uint64_t task;

	if (self->hot.next_task == self->hot.end_task)
		emit_refill(self);
	task = self->hot.next_task;
	self->hot.next_task += 2;
	return task;
}

static struct emit_request creation(const struct emit_thread *self, uint64_t task, uint64_t parent,
				    struct unweave_site *site, const struct emit_frames *frames)
{
	if (parent == UNWEAVE_PARENT_CURRENT)
		parent = emit_innermost(self->hot.nest);
	return (struct emit_request){
		.kind = RECORD_CREATE,
		.with_task = true,
		.fields = 2,
		.keyword = UNWEAVE_KEYWORD_CREATE,
		.stack_keyword = UNWEAVE_KEYWORD_CREATE_STACK,
		.task = task,
		.field = {parent, site ? emit_site(site) : 0},
		.frames = frames,
	};
}

uint64_t emit_new_slowly(struct unweave_site *site, enum unweave_model model, uint64_t parent,
			 const struct emit_frames *frames)
{
	int error = errno;
	struct emit_thread *inside;
	struct emit_thread *self;
	struct emit_request request;
	uint64_t gate, task;

	self = enter(&gate, &inside);
	if (self) {
		task = take_task(self) | model;
		if ((gate & UNWEAVE_PRIV_MODE_MASK) == ARENA_MODE_EVENTS) {
			request = creation(self, task, parent, site, frames);
			record(self, &self->main, &request);
		}
		unweave_priv_exit(&self->hot, gate);
	} else {
		task = emit_lone_task() | model;
		if (inside) {
			request = creation(inside, task, parent, site, frames);
			emit_aside(inside, &request);
		}
	}
	errno = error;
	return task;
}

/* Words of a replay's stack that are worth having. */
#define REPLAY_STACK_LEAST 8u

/*
 * A run that the thread is inside of, with its chain if that is known and fits
 * `room` words: what was told of it before counts no more in a new session.
 */
static void replay(struct emit_thread *self, struct emit_stream *stream, uint64_t task,
		   const struct unweave_priv_view *view, size_t room)
{
	uint64_t *at = emit_at(stream);
	struct emit_frames frames;
	struct frames_plan plan;

	if (!view || room < 2 + REPLAY_STACK_LEAST ||
	    !emit_wants(self, task, UNWEAVE_KEYWORD_RESUME_STACK)) {
		emit_stamp(at, RECORD_REPLAY);
		emit_store(at + 1, task);
		emit_publish(stream, at + 2);
		return;
	}
	frames = frames_of_view(view);
	plan = frames_plan(&frames, room - 2);
	emit_stamp(at, RECORD_REPLAY | RECORD_WITH_STACK);
	emit_store(at + 1, task);
	emit_publish(stream, frames_store(at + 2, &frames, &plan));
}

void emit_reset(struct emit_thread *self, struct emit_stream *stream, enum unweave_reset why)
{
	const struct unweave_priv_nest *nest = self->hot.nest;
	bool nested = self->compact && stream != &self->aside;
	bool anew = why == UNWEAVE_RESET_START || why == UNWEAVE_RESET_CONFIG;
	uint64_t *at = emit_at(stream);
	unsigned left = 0;

	emit_stamp(at, RECORD_RESET);
	emit_store(at + 1, self->revision << 8 | (nested ? RECORD_RESET_NEST : 0) | why);
	emit_publish(stream, at + 2);
	if (stream == &self->aside)
		return;
	while (nest->tasks[left])
		left++;
	for (unsigned i = 0; nest->tasks[i]; i++) {
		uint64_t task = nest->tasks[i];
		size_t room = (size_t)(stream->end - emit_at(stream)) - 2 * (size_t)--left;

		replay(self, stream, task, anew ? dispatch_view(nest, task) : NULL,
		       room < RECORD_WORDS_MAX ? room : RECORD_WORDS_MAX);
	}
}

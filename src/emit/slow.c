/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow ways: a first event, a changed session, a full chunk, a stack, a
 * signal handler inside a hook. All hooks meet here in one form, a request.
 */
#include "emit/emit.h"

#include <errno.h>

#include "emit/links.h"
#include "emit/table.h"

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

/* The first word of a record; returns its time, or 0 if it has none. */
static uint64_t begin_record(uint64_t *at, const struct emit_request *request)
{
	unsigned kind = request->kind | (request->frames ? RECORD_WITH_STACK : 0);
	uint64_t now = request->kind == RECORD_LEAVE ? 0 : clock_ticks(emit_process.clock);

	emit_store(at, record_first_word(kind, now));
	return now;
}

/* Stores and publishes the record, in a new chunk if it must be. Returns its time, or 0. */
static uint64_t put(struct emit_thread *self, struct emit_stream *stream,
		    const struct emit_request *request)
{
	unsigned fixed = 1u + request->with_task + request->fields;
	struct frames_plan plan = {0};
	size_t words = fixed;
	uint64_t now, *at;

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
		return 0;
	}

	now = begin_record(at++, request);
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
	return now;
}

static bool is_completion(unsigned kind)
{
	return kind >= RECORD_COMPLETE && kind <= RECORD_COMPLETE_CANCELLED;
}

static bool is_end(unsigned kind)
{
	return kind == RECORD_SUSPEND || kind == RECORD_LEAVE || is_completion(kind);
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

/*
 * What the session asked for of it, in the form that its place in the nest
 * allows. Returns the time of the record, or 0 if there is none.
 */
static uint64_t record(struct emit_thread *self, struct emit_stream *stream,
		       const struct emit_request *request)
{
	struct emit_request shaped = *request;

	if (shaped.keyword && !emit_wants(self, shaped.task, shaped.keyword))
		return 0;
	if (shaped.frames && !emit_wants(self, shaped.task, shaped.stack_keyword))
		shaped.frames = NULL;
	if (is_end(shaped.kind) && (stream == &self->aside || !self->compact ||
				    emit_innermost(self->hot.nest) != shaped.task))
		name_the_task(&shaped);
	return put(self, stream, &shaped);
}

/* The depth of the task's run if that is the innermost; else UNWEAVE_PRIV_NEST. */
static unsigned depth_of_run(const struct unweave_priv_nest *nest, uint64_t task)
{
	unsigned depth = 0;

	while (nest->tasks[depth])
		depth++;
	return depth && nest->tasks[depth - 1] == task && !nest->beyond ? depth - 1
									: UNWEAVE_PRIV_NEST;
}

/* When the task's run began; `now` if that is not known. */
static uint64_t run_since(const struct emit_thread *self, uint64_t task, uint64_t now)
{
	unsigned depth = depth_of_run(self->hot.nest, task);

	return depth < UNWEAVE_PRIV_NEST ? self->hot.nest->resumed[depth] : now;
}

/* What the event means to the task table. A completion is dealt with apart, at every detail. */
static void note(struct emit_thread *self, const struct emit_request *request, uint64_t now)
{
	struct arena_task *slot = emit_table_slot(request->task);

	if (!slot)
		return;
	switch (request->kind) {
	case RECORD_SUSPEND:
	case RECORD_LEAVE:
		if (now)
			table_suspend(slot, now, run_since(self, request->task, now));
		else
			table_leave(self, request->task, run_since(self, request->task, now));
		break;
	case RECORD_WAKE:
		table_wake(slot, now, UNWEAVE_SOURCE_TASK);
		break;
	case RECORD_WAKE_FROM:
		table_wake(slot, now, (enum unweave_source)request->field[0]);
		break;
	default:
		break;
	}
}

/* Records the event, and notes it in the task table, also where the session does not want it. */
static uint64_t record_and_note(struct emit_thread *self, const struct emit_request *request)
{
	uint64_t now = record(self, &self->main, request);

	/* There is room for one run that was left: of another one, the time is asked for. */
	if (!now && (request->kind != RECORD_LEAVE || self->left ||
		     depth_of_run(self->hot.nest, request->task) == UNWEAVE_PRIV_NEST))
		now = clock_ticks(emit_process.clock);
	if (now)
		table_settle(self, now, self->quick_always);
	note(self, request, now);
	return now;
}

static void push_run(struct unweave_priv_nest *nest, uint64_t task, uint64_t now)
{
	unsigned depth = 0;

	while (nest->tasks[depth])
		depth++;
	if (depth < UNWEAVE_PRIV_NEST)
		__atomic_store_n(&nest->resumed[depth], now, __ATOMIC_RELAXED);
	unweave_priv_push(nest, task);
}

static void change_nest(struct emit_thread *self, const struct emit_request *request, uint64_t now)
{
	if (request->kind == RECORD_RESUME)
		push_run(self->hot.nest, request->task, now);
	else if (is_end(request->kind))
		unweave_priv_pop(self->hot.nest, request->task);
}

/* Inside a hook of the same thread, which a signal interrupted: the nest is not ours to touch. */
static void emit_aside(struct emit_thread *self, const struct emit_request *request)
{
	uint64_t gate = unweave_priv_gate();
	struct arena_task *slot;
	uint64_t now;

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
	now = record(self, &self->aside, request);
	slot = emit_table_slot(request->task);
	if (slot && now && (request->kind == RECORD_WAKE || request->kind == RECORD_WAKE_FROM))
		table_wake(slot, now,
			   (enum unweave_source)(request->fields ? request->field[0] : 0));
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

/* The usual way, if slowly: gate closed. */
static void proceed(struct emit_thread *self, const struct emit_request *request, uint64_t gate)
{
	uint64_t mode = gate & UNWEAVE_PRIV_MODE_MASK;
	uint64_t now = 0;

	if (mode == ARENA_MODE_EVENTS)
		now = record_and_note(self, request);
	if (is_completion(request->kind) && table_knows(self, request->task))
		table_end(self, request->task);
	if (mode != ARENA_MODE_OFF)
		change_nest(self, request, now);
}

void emit_slowly(const struct emit_request *request)
{
	int error = errno;
	struct emit_thread *inside;
	struct emit_thread *self;
	uint64_t gate;

	/* A task of the parent's, which tidies up between fork() and exec(): not worth an arena. */
	if (is_completion(request->kind) && emit_is_unborn())
		return;
	self = enter(&gate, &inside);
	if (self) {
		proceed(self, request, gate);
		unweave_priv_exit(&self->hot, gate);
	} else {
		if (inside)
			emit_aside(inside, request);
		if (is_completion(request->kind))
			emit_table_end_aside(request->task);
	}
	errno = error;
}

void emit_refresh(void)
{
	int error = errno;
	struct emit_thread *inside;
	struct emit_thread *self;
	uint64_t gate;

	self = enter(&gate, &inside);
	if (self)
		unweave_priv_exit(&self->hot, gate);
	errno = error;
}

static struct emit_request creation(uint64_t task, const struct table_birth *birth,
				    const struct emit_frames *frames)
{
	return (struct emit_request){
		.kind = RECORD_CREATE,
		.with_task = true,
		.fields = 2,
		.keyword = UNWEAVE_KEYWORD_CREATE,
		.stack_keyword = UNWEAVE_KEYWORD_CREATE_STACK,
		.task = task,
		.field = {birth->parent, birth->site},
		.frames = frames,
	};
}

/* What is known of a task that is created on a thread with a line. */
static struct table_birth conceive(const struct emit_thread *self, struct unweave_site *site,
				   enum unweave_model model, uint64_t parent)
{
	return (struct table_birth){
		.parent =
			parent == UNWEAVE_PARENT_CURRENT ? emit_innermost(self->hot.nest) : parent,
		.site = site ? emit_site(site) : 0,
		.model = model,
	};
}

/* Gate closed. */
static uint64_t new_here(struct emit_thread *self, uint64_t gate, const struct table_birth *birth,
			 const struct emit_frames *frames)
{
	bool slotted = table_has(self) || emit_table_refill(self);
	uint64_t task = slotted ? table_begin(self, birth) : emit_table_lone(birth->model);

	if ((gate & UNWEAVE_PRIV_MODE_MASK) == ARENA_MODE_EVENTS) {
		struct emit_request request = creation(task, birth, frames);
		uint64_t now = record_and_note(self, &request);

		if (slotted)
			table_set(self->tasks[table_index(task)].changed, now);
	}
	return task;
}

/* By a handler inside a hook of the same thread. */
static uint64_t new_aside(struct emit_thread *self, const struct table_birth *birth,
			  const struct emit_frames *frames)
{
	uint32_t index = emit_table_take_aside();
	struct arena_task *slot = &emit_process.tasks[index];
	uint64_t task = index ? table_fill(slot, table_get(slot->id), birth)
			      : emit_table_lone(birth->model);
	struct emit_request request = creation(task, birth, frames);

	emit_aside(self, &request);
	return task;
}

uint64_t emit_new_slowly(struct unweave_site *site, enum unweave_model model, uint64_t parent,
			 const struct emit_frames *frames)
{
	int error = errno;
	struct emit_thread *inside;
	struct emit_thread *self;
	struct table_birth birth;
	uint64_t gate, task;

	self = enter(&gate, &inside);
	if (self) {
		birth = conceive(self, site, model, parent);
		task = new_here(self, gate, &birth, frames);
		unweave_priv_exit(&self->hot, gate);
	} else if (inside) {
		birth = conceive(inside, site, model, parent);
		task = new_aside(inside, &birth, frames);
	} else {
		task = emit_table_lone(model);
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

/* Which chains can be followed from here on: RECORD_RESET_* bits. */
static unsigned told_stacks(const struct emit_thread *self)
{
	unsigned told = 0;

	for (unsigned model = 0; model < 2; model++) {
		if (emit_wants(self, model, UNWEAVE_KEYWORD_RESUME_STACK))
			told |= RECORD_RESET_RESUME_STACKS << model;
		if (emit_wants(self, model, UNWEAVE_KEYWORD_SUSPEND_STACK))
			told |= RECORD_RESET_SUSPEND_STACKS << model;
	}
	return told;
}

void emit_reset(struct emit_thread *self, struct emit_stream *stream, enum unweave_reset why)
{
	const struct unweave_priv_nest *nest = self->hot.nest;
	bool nested = self->compact && stream != &self->aside;
	bool anew = why == UNWEAVE_RESET_START || why == UNWEAVE_RESET_CONFIG;
	uint64_t *at = emit_at(stream);
	unsigned left = 0;

	emit_stamp(at, RECORD_RESET);
	emit_store(at + 1, self->revision << 8 | (nested ? RECORD_RESET_NEST : 0) |
				   told_stacks(self) | why);
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

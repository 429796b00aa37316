/* SPDX-License-Identifier: Apache-2.0 */
/* Threads come, notice changes of the session, and go. */
#include "emit/emit.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emit/links.h"
#include "emit/sampler.h"
#include "emit/table.h"

struct emit_thread emit_nobody;
struct emit_thread emit_muted;

__thread struct unweave_priv_thread *unweave_priv_self __attribute__((tls_model("initial-exec"))) =
	&emit_nobody.hot;

/* Set while the thread registers: a signal handler in the middle goes without. */
static __thread bool registering __attribute__((tls_model("initial-exec")));

static struct arena_line *claim_line(uint32_t *ret_index)
{
	struct arena_control *control = emit_process.control;
	struct arena_line *lines = arena_lines(control);

	for (uint32_t i = 0; i < ARENA_LINES; i++) {
		uint32_t free = ARENA_LINE_FREE;

		if (!atomic_compare_exchange_strong(&lines[i].state, &free, ARENA_LINE_LIVE))
			continue;
		for (uint32_t used = atomic_load(&control->lines_used); used <= i;)
			if (atomic_compare_exchange_weak(&control->lines_used, &used, i + 1))
				break;
		*ret_index = i;
		return &lines[i];
	}
	return NULL;
}

static void forget_nest(struct unweave_priv_nest *nest)
{
	for (unsigned i = 0; i <= UNWEAVE_PRIV_NEST; i++)
		__atomic_store_n(&nest->tasks[i], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&nest->beyond, 0, __ATOMIC_RELEASE);
}

static void init_line(struct arena_line *line)
{
	uint64_t name[ARENA_NAME_WORDS] = {0};

	atomic_store_explicit(&line->revision, 0, memory_order_relaxed);
	forget_nest(&line->nest);
	__atomic_store_n(&line->nest.dispatch, 0, __ATOMIC_RELAXED);
	prctl(PR_GET_NAME, name);
	for (unsigned i = 0; i < ARENA_NAME_WORDS; i++)
		atomic_store_explicit(&line->name[i], name[i], memory_order_relaxed);
	atomic_store_explicit(&line->tid, (uint32_t)syscall(SYS_gettid), memory_order_relaxed);
	/* The name and the tid, before the number that makes the thread known to the drain. */
	atomic_store_explicit(&line->serial,
			      1 + atomic_fetch_add(&emit_process.control->next_serial, 1),
			      memory_order_release);
}

static struct emit_thread *fill_thread(struct arena_line *line, uint32_t index)
{
	struct emit_thread *self = &emit_process.threads[index];

	/* Of a thread that ended without a word. */
	emit_table_exit(self);
	memset(self, 0, sizeof(*self));
	self->tasks = emit_process.tasks;
	self->line = line;
	self->index = index;
	self->hot.nest = &line->nest;
	self->main.shared = &line->streams[ARENA_STREAM_MAIN];
	self->main.index = ARENA_STREAM_MAIN;
	self->aside.shared = &line->streams[ARENA_STREAM_ASIDE];
	self->aside.index = ARENA_STREAM_ASIDE;
	return self;
}

struct emit_thread *emit_register(void)
{
	struct arena_line *line = NULL;
	struct emit_thread *self = NULL;
	uint32_t index;

	if (registering)
		return NULL;
	registering = true;
	atomic_signal_fence(memory_order_seq_cst);
	line = claim_line(&index);
	if (line) {
		init_line(line);
		self = fill_thread(line, index);
		/* No revision is 0, so this opens the gate and differs from every config. */
		self->hot.gate = UINT64_MAX;
		unweave_priv_self = &self->hot;
		emit_call_at_exit(self);
	}
	atomic_signal_fence(memory_order_seq_cst);
	registering = false;
	return self;
}

/* Says how far the stream's numbers went, for losses that no chunk came after. */
static void publish_attempts(struct emit_stream *stream)
{
	atomic_store_explicit(&stream->shared->attempts, stream->tried, memory_order_relaxed);
}

void emit_thread_exit(void *data)
{
	struct emit_thread *self = data;
	bool emitted;

	/* In a child of fork() the parent's threads are not ours to end. */
	if (!emit_process.control || self != emit_self())
		return;
	unweave_priv_enter(&self->hot);
	table_settle(self, clock_ticks(emit_process.clock), 0);
	emit_table_exit(self);
	publish_attempts(&self->main);
	publish_attempts(&self->aside);
	emitted = self->main.tried || self->aside.tried;
	unweave_priv_self = &emit_nobody.hot;
	/* Or the drain would take the line's next thread for this one, which is dead. */
	if (!emitted)
		atomic_store_explicit(&self->line->serial, 0, memory_order_relaxed);
	/* F: the last record, before the word that it was the last. */
	atomic_store_explicit(&self->line->state, emitted ? ARENA_LINE_EXITED : ARENA_LINE_FREE,
			      memory_order_release);
}

struct config_copy {
	uint64_t gate;
	uint64_t keywords;
	uint64_t off_revision;
	uint32_t policy;
};

/* A stack is asked for with the event that carries it. */
static uint64_t with_carriers(uint64_t keywords)
{
	const uint64_t carriers = UNWEAVE_KEYWORDS_BOTH(
		UNWEAVE_KEYWORD_CREATE | UNWEAVE_KEYWORD_RESUME | UNWEAVE_KEYWORD_SUSPEND);

	_Static_assert(UNWEAVE_KEYWORD_CREATE << 8 == UNWEAVE_KEYWORD_CREATE_STACK &&
			       UNWEAVE_KEYWORD_RESUME << 8 == UNWEAVE_KEYWORD_RESUME_STACK &&
			       UNWEAVE_KEYWORD_SUSPEND << 8 == UNWEAVE_KEYWORD_SUSPEND_STACK,
		       "each carrier is eight bits below its stack");
	return keywords | (keywords >> 8 & carriers);
}

/* The config as of one revision: read again if it changed in between. */
static struct config_copy copy_config(const struct arena_config *config)
{
	struct config_copy copy;

	do {
		/* Pairs with E. */
		copy.gate = __atomic_load_n(&config->hot.gate, __ATOMIC_ACQUIRE);
		copy.keywords = with_carriers(
			atomic_load_explicit(&config->keywords, memory_order_relaxed));
		copy.off_revision =
			atomic_load_explicit(&config->off_revision, memory_order_relaxed);
		copy.policy = atomic_load_explicit(&config->policy, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
	} while (copy.gate != __atomic_load_n(&config->hot.gate, __ATOMIC_RELAXED));
	return copy;
}

void emit_start_over(struct emit_thread *self, struct emit_stream *stream, enum unweave_reset why)
{
	/* A new chunk says so itself if something was lost before it. */
	if (!emit_room(stream, EMIT_RESET_WORDS)) {
		bool losing = stream->losing;

		if (!emit_turn(self, stream) || losing)
			return;
	}
	emit_reset(self, stream, why);
}

/* Whether a session wants all of `keywords`, of both models. */
static bool wants_all(const struct config_copy *config, uint64_t keywords)
{
	keywords = UNWEAVE_KEYWORDS_BOTH(keywords);
	return (config->keywords & keywords) == keywords;
}

/* The usual sessions, on the usual clock. */
static void choose_quick_ways(struct emit_thread *self, const struct config_copy *config)
{
	uint64_t life = UNWEAVE_KEYWORD_CREATE | UNWEAVE_KEYWORD_RESUME | UNWEAVE_KEYWORD_SUSPEND |
			UNWEAVE_KEYWORD_COMPLETE | UNWEAVE_KEYWORD_WAKE;
	bool quick = emit_process.clock == CLOCK_QUICK && wants_all(config, life);

	self->quick = quick ? config->gate : 0;
	self->quick_always = self->quick;
	self->quick_stacks =
		quick && wants_all(config, UNWEAVE_KEYWORD_SUSPEND_STACK) ? config->gate : 0;
}

/* Runs have stamps from now on, or none: those that the thread is inside of count from here. */
static void start_clock(struct emit_thread *self, bool stamped)
{
	uint64_t now = stamped ? clock_ticks(emit_process.clock) : 0;

	if (stamped && self->stamped)
		return table_settle(self, now, self->quick_always);
	self->left = 0;
	self->stamped = stamped;
	for (unsigned i = 0; i < UNWEAVE_PRIV_NEST; i++)
		__atomic_store_n(&self->hot.nest->resumed[i], now, __ATOMIC_RELAXED);
}

uint64_t emit_adopt(struct emit_thread *self)
{
	struct config_copy config = copy_config(&emit_process.control->config);
	uint32_t ready =
		atomic_load_explicit(&emit_process.control->tasks_ready, memory_order_acquire);

	/* At least slot 0, which is that of all tasks without one. */
	self->ready = ready ? ready : 1;
	if (config.gate >> 8 == self->revision)
		return config.gate;
	/* While the session was off, runs began and ended unseen; but for those that are shown. */
	if (self->revision <= config.off_revision) {
		forget_nest(self->hot.nest);
		if ((config.gate & UNWEAVE_PRIV_MODE_MASK) != ARENA_MODE_OFF)
			dispatch_refill_nest(self->hot.nest);
		self->stamped = false;
	}
	sampler_check(emit_process.control);
	self->keywords = config.keywords;
	self->policy = config.policy;
	/* What the session wants, before the word that it is known: a handler may ask right now. */
	atomic_signal_fence(memory_order_seq_cst);
	self->revision = config.gate >> 8;
	/* What was forgotten of the nest, before the word that it is up to date. */
	atomic_store_explicit(&self->line->revision, self->revision, memory_order_release);
	start_clock(self, (config.gate & UNWEAVE_PRIV_MODE_MASK) == ARENA_MODE_EVENTS);
	choose_quick_ways(self, &config);
	/* After all that was done to the nest: handlers note their runs there from now on. */
	atomic_signal_fence(memory_order_seq_cst);
	self->hot.inline_gate =
		(config.gate & UNWEAVE_PRIV_MODE_MASK) == ARENA_MODE_SAMPLES ? config.gate : 0;
	self->compact = wants_all(&config, UNWEAVE_KEYWORD_RESUME | UNWEAVE_KEYWORD_SUSPEND |
						   UNWEAVE_KEYWORD_COMPLETE);
	if ((config.gate & UNWEAVE_PRIV_MODE_MASK) == ARENA_MODE_EVENTS) {
		emit_start_over(self, &self->main,
				self->seen_before ? UNWEAVE_RESET_CONFIG : UNWEAVE_RESET_START);
		self->seen_before = true;
	}
	return config.gate;
}

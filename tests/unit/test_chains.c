/* SPDX-License-Identifier: Apache-2.0 */
/* The chains that come out, against a plain array that each task's chain is kept in here. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "arena/record.h"
#include "collect.h"
#include "drain/chains.h"
#include "emit/emit.h"

#define CHAIN UNWEAVE_MODEL_CHAIN
#define MACHINE UNWEAVE_MODEL_MACHINE

/* A chain as the program knows it: outermost first, so that `keep` is a prefix. */
#define ORACLE_MAX 200000
struct oracle {
	uint64_t addresses[ORACLE_MAX];
	int32_t states[ORACLE_MAX];
	uint32_t count;
};

/* Whether the chain that was seen is the oracle's. Frames left out are not known, but counted. */
static bool is_chain(const struct seen *seen, const struct oracle *oracle)
{
	uint32_t left = oracle->count;

	for (uint32_t i = 0; i < seen->frame_count; i++) {
		const struct unweave_frame *frame = &seen->frames[i];

		if (frame->kind == UNWEAVE_FRAME_OMITTED) {
			if (frame->address > left)
				return false;
			left -= (uint32_t)frame->address;
			continue;
		}
		if (left == 0 || frame->address != oracle->addresses[left - 1] ||
		    frame->state != oracle->states[left - 1])
			return false;
		left--;
	}
	return left == 0;
}

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % limit;
}

/* A stack with fresh frames, in memory that stays until the next call. */
static struct unweave_stack make_stack(uint32_t count, uint32_t keep, bool stated)
{
	static uint64_t addresses[ORACLE_MAX];
	static int32_t states[ORACLE_MAX];
	static uint64_t next = 0x400000;

	for (uint32_t i = 0; i < count; i++) {
		/* Some addresses come again, as they do in recursion. */
		addresses[i] = random_below(4) ? next++ : 0x1234;
		states[i] = (int32_t)random_below(1000) - 500;
	}
	return (struct unweave_stack){addresses, stated ? states : NULL, count, keep};
}

static void oracle_push(struct oracle *oracle, const struct unweave_stack *stack)
{
	oracle->count = stack->keep;
	for (uint32_t i = stack->count; i-- > 0;) {
		oracle->addresses[oracle->count] = stack->addresses[i];
		oracle->states[oracle->count++] = stack->states ? stack->states[i] : 0;
	}
}

static void oracle_append(struct oracle *oracle, const struct unweave_stack *stack)
{
	memmove(oracle->addresses + stack->count, oracle->addresses, oracle->count * 8);
	memmove(oracle->states + stack->count, oracle->states, oracle->count * 4);
	for (uint32_t i = 0; i < stack->count; i++) {
		uint32_t to = stack->count - 1 - i;

		oracle->addresses[to] = stack->addresses[i];
		oracle->states[to] = stack->states ? stack->states[i] : 0;
	}
	oracle->count += stack->count;
}

#define TASKS 16
#define STEPS 3000

static struct oracle oracles[TASKS];

/* What was expected at each event with a chain, in order. */
struct expectation {
	uint64_t task;
	enum unweave_event_kind kind;
	struct oracle *oracle; /* a copy, as small as may be */
};

static struct oracle *copy_oracle(const struct oracle *oracle)
{
	struct oracle *copy = malloc(sizeof(*copy));

	memcpy(copy->addresses, oracle->addresses, oracle->count * 8);
	memcpy(copy->states, oracle->states, oracle->count * 4);
	copy->count = oracle->count;
	return copy;
}

/* One step of a task's life. Returns how many events it made that show the chain. */
static int step(uint64_t task, struct oracle *oracle, struct expectation *to)
{
	uint32_t keep = oracle->count ? random_below(oracle->count + 1) : 0;
	struct unweave_stack stack = make_stack(random_below(12), keep, random_below(2));

	to[0] = (struct expectation){task, UNWEAVE_EVENT_RESUME, NULL};
	to[1] = (struct expectation){task, UNWEAVE_EVENT_SUSPEND, NULL};
	switch (random_below(5)) {
	case 0:
		stack.keep = 0;
		unweave_task_append(task, &stack);
		oracle_append(oracle, &stack);
		to[0] = (struct expectation){task, UNWEAVE_EVENT_APPEND, copy_oracle(oracle)};
		return 1;
	case 1:
		unweave_task_resume_stack(task, &stack);
		oracle_push(oracle, &stack);
		to[0].oracle = copy_oracle(oracle);
		unweave_task_suspend(task);
		break;
	case 2:
		to[0].oracle = copy_oracle(oracle);
		unweave_task_resume(task);
		unweave_task_leave(task, &stack);
		oracle_push(oracle, &stack);
		break;
	default:
		to[0].oracle = copy_oracle(oracle);
		unweave_task_resume(task);
		unweave_task_suspend_stack(task, &stack);
		oracle_push(oracle, &stack);
		break;
	}
	to[1].oracle = copy_oracle(oracle);
	return 2;
}

static void check_expectations(struct expectation *expected, size_t count)
{
	size_t at = 0;

	for (size_t i = 0; i < collected.count; i++) {
		const struct seen *seen = &collected.seen[i];

		if (!is_of_a_hook(seen->event.kind) || seen->event.kind == UNWEAVE_EVENT_CREATE ||
		    seen->event.kind == UNWEAVE_EVENT_IDLE)
			continue;
		if (at >= count)
			break;
		CHECK_EQ(seen->event.kind, expected[at].kind);
		CHECK_EQ(seen->event.task, expected[at].task);
		CHECK(is_chain(seen, expected[at].oracle));
		at++;
	}
	CHECK_EQ(at, count);
	for (size_t i = 0; i < count; i++)
		free(expected[i].oracle);
}

static void a_chain_is_followed_over_any_suspensions_and_appends(void)
{
	struct expectation *expected = calloc(2 * STEPS, sizeof(*expected));
	uint64_t tasks[TASKS];
	size_t count = 0;

	collect_begin(0);
	for (int i = 0; i < TASKS; i++) {
		struct unweave_stack stack = make_stack(random_below(5), 0, random_below(2));

		tasks[i] = unweave_task_new(NULL, i % 2 ? CHAIN : MACHINE, 0, &stack);
		oracle_push(&oracles[i], &stack);
	}
	for (int i = 0; i < STEPS; i++) {
		uint32_t which = random_below(TASKS);

		count += (size_t)step(tasks[which], &oracles[which], expected + count);
		if (oracles[which].count > 400)
			oracles[which].count = 0,
			tasks[which] = unweave_task_new(NULL, CHAIN, 0, NULL);
	}
	unweave_thread_idle();
	unweave_stop();
	CHECK_EQ(collect_lost(), 0);
	check_expectations(expected, count);
	free(expected);
}

static struct oracle oracle;

static void check_long_stack(uint32_t count, bool stated)
{
	struct unweave_stack stack = make_stack(count, 0, stated);
	uint32_t omissions = 0;
	uint64_t omitted = 0;
	const struct seen *seen;
	uint64_t task;

	oracle_push(&oracle, &stack);
	collect_begin(0);
	task = unweave_task_new(NULL, CHAIN, 0, NULL);
	unweave_task_resume(task);
	unweave_task_suspend_stack(task, &stack);
	unweave_task_resume(task);
	unweave_stop();
	CHECK_EQ(collect_lost(), 0);

	seen = collect_nth(UNWEAVE_EVENT_SUSPEND, 0);
	CHECK(is_chain(seen, &oracle));
	CHECK(is_chain(collect_nth(UNWEAVE_EVENT_RESUME, 1), &oracle));
	for (uint32_t i = 0; i < seen->frame_count; i++)
		if (seen->frames[i].kind == UNWEAVE_FRAME_OMITTED) {
			omissions++;
			omitted = seen->frames[i].address;
		}
	CHECK_EQ(omissions, 1);
	CHECK_EQ(omitted + seen->frame_count - 1, count);
	/* Both ends, and much of them. */
	CHECK(seen->frame_count > 1200);
	for (uint32_t i = 0; i < 500 && seen->frame_count > 1200; i++) {
		CHECK_EQ(seen->frames[i].kind, UNWEAVE_FRAME_CODE);
		CHECK_EQ(seen->frames[seen->frame_count - 1 - i].kind, UNWEAVE_FRAME_CODE);
	}
}

static void of_a_stack_too_long_for_a_record_both_ends_are_kept(void)
{
	check_long_stack(2000, false);
	check_long_stack(2000, true);
	check_long_stack(100000, false);
	check_long_stack(100000, true);
}

#define LENGTHS 64 /* tried between two looks */

static void check_lengths(struct expectation *expected, size_t count)
{
	CHECK_EQ(unweave_flush(), 0);
	CHECK_EQ(collect_count(UNWEAVE_EVENT_APPEND), count);
	check_expectations(expected, count);
	for (size_t i = 0; i < collected.count; i++)
		free(collected.seen[i].frames);
	collected.count = 0;
}

/* Each length around those where a record or a chunk is just full. */
static void a_stack_of_any_length_is_whole_or_says_what_is_missing(void)
{
	struct expectation expected[LENGTHS];
	size_t tried = 0;

	collect_begin(0);
	for (uint32_t count = 1; count < 2100; count += count < 1200 ? 37 : 1) {
		uint64_t task = unweave_task_new(NULL, CHAIN, 0, NULL);
		struct unweave_stack stack = make_stack(count, 0, count % 2);

		oracle_push(&oracle, &stack);
		unweave_task_append(task, &stack);
		expected[tried++] =
			(struct expectation){task, UNWEAVE_EVENT_APPEND, copy_oracle(&oracle)};
		if (tried == LENGTHS) {
			check_lengths(expected, tried);
			tried = 0;
		}
	}
	check_lengths(expected, tried);
	unweave_stop();
}

static void a_chain_with_frames_left_out_goes_on_to_be_followed(void)
{
	struct unweave_stack stack = make_stack(100000, 0, false);
	static const uint32_t keeps[] = {99999, 99000, 50000, 20000, 900, 1};
	uint64_t task;
	size_t n = 0;

	collect_begin(0);
	task = unweave_task_new(NULL, CHAIN, 0, NULL);
	unweave_task_resume(task);
	unweave_task_suspend_stack(task, &stack);
	oracle_push(&oracle, &stack);
	for (size_t i = 0; i < sizeof(keeps) / sizeof(keeps[0]); i++) {
		stack = make_stack(3, keeps[i], false);
		unweave_task_resume(task);
		unweave_task_suspend_stack(task, &stack);
		oracle_push(&oracle, &stack);
		CHECK_EQ(unweave_flush(), 0);
		n = collect_count(UNWEAVE_EVENT_SUSPEND);
		CHECK_EQ(n, i + 2);
		CHECK(is_chain(collect_nth(UNWEAVE_EVENT_SUSPEND, n - 1), &oracle));
	}
	unweave_stop();
}

/* A session that begins in a task's life does not know the frames that it keeps. */
static void what_is_kept_of_an_unknown_chain_is_said_to_be_left_out(void)
{
	struct unweave_stack stack = make_stack(3, 0, false);
	uint64_t task;

	oracle_push(&oracle, &stack);
	task = unweave_task_new(NULL, CHAIN, 0, &stack);
	collect_begin(0);
	for (int i = 0; i < 50; i++) {
		stack = make_stack(2, i % 2 ? 3 : 2, false);
		unweave_task_resume(task);
		unweave_task_suspend_stack(task, &stack);
		oracle_push(&oracle, &stack);
	}
	unweave_stop();
	for (size_t i = 0; i < 50; i++)
		CHECK(collect_nth(UNWEAVE_EVENT_SUSPEND, i)->frame_count <= 5);
	CHECK(is_chain(collect_nth(UNWEAVE_EVENT_SUSPEND, 49), &oracle));
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_SUSPEND, 49)->frame_count, 4);
}

static void a_chain_is_forgotten_when_its_task_completes(void)
{
	struct unweave_stack stack = make_stack(3, 0, false);
	uint64_t task;

	collect_begin(0);
	task = unweave_task_new(NULL, CHAIN, 0, &stack);
	unweave_task_resume(task);
	unweave_task_complete(task, UNWEAVE_OK);
	unweave_task_resume(task);
	unweave_task_complete(task, UNWEAVE_OK);
	unweave_stop();
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_RESUME, 0)->frame_count, 3);
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_RESUME, 1)->frame_count, 0);
}

static void equal_chains_are_one(void)
{
	const uint64_t addresses[] = {1, 2, 3};
	const struct unweave_stack stack = {.addresses = addresses, .count = 3};

	collect_begin(0);
	unweave_task_new(NULL, CHAIN, 0, &stack);
	unweave_task_new(NULL, CHAIN, 0, &stack);
	unweave_stop();
	CHECK(collect_nth(UNWEAVE_EVENT_CREATE, 0)->event.stack);
	CHECK(collect_nth(UNWEAVE_EVENT_CREATE, 0)->event.stack ==
	      collect_nth(UNWEAVE_EVENT_CREATE, 1)->event.stack);
}

static void set_chain(struct chains *chains, uint64_t task, const struct unweave_frame *stack)
{
	struct chain_slot *slot = chains_find(chains, task);

	if (slot->task)
		chain_change(slot, stack);
	else
		chains_add(chains, slot, task, stack);
}

static const struct unweave_frame *get_chain(const struct chains *chains, uint64_t task)
{
	return chain_stack(chains_find(chains, task));
}

/* The table itself, against an array; tasks that collide, and come and go. */
static void the_table_of_chains_finds_what_was_put_there(void)
{
	enum { IDS = 4000 };
	static struct unweave_frame frames[IDS];
	static const struct unweave_frame *known[IDS];
	struct chains chains;
	uint32_t count = 0;

	CHECK_EQ(chains_init(&chains, IDS), 0);
	for (int i = 0; i < 200000; i++) {
		uint32_t id = random_below(IDS);

		if (random_below(3)) {
			count += !known[id];
			known[id] = &frames[random_below(IDS)];
			set_chain(&chains, (id + 1) * 1024, known[id]);
		} else {
			count -= known[id] != NULL;
			known[id] = NULL;
			chains_remove(&chains, (id + 1) * 1024);
		}
		id = random_below(IDS);
		CHECK(get_chain(&chains, (id + 1) * 1024) == known[id]);
		CHECK_EQ(chains.count, count);
	}
	for (uint32_t id = 0; id < IDS; id++)
		CHECK(get_chain(&chains, (id + 1) * 1024) == known[id]);
	/* No task, and one more than it may hold. */
	set_chain(&chains, 0, frames);
	CHECK(!get_chain(&chains, 0));
	for (uint32_t id = 0; id < IDS; id++)
		set_chain(&chains, (id + 1) * 1024, frames);
	set_chain(&chains, 7, frames);
	CHECK(!get_chain(&chains, 7));
	chains_fini(&chains);
}

#define HOPS 20000u
#define HOPPERS 3u

/* A task that is handed from thread to thread, a step each, and its chain after each step. */
static struct {
	uint64_t task;
	_Atomic uint32_t step;
	uint64_t chains[HOPS][3]; /* outermost first */
} hopping;

/* Every other step keeps what only the step before it brought, on another thread. */
static void hop(uint32_t step)
{
	uint64_t *chain = hopping.chains[step];
	uint64_t frames[2] = {0x500001 + step * 2, 0x500000 + step * 2};
	struct unweave_stack two = {frames, NULL, 2, 1}, one = {frames, NULL, 1, 2};

	chain[0] = 0x400000;
	chain[1] = step % 2 ? hopping.chains[step - 1][1] : frames[1];
	chain[2] = frames[0];
	unweave_task_resume(hopping.task);
	if (step % 4 < 2)
		unweave_task_suspend_stack(hopping.task, step % 2 ? &one : &two);
	else
		unweave_task_leave(hopping.task, step % 2 ? &one : &two);
}

/*
 * With a system call, as there is between threads that sleep and wake. Without any, a processor
 * may have read its clock before it saw that it is its turn, and before all of a short run.
 */
static void await(const _Atomic uint32_t *turn, uint32_t wanted)
{
	while (atomic_load(turn) != wanted)
		sched_yield();
	getppid();
}

static void *hop_in_turn(void *data)
{
	uint32_t number = (uint32_t)(uintptr_t)data;

	for (uint32_t step = number; step < HOPS; step += HOPPERS) {
		await(&hopping.step, step);
		hop(step);
		atomic_store(&hopping.step, step + 1);
	}
	unweave_thread_idle();
	return NULL;
}

static void a_task_that_changes_threads_keeps_its_chain(void)
{
	uint64_t root = 0x400000;
	struct unweave_stack stack = {&root, NULL, 1, 0};
	pthread_t threads[HOPPERS];
	uint32_t resumes = 0, wrong = 0;

	collect_begin(0);
	hopping.task = unweave_task_new(NULL, CHAIN, 0, &stack);
	atomic_store(&hopping.step, 0);
	for (uintptr_t i = 0; i < HOPPERS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, hop_in_turn, (void *)i), 0);
	for (uint32_t i = 0; i < HOPPERS; i++)
		pthread_join(threads[i], NULL);
	unweave_stop();
	CHECK_EQ(collect_lost(), 0);
	for (size_t i = 0; i < collected.count; i++) {
		const struct seen *seen = &collected.seen[i];
		const uint64_t *chain;

		if (seen->event.kind != UNWEAVE_EVENT_RESUME || resumes++ == 0)
			continue;
		chain = hopping.chains[resumes - 2];
		wrong += seen->frame_count != 3 || seen->frames[0].address != chain[2] ||
			 seen->frames[1].address != chain[1] || seen->frames[2].address != chain[0];
	}
	CHECK_EQ(resumes, HOPS);
	CHECK_EQ(wrong, 0);
}

#define EARLY_ROUNDS 100u

/* A task on two threads in turns; where the record lies with which the first let go of it. */
static struct {
	uint64_t task;
	uint64_t *let_go; /* NULL: nobody knows */
	_Atomic uint32_t turn;
} early;

static void run_some_ticks(void)
{
	uint64_t begun = clock_ticks(emit_process.clock);

	while (clock_ticks(emit_process.clock) - begun < 4)
		;
}

/* Runs, and waits in a place of its own. */
static void run_in(uint64_t place)
{
	struct unweave_stack stack = {&place, NULL, 1, 1};
	uint64_t *at;

	unweave_task_resume(early.task);
	run_some_ticks();
	at = emit_at(&emit_self()->main);
	unweave_task_suspend_stack(early.task, &stack);
	/* A suspension, what it keeps, a frame; unless that was a new chunk. */
	early.let_go = emit_at(&emit_self()->main) == at + 3 ? at : NULL;
}

/* Goes on with it, and has the other thread's last record stamped a little later than its own. */
static void *run_too_early(void *data)
{
	for (uint32_t turn = 1; turn < 2 * EARLY_ROUNDS; turn += 2) {
		uint64_t *let_go;

		await(&early.turn, turn);
		let_go = early.let_go;
		run_in(turn);
		if (let_go && early.let_go)
			emit_store(let_go,
				   record_first_word(*let_go & 0xff, (early.let_go[-2] >> 8) + 1));
		atomic_store(&early.turn, turn + 1);
	}
	return data;
}

static void a_run_that_is_stamped_too_early_has_its_chain(void)
{
	uint64_t root = 0x400000;
	struct unweave_stack stack = {&root, NULL, 1, 0};
	uint32_t resumes = 0, wrong = 0;
	pthread_t thread;

	collect_begin(0);
	early.task = unweave_task_new(NULL, CHAIN, 0, &stack);
	atomic_store(&early.turn, 0);
	CHECK_EQ(pthread_create(&thread, NULL, run_too_early, NULL), 0);
	for (uint32_t turn = 0; turn < 2 * EARLY_ROUNDS; turn += 2) {
		await(&early.turn, turn);
		run_in(turn);
		atomic_store(&early.turn, turn + 1);
	}
	pthread_join(thread, NULL);
	unweave_stop();
	for (size_t i = 0; i < collected.count; i++) {
		const struct seen *seen = &collected.seen[i];

		if (seen->event.kind != UNWEAVE_EVENT_RESUME || resumes++ == 0)
			continue;
		wrong += seen->frame_count != 2 || seen->frames[0].address != resumes - 2;
	}
	CHECK_EQ(resumes, 2 * EARLY_ROUNDS);
	CHECK_EQ(wrong, 0);
}

/* Runs what the other thread made, and has its creation stamped a little later than this run. */
static void *begin_too_early(void *data)
{
	unweave_thread_idle();
	for (uint32_t turn = 1; turn < 2 * EARLY_ROUNDS; turn += 2) {
		uint64_t *at;

		await(&early.turn, turn);
		at = emit_at(&emit_self()->main);
		unweave_task_resume(early.task);
		if (early.let_go && emit_at(&emit_self()->main) == at + 2)
			emit_store(early.let_go,
				   record_first_word(*early.let_go & 0xff, (*at >> 8) + 1));
		run_some_ticks();
		unweave_task_suspend(early.task);
		atomic_store(&early.turn, turn + 1);
	}
	return data;
}

static void a_run_that_is_stamped_before_its_task_has_its_chain(void)
{
	uint32_t resumes = 0, wrong = 0;
	pthread_t thread;

	collect_begin(0);
	atomic_store(&early.turn, 0);
	CHECK_EQ(pthread_create(&thread, NULL, begin_too_early, NULL), 0);
	for (uint64_t turn = 0; turn < 2 * EARLY_ROUNDS; turn += 2) {
		struct unweave_stack stack = {&turn, NULL, 1, 0};
		uint64_t *at;

		await(&early.turn, (uint32_t)turn);
		at = emit_at(&emit_self()->main);
		early.task = unweave_task_new(NULL, CHAIN, 0, &stack);
		/* A creation and its stack; unless that was a new chunk. */
		early.let_go = emit_at(&emit_self()->main) == at + 6 ? at : NULL;
		atomic_store(&early.turn, (uint32_t)turn + 1);
	}
	pthread_join(thread, NULL);
	unweave_stop();
	for (size_t i = 0; i < collected.count; i++) {
		const struct seen *seen = &collected.seen[i];

		if (seen->event.kind != UNWEAVE_EVENT_RESUME)
			continue;
		wrong += seen->frame_count != 1 || seen->frames[0].address != 2 * resumes;
		resumes++;
	}
	CHECK_EQ(resumes, EARLY_ROUNDS);
	CHECK_EQ(wrong, 0);
}

/* In between it had other frames, which nobody was told of. */
static void frames_are_not_kept_from_before_a_time_without_stacks(void)
{
	static const uint64_t before[] = {0xa, 0xb}, unseen[] = {0xc, 0xd}, after[] = {0xe};
	const struct seen *seen;
	uint64_t task;

	collect_begin(0);
	task = unweave_task_new(NULL, CHAIN, 0, NULL);
	unweave_task_resume(task);
	unweave_task_suspend_stack(task, &(struct unweave_stack){before, NULL, 2, 0});
	CHECK_EQ(unweave_set_keywords(UNWEAVE_KEYWORDS_TASKS), 0);
	unweave_task_resume(task);
	unweave_task_suspend_stack(task, &(struct unweave_stack){unseen, NULL, 2, 0});
	CHECK_EQ(unweave_set_keywords(UNWEAVE_KEYWORDS_FULL), 0);
	unweave_task_resume(task);
	unweave_task_suspend_stack(task, &(struct unweave_stack){after, NULL, 1, 1});
	unweave_stop();
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_SUSPEND, 0)->frame_count, 2);
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_RESUME, 1)->frame_count, 0);
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_SUSPEND, 1)->frame_count, 0);
	CHECK_EQ(collect_nth(UNWEAVE_EVENT_RESUME, 2)->frame_count, 0);
	seen = collect_nth(UNWEAVE_EVENT_SUSPEND, 2);
	CHECK_EQ(seen->frame_count, 2);
	CHECK_EQ(seen->frames[0].address, 0xe);
	CHECK_EQ(seen->frames[1].kind, UNWEAVE_FRAME_OMITTED);
	CHECK_EQ(seen->frames[1].address, 1);
}

int main(void)
{
	RUN(frames_are_not_kept_from_before_a_time_without_stacks);
	RUN(the_table_of_chains_finds_what_was_put_there);
	RUN(a_chain_is_followed_over_any_suspensions_and_appends);
	RUN(of_a_stack_too_long_for_a_record_both_ends_are_kept);
	RUN(a_stack_of_any_length_is_whole_or_says_what_is_missing);
	RUN(a_chain_with_frames_left_out_goes_on_to_be_followed);
	RUN(what_is_kept_of_an_unknown_chain_is_said_to_be_left_out);
	RUN(a_chain_is_forgotten_when_its_task_completes);
	RUN(equal_chains_are_one);
	if (!check_emulated()) {
		RUN(a_task_that_changes_threads_keeps_its_chain);
		RUN(a_run_that_is_stamped_too_early_has_its_chain);
		RUN(a_run_that_is_stamped_before_its_task_has_its_chain);
	}
	collect_forget();
	return check_done();
}

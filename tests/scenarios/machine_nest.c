/* SPDX-License-Identifier: Apache-2.0 */
/* State machines and what else a thread is inside of: chains, other executors. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "machine_checks.h"
#include "machine_load.h"
#include "unweave/chain.h"

#define DEEP 3

/* A chain that runs a box that runs a chain …, each inside of the other. */
struct tower {
	struct promise gates[DEEP]; /* what the box of each storey waits for */
	struct async boxes[DEEP];
	struct unweave_chain chains[DEEP + 1];
	struct unweave_link links[DEEP + 1];
	uint64_t inside[2 * DEEP + 1]; /* the tasks that ran, in the order in which they began */
	uint32_t depths[2 * DEEP + 1]; /* of the chain that the thread found itself in */
	int count;
};

static struct tower tower;

static void note_where(void)
{
	uint64_t address;

	tower.depths[tower.count] = unweave_here(&tower.inside[tower.count], &address, NULL, 1);
	tower.count++;
}

static int run_storey(struct unweave_link *link, void *context)
{
	long storey = link - tower.links;

	(void)context;
	note_where();
	if (storey < DEEP)
		promise_settle(&tower.gates[storey], UNWEAVE_OK, 0);
	return UNWEAVE_STEP_DONE;
}

static int run_box(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);
	long storey = me - tower.boxes;

	(void)context;
	if (me->step++ == 0 && async_await_promise(me, &tower.gates[storey], 1))
		return 0;
	note_where();
	CHECK_EQ(unweave_chain_run(&tower.chains[storey + 1], 0), UNWEAVE_STEP_DONE);
	return async_end(me, UNWEAVE_OK, 0);
}

static void both_models_nest_in_each_other_three_deep(void)
{
	struct scenario scenario;

	memset(&tower, 0, sizeof(tower));
	scenario_begin(0);
	for (int i = 0; i <= DEEP; i++) {
		unweave_chain_init(&tower.chains[i]);
		unweave_link_init(&tower.links[i], run_storey, NULL, 0);
		unweave_chain_push(&tower.chains[i], &tower.links[i]);
		unweave_chain_start(&tower.chains[i], NULL, 0);
	}
	for (int i = 0; i < DEEP; i++) {
		promise_init(&tower.gates[i]);
		async_embed(&tower.boxes[i], run_box, NULL);
		async_start(&tower.boxes[i]);
	}
	CHECK_EQ(unweave_chain_run(&tower.chains[0], 0), UNWEAVE_STEP_DONE);
	scenario_end(&scenario);

	CHECK_EQ(check_nests(&scenario), 0);
	CHECK_EQ(tower.count, 2 * DEEP + 1);
	CHECK_EQ(scenario_count(&scenario, 0, RESUME), 2 * DEEP + 1);
	for (int i = 0; i <= 2 * DEEP; i++) {
		uint64_t task =
			i % 2 ? async_task(&tower.boxes[i / 2]) : tower.chains[i / 2].head.task;

		CHECK_EQ(tower.inside[i], task);
		CHECK_EQ(tower.depths[i], 1);
		/* They begin from the outside in, and end from the inside out. */
		CHECK_EQ(scenario_nth(&scenario, 0, RESUME, (size_t)i)->event.task, task);
		CHECK_EQ(scenario_nth(&scenario, 0, COMPLETE, (size_t)(2 * DEEP - i))->event.task,
			 task);
		CHECK(SEQUENCE(&scenario, task, KINDS_LIFE | KINDS_FRAME, CREATE, RESUME,
			       FRAME_RESUME, FRAME_COMPLETE, COMPLETE));
	}
	scenario_forget(&scenario);
}

struct hops {
	struct executor *first, *second;
	uint64_t task;
};

static int hops_over(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);
	struct hops *hops = me->data;

	(void)context;
	switch (me->step++) {
	case 0:
		async_yield(me, hops->first, 0);
		return 0;
	case 1:
		async_yield(me, hops->second, 1);
		return 0;
	default:
		hops->task = async_task(me);
		return async_end(me, UNWEAVE_OK, 0);
	}
}

static void a_function_hops_from_one_executor_to_another(void)
{
	const struct scene *resumes[2];
	struct scenario scenario;
	struct async *call;
	struct hops hops;

	scenario_begin(0);
	hops.second = executor_new(1);
	hops.first = executor_new(1);
	call = async_call(hops_over, &hops);
	executor_free(hops.first);
	executor_free(hops.second);
	async_drop(call);
	scenario_end(&scenario);
	for (size_t i = 0; i < 2; i++)
		resumes[i] = scenario_nth(&scenario, hops.task, RESUME, i);
	CHECK(SEQUENCE(&scenario, hops.task, KINDS_LIFE, CREATE, RESUME, SUSPEND, RESUME,
		       COMPLETE));
	CHECK(resumes[0]->event.thread != resumes[1]->event.thread);
	CHECK(STATES_ARE(resumes[0], 0));
	CHECK(STATES_ARE(resumes[1], 1));
	scenario_forget(&scenario);
}

/* Counts what each task did, by its number. */
struct tally {
	uint64_t task;
	unsigned kinds[32];
};

static int by_task(const void *left, const void *right)
{
	const struct scene *const *a = left, *const *b = right;

	if ((*a)->event.task != (*b)->event.task)
		return (*a)->event.task < (*b)->event.task ? -1 : 1;
	return *a < *b ? -1 : 1;
}

static void check_tally(const struct tally *tally)
{
	if (!tally->task)
		return;
	CHECK_EQ(tally->kinds[CREATE], 1);
	CHECK_EQ(tally->kinds[COMPLETE], 1);
	CHECK_EQ(tally->kinds[RESUME], tally->kinds[SUSPEND] + 1);
}

static void every_task_of_a_busy_program_is_created_and_completed_once(void)
{
	struct scenario scenario;
	const struct scene **sorted;
	struct tally tally = {0};

	scenario_begin_with(0, UNWEAVE_POLICY_BLOCK, 0);
	run_load(3000);
	scenario_end(&scenario);
	CHECK(scenario_is_whole(&scenario));
	CHECK_EQ(check_nests(&scenario), 0);
	sorted = calloc(scenario.count, sizeof(*sorted));
	for (size_t i = 0; i < scenario.count; i++)
		sorted[i] = &scenario.scenes[i];
	qsort(sorted, scenario.count, sizeof(*sorted), by_task);
	for (size_t i = 0; i < scenario.count; i++) {
		if (sorted[i]->event.task != tally.task) {
			check_tally(&tally);
			tally = (struct tally){.task = sorted[i]->event.task};
		}
		tally.kinds[sorted[i]->event.kind]++;
	}
	check_tally(&tally);
	free(sorted);
	scenario_forget(&scenario);
}

static uint32_t seen_after_end;

static int looks_after_its_end(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);
	uint64_t addresses[4], task;

	(void)context;
	if (me->step++ == 0 && async_yield(me, me->data, 0))
		return 0;
	async_end(me, UNWEAVE_OK, 0);
	seen_after_end += unweave_here(&task, addresses, NULL, 4);
	return 0;
}

static int awaits_that(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);

	(void)context;
	if (me->step++ == 0) {
		me->callee = async_call(looks_after_its_end, me->data);
		if (async_await(me, me->callee, 0))
			return 0;
	}
	async_drop(me->callee);
	return async_end(me, UNWEAVE_OK, 0);
}

/* It is on the stack still, but its box and its awaiter's are gone. */
static void nothing_is_seen_of_functions_that_have_ended(void)
{
	struct executor *executor = executor_new(0);
	struct scenario scenario;

	scenario_begin(0);
	async_drop(async_call(awaits_that, executor));
	executor_free(executor);
	scenario_end(&scenario);
	CHECK_EQ(scenario_count(&scenario, 0, FRAME_COMPLETE), 2);
	CHECK_EQ(seen_after_end, 0);
	scenario_forget(&scenario);
}

static atomic_uint looks, tasks_seen, frames_seen, strangers;

static bool is_known(uint64_t address)
{
	return address == (uintptr_t)waits_a_little || address == (uintptr_t)shares ||
	       address == (uintptr_t)does_something || address == (uintptr_t)starts_many;
}

/* At whatever instruction: where is this thread? */
static void look(int signal)
{
	uint64_t addresses[16], task;
	uint32_t count = unweave_here(&task, addresses, NULL, 16);

	(void)signal;
	atomic_fetch_add(&looks, 1);
	atomic_fetch_add(&tasks_seen, task != 0);
	for (uint32_t i = 0; i < count && i < 16; i++) {
		atomic_fetch_add(&frames_seen, 1);
		atomic_fetch_add(&strangers, !is_known(addresses[i]));
	}
}

/* Boxes come and go under its eyes; what it follows must still be there. */
static void a_signal_handler_may_look_at_any_time(void)
{
	struct itimerval every = {.it_interval = {.tv_usec = 500}, .it_value = {.tv_usec = 500}};
	struct sigaction action = {.sa_handler = look, .sa_flags = SA_RESTART};
	struct scenario scenario;

	sigaction(SIGPROF, &action, NULL);
	scenario_begin_with(UNWEAVE_KEYWORD_CREATE, UNWEAVE_POLICY_BLOCK, 0);
	setitimer(ITIMER_PROF, &every, NULL);
	/* On a busy machine the timer is slow. */
	for (int i = 0; i < 20 || (atomic_load(&frames_seen) == 0 && i < 1000); i++)
		run_load(1000);
	setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
	scenario_end(&scenario);
	CHECK(atomic_load(&tasks_seen) > 0);
	CHECK(atomic_load(&frames_seen) > 0);
	CHECK_EQ(atomic_load(&strangers), 0);
	scenario_forget(&scenario);
}

int main(void)
{
	SCENARIO(both_models_nest_in_each_other_three_deep);
	SCENARIO(a_function_hops_from_one_executor_to_another);
	SCENARIO(every_task_of_a_busy_program_is_created_and_completed_once);
	SCENARIO(nothing_is_seen_of_functions_that_have_ended);
	SCENARIO(a_signal_handler_may_look_at_any_time);
	return check_done();
}

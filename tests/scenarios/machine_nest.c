/* SPDX-License-Identifier: Apache-2.0 */
/* State machines and what else a thread is inside of: chains, other executors. */
#include <stdlib.h>

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

int main(void)
{
	SCENARIO(both_models_nest_in_each_other_three_deep);
	SCENARIO(a_function_hops_from_one_executor_to_another);
	SCENARIO(every_task_of_a_busy_program_is_created_and_completed_once);
	return check_done();
}

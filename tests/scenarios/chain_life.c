/* SPDX-License-Identifier: Apache-2.0 */
/* The chain model: what the life of a task looks like. */
#include "scenario.h"

#include "unweave/chain.h"

static int step_done(struct unweave_link *link, void *context)
{
	(void)link, (void)context;
	return UNWEAVE_STEP_DONE;
}

static void RuntimeAsync_EventsEmitted(void)
{
	struct scenario scenario;
	struct unweave_chain chain;
	struct unweave_link link;

	scenario_begin(0);
	unweave_chain_init(&chain);
	unweave_link_init(&link, step_done, NULL, 0);
	unweave_chain_push(&chain, &link);
	unweave_chain_start(&chain, NULL, 0);
	CHECK_EQ(unweave_chain_run(&chain, 0), UNWEAVE_STEP_DONE);
	scenario_end(&scenario);

	CHECK(scenario_is_whole(&scenario));
	CHECK(SEQUENCE(&scenario, chain.head.task, KINDS_LIFE, UNWEAVE_EVENT_CREATE,
		       UNWEAVE_EVENT_RESUME, UNWEAVE_EVENT_COMPLETE));
	CHECK(STACK_IS(scenario_nth(&scenario, chain.head.task, UNWEAVE_EVENT_CREATE, 0),
		       CODE(step_done)));
	CHECK_EQ(scenario_simulated_depth(&scenario, chain.head.task), 0);
	scenario_forget(&scenario);
}

int main(void)
{
	SCENARIO(RuntimeAsync_EventsEmitted);
	return check_done();
}

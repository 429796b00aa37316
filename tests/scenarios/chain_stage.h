/* SPDX-License-Identifier: Apache-2.0 */
/* What every scenario of the chain model needs: a runtime, an executor, a recording. */
#ifndef SCENARIOS_CHAIN_STAGE_H
#define SCENARIOS_CHAIN_STAGE_H

#include "chain_runtime.h"
#include "scenario.h"

struct stage {
	struct runtime *runtime;
	struct executor *executor;
	struct scenario scenario;
};

/* With an executor of so many threads; 0: everything runs on this one. */
static inline void stage_set(struct stage *stage, unsigned threads)
{
	/* Before there are threads: hooks that come while the arena is made are lost, and said so.
	 */
	unweave_thread_idle();
	*stage = (struct stage){.runtime = runtime_new()};
	stage->executor = executor_new(stage->runtime, threads, 0);
}

static inline void stage_open(struct stage *stage, unsigned threads, uint64_t keywords)
{
	stage_set(stage, threads);
	scenario_begin(keywords);
}

/* The tasks stay until stage_clear(). Every recording must be whole. */
static inline void stage_close(struct stage *stage)
{
	stage->executor = executor_free(stage->executor);
	scenario_end(&stage->scenario);
	CHECK(scenario_is_whole(&stage->scenario));
}

static inline void stage_clear(struct stage *stage)
{
	scenario_forget(&stage->scenario);
	stage->runtime = runtime_free(stage->runtime);
}

/* Calls the function, waits until it is done. Returns its task, or 0 if it never was one. */
static inline uint64_t stage_perform(struct stage *stage, struct frame *frame)
{
	struct task *task = task_begin(stage->executor, frame, UNWEAVE_SITE(NULL), 0);

	if (!task)
		return 0;
	task_wait(task);
	return task->chain.head.task;
}

/* Everything in one: a recording of one task that begins with this function. */
static inline uint64_t stage_show(struct stage *stage, uint64_t keywords, unweave_go function)
{
	uint64_t task;

	stage_open(stage, 0, keywords);
	task = stage_perform(stage, frame_new(function));
	stage_close(stage);
	return task;
}

/* An async function that does nothing but await another. */
#define CALLS(name, callee)                                                                        \
	static int name(struct unweave_link *link, void *context)                                  \
	{                                                                                          \
		ASYNC_BEGIN(link, context);                                                        \
		AWAIT(frame_new(callee));                                                          \
		ASYNC_END();                                                                       \
	}

#define CREATED UNWEAVE_EVENT_CREATE
#define RESUMED UNWEAVE_EVENT_RESUME
#define SUSPENDED UNWEAVE_EVENT_SUSPEND
#define COMPLETED UNWEAVE_EVENT_COMPLETE

#endif /* SCENARIOS_CHAIN_STAGE_H */

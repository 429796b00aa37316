/* SPDX-License-Identifier: Apache-2.0 */
/* A user's program, in what C99 and C++17 share: tried with each way to build with the library. */
#include <unweave.h>

int main(void)
{
	const uint64_t addresses[2] = {0x1000, 0x2000};
	struct unweave_stack stack = {addresses, NULL, 2, 0};
	uint64_t parent, child;

	parent = unweave_task_new(UNWEAVE_SITE("request"), UNWEAVE_MODEL_CHAIN, 0, NULL);
	unweave_task_resume(parent);
	child = unweave_task_new(UNWEAVE_SITE("query"), UNWEAVE_MODEL_MACHINE, parent, &stack);
	unweave_task_name(child, "select 1");
	unweave_task_suspend_stack(parent, &stack);

	unweave_task_resume(child);
	unweave_frame_resume(child);
	unweave_frame_complete(child);
	unweave_task_wake(parent, UNWEAVE_SOURCE_TASK);
	unweave_task_complete(child, UNWEAVE_OK);

	unweave_task_resume(parent);
	unweave_task_complete(parent, UNWEAVE_ERROR);
	unweave_thread_idle();
	return 0;
}

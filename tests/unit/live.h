/* SPDX-License-Identifier: Apache-2.0 */
/* The task table of this very process, as a reader finds it. */
#ifndef TESTS_LIVE_H
#define TESTS_LIVE_H

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "emit/emit.h"

#define CHAIN UNWEAVE_MODEL_CHAIN
#define MACHINE UNWEAVE_MODEL_MACHINE

static inline struct table the_table(void)
{
	struct table table = {0};

	CHECK(emit_birth());
	CHECK(table_view(&table, emit_process.control, emit_process.control,
			 emit_process.control->bytes));
	return table;
}

/* The task's entry; one that is all zero if it has none. */
static inline struct table_task entry_of(uint64_t task)
{
	struct table table = the_table();
	struct table_task entry = {0};

	table_find(&table, task, &entry);
	return entry;
}

static inline uint32_t count_live(void)
{
	struct table table = the_table();
	struct table_task entry;
	uint32_t live = 0;

	for (uint32_t i = 1; i < table_ready(&table); i++)
		live += table_read(&table, i, &entry);
	return live;
}

static inline uint64_t new_task(void)
{
	return unweave_task_new(NULL, CHAIN, 0, NULL);
}

static inline void end_task(uint64_t task)
{
	unweave_task_complete(task, UNWEAVE_OK);
}

/* Runs `test` in a child, which has an arena of its own, with room for `tasks`; 0: the default. */
static inline void in_child(void (*test)(void), const char *tasks)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (tasks)
			setenv("UNWEAVE_TASKS_MAX", tasks, 1);
		test();
		fflush(stdout);
		_exit(check_failed != 0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

#endif /* TESTS_LIVE_H */

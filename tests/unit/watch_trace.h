/* SPDX-License-Identifier: Apache-2.0 */
/* A watch over a trace that the test makes. */
#ifndef TESTS_WATCH_TRACE_H
#define TESTS_WATCH_TRACE_H

#include "watch/watch.h"

#include "model_told.h"

#define MS UINT64_C(1000000)

static struct watch *watch;
static struct diag diag;

static inline void begin_trace(void)
{
	maker_init(&maker, maker_path(), false);
	maker_session(&maker, 1000000000);
	maker_thread(&maker, 1, "one");
	maker_thread(&maker, 2, "two");
	maker_site(&maker, 1, "accept", "serve", "server.c", 42);
	maker_site(&maker, 2, "", "handle", "server.c", 50);
}

static inline void open_watch(void)
{
	end_trace();
	maker_must(watch_new_trace(&watch, maker_path(), &diag));
}

static inline void close_watch(void)
{
	watch = watch_free(watch);
	unlink(maker_path());
}

static inline void go_to(uint64_t ms)
{
	CHECK_EQ(watch_seek(watch, ms * MS, &diag), 0);
}

static inline struct watch_task task(uint64_t id)
{
	const struct watch_task *found = watch_task_find(watch, id);

	CHECK(found != NULL);
	return found ? *found : (struct watch_task){0};
}

#endif /* TESTS_WATCH_TRACE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* A watch over a trace, with every single allocation failing in turn. */
#include <errno.h>
#include <limits.h>

#include "failing_alloc.h"
#include "watch_trace.h"

#define TASKS 300u

static void make_trace(void)
{
	uint64_t time = 100 * MS;
	struct encoder *one;

	seed = 20261115;
	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	for (uint64_t i = 1; i <= TASKS; i++) {
		put_full(one, CREATE, time += MS, i, i / 2, 1 + i % 2, 0x200);
		if (i % 3 == 0)
			maker_put(one, (struct unweave_event){.kind = UNWEAVE_EVENT_NAME,
							      .time = time,
							      .task = i,
							      .text = "a name of its own"});
		put(one, RESUME, time += MS, i);
		put(one, i % 5 ? SUSPEND : COMPLETE, time += MS, i);
	}
	end_trace();
}

/* All that a screen asks for. */
static int look_at_all(void)
{
	static struct watch_row rows[TASKS];
	struct watch_wait waits[4];
	struct watch_found found;
	uint64_t at;
	int r = watch_new_trace(&watch, maker_path(), &diag);

	if (r >= 0)
		r = watch_seek(watch, 300 * MS, &diag);
	for (unsigned i = 0; i < 6 && r >= 0; i++) {
		struct watch_query query = {.order = WATCH_BY_NAME + i % 2,
					    .group = i % 3,
					    .filter = i == 3 ? "serve" : NULL};

		r = watch_select(watch, &query, 0, TASKS, rows, &found);
		if (r >= 0)
			r = watch_where(watch, &query, 7, &at);
		r = r == -ENOENT ? 0 : r;
	}
	if (r >= 0)
		r = watch_waits_on(watch, UNWEAVE_WAIT_NONE, 4, waits);
	if (r >= 0)
		r = watch_choose(watch, 7);
	if (r >= 0)
		watch_detail(watch);
	return r;
}

static void any_allocation_may_fail(void)
{
	bool failed = true;

	make_trace();
	for (unsigned most = 1; most != 0; most = most == 1 ? UINT_MAX : 0) {
		failed = true;
		for (unsigned left = 0; failed; left++) {
			int r;

			alloc_watch(left, most);
			r = look_at_all();
			failed = alloc_failed != 0;
			alloc_watched = false;
			/* What only is missing from a screen, such as a name, is no error. */
			CHECK(r >= 0 || (failed && r == -ENOMEM));
			watch = watch_free(watch);
		}
	}
	unlink(maker_path());
}

int main(void)
{
	RUN(any_allocation_may_fail);
	return check_done();
}

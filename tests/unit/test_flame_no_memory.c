/* SPDX-License-Identifier: Apache-2.0 */
/* What makes and writes flame graphs, with every single allocation failing in turn. */
#include <errno.h>
#include <limits.h>

#include "check.h"
#include "failing_alloc.h"
#include "flames.h"

static void fill(struct flame *flame)
{
	char path[64];

	for (unsigned i = 0; i < 200; i++) {
		snprintf(path, sizeof(path), "A serve;R load_%u;N work_%u", i % 10, i);
		flames_add(flame, i % 3 ? FLAME_THIS : FLAME_OTHER, path, PROFILE_CPU, i + 1);
		flames_task(flame, path, PROFILE_CPU, i + 1, "job", i + 1);
	}
}

/* All of it, with the allocation after `left` others failing. Returns -ENOMEM if that hurt. */
static int make(unsigned left)
{
	static const struct model_totals totals;
	struct flame_caption caption = {
		.title = "t", .traces = {"a", "b"}, .totals = {&totals, &totals}};
	struct flame *flame = NULL;
	FILE *to = fopen("/dev/null", "w");
	int r;

	if (!to)
		return -errno;
	setvbuf(to, NULL, _IONBF, 0);
	alloc_watch(left, 1);
	r = flame_new(&flame);
	if (r == 0) {
		fill(flame);
		r = flame_finish(flame, FLAME_CPU, 150);
	}
	if (r == 0)
		r = flame_html(flame, &caption, to);
	if (r == 0)
		r = flame_svg(flame, &caption, to);
	alloc_watched = false;
	flame_free(flame);
	fclose(to);
	return r;
}

static void each_allocation_may_fail(void)
{
	unsigned left = 0;

	for (;; left++) {
		int r = make(left);

		CHECK_EQ(r, alloc_failed ? -ENOMEM : 0);
		if (!alloc_failed)
			break;
	}
	CHECK(left > 20);
}

int main(void)
{
	RUN(each_allocation_may_fail);
	return check_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What takes snapshots, and shows them, with every single allocation failing in turn. */
#include <errno.h>
#include <unistd.h>

#include "check.h"
#include "cli/tree.h"
#include "drain/find.h"
#include "failing_alloc.h"
#include "unweave/callback.h"
#include "unweave/chain.h"

#define REQUESTS 300

static struct {
	struct unweave_chain chain;
	struct unweave_link link;
} requests[REQUESTS];
static struct attachment attachment;
static FILE *nowhere;

static int wait_here(struct unweave_link *link, void *chain)
{
	unweave_chain_push(chain, link);
	return UNWEAVE_STEP_SUSPENDED;
}

/* Tasks that wait for each other, in chains of their own, below one another. */
static void make_tasks(void)
{
	for (int i = 0; i < REQUESTS; i++) {
		unweave_chain_init(&requests[i].chain);
		unweave_link_init(&requests[i].link, wait_here, NULL, i + 1);
		unweave_chain_push(&requests[i].chain, &requests[i].link);
		unweave_chain_start(&requests[i].chain, UNWEAVE_SITE("request"),
				    i ? requests[i - 1].chain.head.task : 0);
		unweave_chain_run(&requests[i].chain, 0);
	}
	for (int i = 0; i < REQUESTS; i++)
		unweave_task_waits(requests[i].chain.head.task, UNWEAVE_WAIT_TASK,
				   requests[(i + 1) % REQUESTS].chain.head.task);
	unweave_callback_arm("timer", (void *)make_tasks, __builtin_return_address(0), 0);
}

static int show(const struct tree_source *source)
{
	struct tree tree = {.source = source,
			    .snapshot = &source->snapshot,
			    .symbols = source->symbols,
			    .chains = true};
	struct tree_choice choice = {.order = TREE_BY_TIME};
	int r = tree_init(&tree, &choice);

	if (r == 0)
		r = tree_text(&tree, nowhere);
	if (r == 0)
		r = tree_json(&tree, nowhere);
	if (r == 0)
		r = tree_folded(&tree, nowhere);
	tree_fini(&tree);
	return r;
}

/* All of it, with the allocation after `left` others failing. */
static int make(unsigned left)
{
	struct symbols_options options = {.no_files = true, .cache = ""};
	struct tree_source source = {.pid = (uint32_t)getpid()};
	int r;

	alloc_watch(left, 1);
	r = symbols_new(&source.symbols, &options);
	if (r == 0)
		r = snapshot_take(&source.snapshot, &attachment);
	if (r == 0)
		r = show(&source);
	alloc_watched = false;
	CHECK(r < 0 || source.snapshot.count == REQUESTS + 1);
	snapshot_fini(&source.snapshot);
	symbols_free(source.symbols);
	return r;
}

static void each_allocation_may_fail(void)
{
	unsigned left = 0;

	for (;; left++) {
		int r = make(left);

		CHECK(r == 0 || (r == -ENOMEM && alloc_failed));
		if (!alloc_failed)
			break;
	}
	CHECK(left > 20);
}

int main(void)
{
	make_tasks();
	nowhere = fopen("/dev/null", "w");
	CHECK(nowhere && find_pid(&attachment, (uint32_t)getpid(), NULL) == 0);
	setvbuf(nowhere, NULL, _IONBF, 0);
	RUN(each_allocation_may_fail);
	fclose(nowhere);
	attach_fini(&attachment);
	return check_done();
}

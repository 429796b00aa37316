/* SPDX-License-Identifier: Apache-2.0 */
/* What a snapshot says of tasks, and what it does not: of this very process, recorded and not. */
#include <errno.h>
#include <unistd.h>

#include "check.h"
#include "drain/find.h"
#include "snapshot/snapshot.h"
#include "unweave/chain.h"

static struct attachment attachment;
static struct snapshot snapshot;
static char trace[] = "/tmp/unweave-snapshot-XXXXXX";

static void begin_recording(enum unweave_detail detail)
{
	struct unweave_options options;

	unweave_options_init(&options);
	options.path = trace;
	options.detail = detail;
	CHECK_EQ(unweave_start(&options), 0);
}

/* The task as a snapshot has it now; NULL: it has not. Stays until the next look. */
static const struct snapshot_task *look_at(uint64_t task)
{
	uint32_t index;

	snapshot_fini(&snapshot);
	CHECK_EQ(snapshot_take(&snapshot, &attachment), 0);
	index = snapshot_find(&snapshot, task);
	return index ? &snapshot.tasks[index - 1] : NULL;
}

static enum snapshot_state state_of(uint64_t task)
{
	const struct snapshot_task *found = look_at(task);

	CHECK(found != NULL);
	return found ? snapshot_state(&snapshot, found) : SNAPSHOT_UNKNOWN;
}

static uint64_t since(uint64_t task)
{
	const struct snapshot_task *found = look_at(task);

	return found ? snapshot_since(&snapshot, found) : 0;
}

static uint64_t new_task(void)
{
	return unweave_task_new(UNWEAVE_SITE("task"), UNWEAVE_MODEL_CHAIN, 0, NULL);
}

static void states_are_those_of_the_events(void)
{
	uint64_t task;

	begin_recording(UNWEAVE_DETAIL_TASKS);
	task = new_task();
	CHECK_EQ(state_of(task), SNAPSHOT_NEW);
	unweave_task_resume(task);
	CHECK_EQ(state_of(task), SNAPSHOT_RUNNING);
	CHECK_EQ(look_at(task)->thread, gettid());
	unweave_task_suspend(task);
	CHECK_EQ(state_of(task), SNAPSHOT_WAITING);
	CHECK(since(task) != 0);
	unweave_task_wake(task, UNWEAVE_SOURCE_IO);
	CHECK_EQ(state_of(task), SNAPSHOT_QUEUED);
	unweave_task_complete(task, UNWEAVE_OK);
	CHECK(!look_at(task));
	unweave_stop();
}

static void what_an_earlier_recording_left_is_not_taken_for_now(void)
{
	uint64_t task, other;

	begin_recording(UNWEAVE_DETAIL_TASKS);
	task = new_task();
	other = new_task();
	unweave_task_resume(other);
	unweave_task_suspend(other);
	unweave_task_resume(task);
	unweave_stop();
	/* Nobody is told. */
	unweave_task_suspend(task);
	CHECK_EQ(state_of(task), SNAPSHOT_UNKNOWN);
	CHECK_EQ(state_of(other), SNAPSHOT_UNKNOWN);
	CHECK_EQ(since(other), 0);
	begin_recording(UNWEAVE_DETAIL_TASKS);
	/* The thread has not heard of it yet. */
	CHECK_EQ(state_of(task), SNAPSHOT_UNKNOWN);
	unweave_task_complete(task, UNWEAVE_OK);
	CHECK_EQ(state_of(other), SNAPSHOT_UNKNOWN);
	unweave_task_resume(other);
	CHECK_EQ(state_of(other), SNAPSHOT_RUNNING);
	unweave_task_complete(other, UNWEAVE_OK);
	unweave_stop();
}

static struct {
	struct unweave_chain chain;
	struct unweave_link links[2];
} request;
static enum snapshot_state seen;
static uint32_t frames_seen;

static int look_around(struct unweave_link *link, void *chain)
{
	const struct snapshot_task *found = look_at(request.chain.head.task);

	seen = found ? snapshot_state(&snapshot, found) : SNAPSHOT_UNKNOWN;
	frames_seen = found ? found->chain_count : 0;
	unweave_chain_push(chain, link);
	return UNWEAVE_STEP_SUSPENDED;
}

static int finish(struct unweave_link *link, void *chain)
{
	(void)link;
	(void)chain;
	return UNWEAVE_STEP_DONE;
}

static void start_request(void)
{
	unweave_chain_init(&request.chain);
	unweave_link_init(&request.links[0], look_around, NULL, 0);
	unweave_link_init(&request.links[1], finish, NULL, 0);
	unweave_chain_push(&request.chain, &request.links[0]);
	unweave_chain_push(&request.chain, &request.links[1]);
	unweave_chain_start(&request.chain, UNWEAVE_SITE("request"), 0);
}

static void a_chain_tells_whether_it_runs(void)
{
	const struct snapshot_task *found;

	start_request();
	CHECK_EQ(state_of(request.chain.head.task), SNAPSHOT_SUSPENDED);
	unweave_chain_run(&request.chain, 0);
	CHECK_EQ(seen, SNAPSHOT_RUNNING);
	/* Something that is not known, and who waits for it. */
	CHECK_EQ(frames_seen, 2);
	found = look_at(request.chain.head.task);
	CHECK_EQ(snapshot_state(&snapshot, found), SNAPSHOT_SUSPENDED);
	CHECK_EQ(found->chain_count, 2);
	CHECK_EQ(snapshot.frames[found->chain].address, (uintptr_t)look_around);
	CHECK_EQ(snapshot.frames[found->chain + 1].address, (uintptr_t)finish);
	unweave_task_complete(request.chain.head.task, UNWEAVE_OK);
}

static void so_it_does_at_detail_samples(void)
{
	begin_recording(UNWEAVE_DETAIL_SAMPLES);
	start_request();
	CHECK_EQ(state_of(request.chain.head.task), SNAPSHOT_SUSPENDED);
	unweave_chain_run(&request.chain, 0);
	CHECK_EQ(seen, SNAPSHOT_RUNNING);
	CHECK_EQ(frames_seen, 2);
	CHECK_EQ(state_of(request.chain.head.task), SNAPSHOT_SUSPENDED);
	unweave_task_complete(request.chain.head.task, UNWEAVE_OK);
	unweave_stop();
}

static void equal_chains_are_kept_once(void)
{
	static struct {
		struct unweave_chain chain;
		struct unweave_link link;
	} many[100];

	for (int i = 0; i < 100; i++) {
		unweave_chain_init(&many[i].chain);
		unweave_link_init(&many[i].link, finish, NULL, i % 2);
		unweave_chain_push(&many[i].chain, &many[i].link);
		unweave_chain_start(&many[i].chain, UNWEAVE_SITE("many"), 0);
	}
	look_at(many[0].chain.head.task);
	CHECK_EQ(snapshot.count, 100);
	CHECK_EQ(snapshot.frame_count, 2);
	for (int i = 0; i < 100; i++)
		unweave_task_complete(many[i].chain.head.task, UNWEAVE_OK);
}

int main(void)
{
	/* Which makes the arena. */
	unweave_task_complete(new_task(), UNWEAVE_OK);
	CHECK(mkstemp(trace) >= 0);
	CHECK_EQ(find_pid(&attachment, (uint32_t)getpid(), NULL), 0);
	RUN(states_are_those_of_the_events);
	RUN(what_an_earlier_recording_left_is_not_taken_for_now);
	RUN(a_chain_tells_whether_it_runs);
	RUN(so_it_does_at_detail_samples);
	RUN(equal_chains_are_kept_once);
	snapshot_fini(&snapshot);
	attach_fini(&attachment);
	unlink(trace);
	return check_done();
}

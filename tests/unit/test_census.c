/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that wait when a session begins: all of them are told, with their chains. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"
#include "unweave/chain.h"
#include "unweave/machine.h"

#define DEEP 3000u
#define MANY 20000u

/* What the census said of a task. */
struct told {
	uint64_t task;
	uint64_t parent;
	uint64_t site;
	uint64_t addresses[8];
	int32_t states[8];
	uint32_t frames; /* may be more than fit */
	uint64_t omitted;
	uint64_t root; /* address of the outermost frame */
	char name[64];
};

static struct told told[MANY + 64];
static size_t told_count;
static size_t others; /* events that are not of the census */

static struct told *find(uint64_t task)
{
	static struct told nothing;

	for (size_t i = 0; i < told_count; i++)
		if (told[i].task == task)
			return &told[i];
	return &nothing;
}

static void note(const struct unweave_event *event, void *data)
{
	struct told *entry;

	(void)data;
	if (!(event->flags & UNWEAVE_EVENT_BEFORE)) {
		others++;
		return;
	}
	if (event->kind == UNWEAVE_EVENT_NAME) {
		snprintf(find(event->task)->name, sizeof(entry->name), "%s", event->text);
		return;
	}
	CHECK_EQ(event->kind, UNWEAVE_EVENT_TASK);
	CHECK(told_count < sizeof(told) / sizeof(told[0]));
	entry = &told[told_count++];
	*entry = (struct told){.task = event->task, .parent = event->other, .site = event->value};
	for (const struct unweave_frame *frame = event->stack; frame; frame = frame->awaiter) {
		if (frame->kind == UNWEAVE_FRAME_OMITTED) {
			entry->omitted = frame->address;
			continue;
		}
		entry->root = frame->address;
		if (entry->frames < 8) {
			entry->addresses[entry->frames] = frame->address;
			entry->states[entry->frames] = frame->state;
		}
		entry->frames++;
	}
}

static void listen(void)
{
	struct unweave_options options;

	told_count = 0;
	others = 0;
	unweave_options_init(&options);
	options.listener = note;
	CHECK_EQ(unweave_start(&options), 0);
}

static void attend(void)
{
	listen();
	unweave_stop();
}

static int wait_again(struct unweave_link *link, void *context)
{
	unweave_chain_push(context, link);
	return UNWEAVE_STEP_SUSPENDED;
}

static int finish(struct unweave_link *link, void *context)
{
	(void)link;
	(void)context;
	return UNWEAVE_STEP_DONE;
}

static void start(struct unweave_chain *chain, struct unweave_link *links, uint32_t count,
		  uint64_t parent)
{
	unweave_chain_init(chain);
	for (uint32_t i = 0; i < count; i++) {
		unweave_link_init(&links[i], i ? finish : wait_again,
				  (const void *)(uintptr_t)(0x1000 + i), (int32_t)i);
		unweave_chain_push(chain, &links[i]);
	}
	unweave_chain_start(chain, UNWEAVE_SITE("census"), parent);
}

static void end(struct unweave_chain *chain)
{
	unweave_task_complete(chain->head.task, UNWEAVE_CANCELLED);
}

static void a_task_from_before_is_told_with_its_chain(void)
{
	struct unweave_link links[3];
	struct unweave_chain chain;
	struct told *entry;

	start(&chain, links, 3, 77);
	unweave_task_name(chain.head.task, "the one");
	CHECK_EQ(unweave_chain_run(&chain, 0), UNWEAVE_STEP_SUSPENDED);
	attend();
	entry = find(chain.head.task);
	CHECK_EQ(entry->task, chain.head.task);
	CHECK_EQ(entry->parent, 77);
	CHECK(entry->site != 0);
	CHECK_STR_EQ(entry->name, "the one");
	CHECK_EQ(entry->frames, 3);
	CHECK_EQ(entry->addresses[0], 0x1000);
	CHECK_EQ(entry->addresses[2], 0x1002);
	CHECK_EQ(entry->states[2], 2);
	CHECK_EQ(entry->omitted, 0);
	CHECK_EQ(others, 0);
	end(&chain);
	attend();
	CHECK_EQ(find(chain.head.task)->task, 0);
}

static int never(struct unweave_link *link, void *context)
{
	(void)link;
	(void)context;
	return 0;
}

static void a_state_machine_from_before_is_told_with_what_awaits_it(void)
{
	struct unweave_box child, parent;
	struct told *entry;

	unweave_box_init(&child, never, (const void *)0x2000, UNWEAVE_SITE("child"));
	unweave_box_init(&parent, never, (const void *)0x2001, NULL);
	child.link.state = 5;
	unweave_box_suspend(&child);
	parent.link.state = 6;
	unweave_box_await(&parent, &child);
	attend();
	entry = find(child.head.task);
	CHECK_EQ(entry->frames, 2);
	CHECK_EQ(entry->addresses[0], 0x2000);
	CHECK_EQ(entry->addresses[1], 0x2001);
	CHECK_EQ(entry->states[0], 5);
	CHECK_EQ(entry->states[1], 6);
	unweave_box_complete(&child, UNWEAVE_OK);
}

static void of_a_deep_chain_both_ends_are_told(void)
{
	static struct unweave_link links[DEEP];
	struct unweave_chain chain;
	struct told *entry;

	start(&chain, links, DEEP, 0);
	attend();
	entry = find(chain.head.task);
	CHECK_EQ(entry->addresses[0], 0x1000);
	CHECK_EQ(entry->root, 0x1000 + DEEP - 1);
	CHECK(entry->omitted > 0);
	CHECK_EQ(entry->frames + entry->omitted, DEEP);
	end(&chain);
}

/* Two that wait for each other. */
static void a_ring_comes_to_an_end(void)
{
	struct unweave_box left, right;

	unweave_box_init(&left, never, (const void *)0x3000, NULL);
	unweave_box_init(&right, never, (const void *)0x3001, NULL);
	unweave_box_suspend(&left);
	unweave_box_suspend(&right);
	unweave_box_await(&left, &right);
	unweave_box_await(&right, &left);
	attend();
	CHECK(find(left.head.task)->frames >= 2 && find(left.head.task)->frames < 8);
	CHECK_EQ(find(left.head.task)->addresses[0], 0x3000);
	CHECK_EQ(find(left.head.task)->addresses[1], 0x3001);
	unweave_box_complete(&left, UNWEAVE_CANCELLED);
	unweave_box_complete(&right, UNWEAVE_CANCELLED);
}

static void raw_tasks_are_told_without_a_chain(void)
{
	uint64_t task = unweave_task_new(UNWEAVE_SITE("raw"), UNWEAVE_MODEL_CHAIN, 3, NULL);

	attend();
	CHECK_EQ(find(task)->task, task);
	CHECK_EQ(find(task)->parent, 3);
	CHECK_EQ(find(task)->frames, 0);
	unweave_task_complete(task, UNWEAVE_OK);
}

static void what_can_not_be_read_is_not_made_up(void)
{
	struct unweave_link links[2];
	struct unweave_chain chain;

	start(&chain, links, 2, 0);
	/* A chain that somebody else has written over. */
	links[0].awaiter = (struct unweave_link *)0x10;
	attend();
	CHECK_EQ(find(chain.head.task)->task, chain.head.task);
	CHECK_EQ(find(chain.head.task)->frames, 0);
	/* And one whose head is another task's by now. */
	links[0].awaiter = &links[1];
	chain.head.task ^= 1;
	attend();
	chain.head.task ^= 1;
	CHECK_EQ(find(chain.head.task)->task, chain.head.task);
	CHECK_EQ(find(chain.head.task)->frames, 0);
	end(&chain);
}

static struct unweave_chain churned[64];
static struct unweave_link churned_links[64][2];
static atomic_bool churning;

static void *churn(void *data)
{
	(void)data;
	for (uint32_t i = 0; atomic_load(&churning); i = (i + 1) % 64)
		unweave_chain_run(&churned[i], 0);
	return NULL;
}

/* Either it was not at rest, or what is said is true. */
static void tasks_that_run_meanwhile_are_told_right_or_without_a_chain(void)
{
	pthread_t thread;
	size_t whole = 0;

	for (uint32_t i = 0; i < 64; i++)
		start(&churned[i], churned_links[i], 2, 0);
	atomic_store(&churning, true);
	CHECK_EQ(pthread_create(&thread, NULL, churn, NULL), 0);
	for (uint32_t round = 0; round < 50; round++) {
		attend();
		for (uint32_t i = 0; i < 64; i++) {
			struct told *entry = find(churned[i].head.task);

			CHECK_EQ(entry->task, churned[i].head.task);
			CHECK(entry->frames == 0 || entry->frames == 2);
			if (!entry->frames)
				continue;
			whole++;
			CHECK_EQ(entry->addresses[0], 0x1000);
			CHECK_EQ(entry->addresses[1], 0x1001);
		}
	}
	atomic_store(&churning, false);
	pthread_join(thread, NULL);
	CHECK(whole > 0);
	for (uint32_t i = 0; i < 64; i++)
		end(&churned[i]);
}

static void many_tasks_are_all_told(void)
{
	static struct unweave_chain chains[MANY];
	static struct unweave_link links[MANY][3];
	size_t found = 0;

	for (uint32_t i = 0; i < MANY; i++)
		start(&chains[i], links[i], 3, 0);
	attend();
	for (size_t i = 0; i < told_count; i++)
		found += told[i].frames == 3;
	CHECK_EQ(found, MANY);
	for (uint32_t i = 0; i < MANY; i++)
		end(&chains[i]);
}

int main(void)
{
	if (check_emulated()) {
		puts("1..0 # SKIP: the emulator does not read the memory of a process");
		return 0;
	}
	RUN(a_task_from_before_is_told_with_its_chain);
	RUN(a_state_machine_from_before_is_told_with_what_awaits_it);
	RUN(of_a_deep_chain_both_ends_are_told);
	RUN(a_ring_comes_to_an_end);
	RUN(raw_tasks_are_told_without_a_chain);
	RUN(what_can_not_be_read_is_not_made_up);
	RUN(tasks_that_run_meanwhile_are_told_right_or_without_a_chain);
	RUN(many_tasks_are_all_told);
	return check_done();
}

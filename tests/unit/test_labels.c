/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/labels.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

#define MANY (UINT64_C(3) << 19) /* half as much again as are kept */

static void name(struct labels *labels, uint64_t task, const char *text)
{
	struct unweave_event event = {.kind = UNWEAVE_EVENT_NAME, .task = task, .text = text};

	labels_note(labels, &event);
}

static void complete(struct labels *labels, uint64_t task)
{
	struct unweave_event event = {.kind = UNWEAVE_EVENT_COMPLETE, .task = task};

	labels_note(labels, &event);
}

static const char *called(const struct labels *labels, uint64_t task)
{
	static struct label label;

	/* Names of their own need no reader. */
	label = labels_of_task(labels, NULL, NULL, task);
	return label.text;
}

static void a_task_is_called_by_its_latest_name(void)
{
	struct labels labels;

	CHECK_EQ(labels_init(&labels), 0);
	CHECK_STR_EQ(called(&labels, 7), "");
	name(&labels, 7, "first");
	name(&labels, 7, "second");
	CHECK_STR_EQ(called(&labels, 7), "second");
	name(&labels, 7, "");
	CHECK_STR_EQ(called(&labels, 7), "");
	labels_fini(&labels);
}

static void a_task_that_is_done_keeps_its_name(void)
{
	struct labels labels;

	CHECK_EQ(labels_init(&labels), 0);
	name(&labels, 7, "awaited late");
	complete(&labels, 7);
	complete(&labels, 7);
	CHECK_STR_EQ(called(&labels, 7), "awaited late");
	labels_fini(&labels);
}

static void those_that_are_done_make_room_for_new_ones(void)
{
	struct labels labels;

	CHECK_EQ(labels_init(&labels), 0);
	name(&labels, 1, "lives");
	for (uint64_t task = 2; task < MANY; task++) {
		name(&labels, task, "short");
		complete(&labels, task);
	}
	CHECK_STR_EQ(called(&labels, 1), "lives");
	CHECK_STR_EQ(called(&labels, 2), "");
	CHECK_STR_EQ(called(&labels, MANY - 1), "short");
	labels_fini(&labels);
}

static void too_many_live_tasks_leave_the_newest_without_a_name(void)
{
	struct labels labels;

	CHECK_EQ(labels_init(&labels), 0);
	for (uint64_t task = 1; task < MANY; task++)
		name(&labels, task, "lives");
	CHECK_STR_EQ(called(&labels, 1), "lives");
	CHECK_STR_EQ(called(&labels, MANY - 1), "");
	labels_fini(&labels);
}

int main(void)
{
	RUN(a_task_is_called_by_its_latest_name);
	RUN(a_task_that_is_done_keeps_its_name);
	RUN(those_that_are_done_make_room_for_new_ones);
	RUN(too_many_live_tasks_leave_the_newest_without_a_name);
	return check_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The task table: what a reader finds there about a task. */
#include "collect.h"
#include "live.h"

static void a_task_has_a_slot_from_its_creation_to_its_completion(void)
{
	struct unweave_site *site = UNWEAVE_SITE("somewhere");
	uint32_t before = count_live();
	uint64_t parent = new_task();
	uint64_t task = unweave_task_new(site, MACHINE, parent, NULL);
	struct table_task entry = entry_of(task);

	CHECK_EQ(entry.id, task);
	CHECK_EQ(task & 1, MACHINE);
	CHECK_EQ(entry.parent, parent);
	CHECK(site->id && entry.site == site->id);
	CHECK_EQ(entry.state, ARENA_TASK_NEW);
	CHECK_EQ(entry.changed, 0);
	CHECK_EQ(entry.runs, 0);
	CHECK_EQ(entry.busy, 0);
	CHECK_STR_EQ(entry.name, "");
	CHECK_EQ(count_live(), before + 2);
	end_task(task);
	CHECK_EQ(entry_of(task).id, 0);
	end_task(parent);
	CHECK_EQ(count_live(), before);
}

static void what_comes_after_the_completion_of_a_task_changes_nothing(void)
{
	uint64_t task = new_task(), next;

	end_task(task);
	next = new_task();
	CHECK_EQ(table_index(next), table_index(task));
	CHECK(next > task);
	unweave_task_name(task, "late");
	unweave_task_waits(task, UNWEAVE_WAIT_IO, 3);
	end_task(task);
	end_task(task);
	emit_task_head(task, 77);
	CHECK_EQ(entry_of(next).id, next);
	CHECK_EQ(entry_of(next).head, 0);
	CHECK_EQ(entry_of(next).waits, UNWEAVE_WAIT_NONE);
	CHECK_STR_EQ(entry_of(next).name, "");
	end_task(next);
}

static void a_task_goes_through_its_states(void)
{
	struct table_task entry;
	uint64_t task;

	collect_begin(0);
	task = new_task();
	entry = entry_of(task);
	CHECK_EQ(entry.state, ARENA_TASK_NEW);
	CHECK(entry.changed);
	unweave_task_resume(task);
	CHECK_EQ(entry_of(task).state, ARENA_TASK_NEW);
	CHECK_EQ(emit_self()->hot.nest->tasks[0], task);
	unweave_task_suspend(task);
	CHECK_EQ(entry_of(task).state, ARENA_TASK_WAITING);
	CHECK(entry_of(task).changed >= entry.changed);
	unweave_task_wake(task, UNWEAVE_SOURCE_TASK);
	CHECK_EQ(entry_of(task).state, ARENA_TASK_QUEUED);
	CHECK_EQ(entry_of(task).source, UNWEAVE_SOURCE_TASK);
	unweave_task_resume(task);
	unweave_task_suspend(task);
	CHECK_EQ(entry_of(task).state, ARENA_TASK_WAITING);
	unweave_task_wake(task, UNWEAVE_SOURCE_IO);
	CHECK_EQ(entry_of(task).state, ARENA_TASK_QUEUED);
	CHECK_EQ(entry_of(task).source, UNWEAVE_SOURCE_IO);
	unweave_task_resume(task);
	end_task(task);
	CHECK_EQ(entry_of(task).id, 0);
	unweave_stop();
}

static void pass(uint64_t ticks)
{
	uint64_t start = clock_ticks(emit_process.clock);

	while (clock_ticks(emit_process.clock) - start < ticks)
		;
}

static void a_task_that_is_woken_while_it_runs_stays_queued_at_its_suspension(void)
{
	const uint64_t address = 0x401000;
	const struct unweave_stack stack = {.addresses = &address, .count = 1};
	uint64_t task;

	collect_begin(0);
	task = new_task();
	for (int i = 0; i < 3; i++) {
		unweave_task_resume(task);
		pass(10);
		unweave_task_wake(task, UNWEAVE_SOURCE_TIMER);
		if (i == 0)
			unweave_task_suspend(task);
		else if (i == 1)
			unweave_task_suspend_stack(task, &stack);
		else
			unweave_task_leave(task, NULL);
		unweave_thread_idle();
		CHECK_EQ(entry_of(task).state, ARENA_TASK_QUEUED);
		CHECK_EQ(entry_of(task).source, UNWEAVE_SOURCE_TIMER);
	}
	CHECK_EQ(entry_of(task).runs, 3);
	end_task(task);
	unweave_stop();
}

/* How a run ends, and what that adds to the slot. */
static void check_three_runs(void (*end)(uint64_t task))
{
	struct table_task entry;
	uint64_t before, after, task = new_task();

	for (uint32_t i = 1; i <= 3; i++) {
		uint64_t busy = entry_of(task).busy;

		before = clock_ticks(emit_process.clock);
		unweave_task_resume(task);
		pass(1000);
		end(task);
		after = clock_ticks(emit_process.clock);
		entry = entry_of(task);
		CHECK_EQ(entry.runs, i);
		CHECK(entry.busy - busy >= 1000 && entry.busy - busy <= after - before);
		CHECK_EQ(entry.state, ARENA_TASK_WAITING);
		CHECK(entry.changed > before && entry.changed <= after);
	}
	end_task(task);
}

static void end_by_suspend(uint64_t task)
{
	unweave_task_suspend(task);
}

static void end_by_leave(uint64_t task)
{
	unweave_task_leave(task, NULL);
	unweave_thread_idle();
}

static void end_by_leave_and_resume(uint64_t task)
{
	uint64_t other = new_task();

	unweave_task_leave(task, NULL);
	unweave_task_resume(other);
	end_task(other);
}

static void runs_and_their_time_are_added_up_however_they_end(void)
{
	collect_begin(0);
	check_three_runs(end_by_suspend);
	check_three_runs(end_by_leave);
	check_three_runs(end_by_leave_and_resume);
	unweave_stop();
	/* The slow ways. */
	collect_begin(UNWEAVE_KEYWORDS_BOTH(UNWEAVE_KEYWORD_NAME));
	check_three_runs(end_by_suspend);
	check_three_runs(end_by_leave);
	check_three_runs(end_by_leave_and_resume);
	unweave_stop();
}

static void runs_inside_of_runs_have_their_own_time(void)
{
	uint64_t outer, inner;

	collect_begin(0);
	outer = new_task();
	inner = new_task();
	unweave_task_resume(outer);
	pass(1000);
	unweave_task_resume(inner);
	pass(1000);
	/* Two runs end, and no record says when in between. */
	unweave_task_leave(inner, NULL);
	unweave_task_leave(outer, NULL);
	unweave_thread_idle();
	CHECK_EQ(entry_of(inner).runs, 1);
	CHECK_EQ(entry_of(outer).runs, 1);
	CHECK(entry_of(inner).busy >= 1000);
	CHECK(entry_of(outer).busy >= entry_of(inner).busy + 1000);
	end_task(inner);
	end_task(outer);
	unweave_stop();
}

static void a_run_that_was_left_before_the_session_ended_counts_no_time_of_nobodys(void)
{
	uint64_t task = new_task();

	collect_begin(0);
	unweave_task_resume(task);
	unweave_task_leave(task, NULL);
	unweave_stop();
	pass(10000);
	collect_begin(0);
	unweave_thread_idle();
	CHECK(entry_of(task).busy < 10000);
	unweave_stop();
	end_task(task);
}

static void runs_that_began_before_the_events_count_from_then(void)
{
	struct unweave_options options;
	uint64_t task = new_task(), before;

	unweave_options_init(&options);
	options.listener = collect;
	options.listener_data = &collected;
	options.detail = UNWEAVE_DETAIL_SAMPLES;
	CHECK_EQ(unweave_start(&options), 0);
	unweave_task_resume(task);
	pass(10000);
	before = clock_ticks(emit_process.clock);
	CHECK_EQ(unweave_set_keywords(UNWEAVE_KEYWORDS_FULL), 0);
	unweave_flush();
	unweave_task_suspend(task);
	CHECK_EQ(entry_of(task).runs, 1);
	CHECK(entry_of(task).busy <= clock_ticks(emit_process.clock) - before);
	unweave_stop();
	end_task(task);
}

static void at_detail_samples_the_slots_stay_as_they_are(void)
{
	struct unweave_options options;
	uint64_t task, child;

	unweave_options_init(&options);
	options.listener = collect;
	options.listener_data = &collected;
	options.detail = UNWEAVE_DETAIL_SAMPLES;
	CHECK_EQ(unweave_start(&options), 0);
	task = new_task();
	unweave_task_resume(task);
	child = unweave_task_new(NULL, CHAIN, UNWEAVE_PARENT_CURRENT, NULL);
	CHECK_EQ(entry_of(child).parent, task);
	unweave_task_suspend(task);
	CHECK_EQ(entry_of(task).state, ARENA_TASK_NEW);
	CHECK_EQ(entry_of(task).changed, 0);
	CHECK_EQ(entry_of(task).runs, 0);
	unweave_task_resume(child);
	end_task(child);
	CHECK_EQ(emit_self()->hot.nest->tasks[0], 0);
	CHECK_EQ(entry_of(child).id, 0);
	end_task(task);
	unweave_stop();
}

static void a_name_is_kept_at_every_detail(void)
{
	static const char *const longer =
		"0123456789012345678901234567890123456789012345678901234567890123456789";
	uint64_t task = new_task(), other;

	unweave_task_name(task, "a name");
	CHECK_STR_EQ(entry_of(task).name, "a name");
	unweave_task_name(task, longer);
	CHECK_EQ(strlen(entry_of(task).name), 63);
	CHECK(strncmp(entry_of(task).name, longer, 63) == 0);
	for (int i = 0; i < 600; i++)
		unweave_task_name(task, i % 2 ? "odd" : "even");
	CHECK_STR_EQ(entry_of(task).name, "odd");
	collect_begin(0);
	unweave_task_name(task, "while recorded");
	unweave_stop();
	CHECK_STR_EQ(entry_of(task).name, "while recorded");
	CHECK_STR_EQ(collect_nth(UNWEAVE_EVENT_NAME, 0)->text, "while recorded");
	unweave_task_name(task, NULL);
	CHECK_STR_EQ(entry_of(task).name, "");
	unweave_task_name(task, "the last");
	end_task(task);
	other = new_task();
	CHECK_EQ(table_index(other), table_index(task));
	CHECK_STR_EQ(entry_of(other).name, "");
	end_task(other);
}

static void what_a_task_waits_for_is_kept_at_every_detail(void)
{
	uint64_t task = new_task();

	unweave_task_waits(task, UNWEAVE_WAIT_LOCK, 0x7fff1234);
	CHECK_EQ(entry_of(task).waits, UNWEAVE_WAIT_LOCK);
	CHECK_EQ(entry_of(task).awaits, 0x7fff1234);
	collect_begin(0);
	unweave_task_resume(task);
	unweave_task_waits(task, UNWEAVE_WAIT_TASK, task);
	unweave_task_suspend(task);
	unweave_task_wake(task, UNWEAVE_SOURCE_OTHER);
	CHECK_EQ(entry_of(task).waits, UNWEAVE_WAIT_TASK);
	CHECK_EQ(entry_of(task).awaits, task);
	CHECK_EQ(entry_of(task).state, ARENA_TASK_QUEUED);
	unweave_stop();
	emit_task_head(task, 0x5000);
	CHECK_EQ(entry_of(task).head, 0x5000);
	end_task(task);
}

static void run_once(uint64_t task, enum unweave_wait told)
{
	unweave_task_resume(task);
	if (told)
		unweave_task_waits(task, told, 8);
	unweave_task_suspend(task);
}

static void what_a_task_waited_for_is_forgotten_with_the_next_run(void)
{
	uint64_t task, left;

	collect_begin(0);
	task = new_task();
	left = new_task();
	run_once(task, UNWEAVE_WAIT_TASK);
	CHECK_EQ(entry_of(task).waits, UNWEAVE_WAIT_TASK);
	run_once(task, UNWEAVE_WAIT_NONE);
	CHECK_EQ(entry_of(task).waits, UNWEAVE_WAIT_NONE);
	/* While it waits, by whoever knows. */
	unweave_task_waits(task, UNWEAVE_WAIT_LOCK, 8);
	CHECK_EQ(entry_of(task).waits, UNWEAVE_WAIT_LOCK);
	run_once(task, UNWEAVE_WAIT_NONE);
	CHECK_EQ(entry_of(task).waits, UNWEAVE_WAIT_NONE);
	run_once(task, UNWEAVE_WAIT_IO);
	run_once(task, UNWEAVE_WAIT_TIMER);
	CHECK_EQ(entry_of(task).waits, UNWEAVE_WAIT_TIMER);
	/* The end of this run is noted with the next event. */
	unweave_task_resume(left);
	unweave_task_waits(left, UNWEAVE_WAIT_IO, 3);
	unweave_task_leave(left, NULL);
	run_once(task, UNWEAVE_WAIT_NONE);
	CHECK_EQ(entry_of(left).waits, UNWEAVE_WAIT_IO);
	unweave_stop();
	end_task(task);
	end_task(left);
}

static void a_table_that_does_not_fit_the_mapping_is_refused(void)
{
	struct arena_control *control = calloc(1, sizeof(*control));
	struct table table = {.max = 77};
	struct table_task entry;
	uint64_t bytes = ARENA_POOL_AT + table_all_bytes(256);

	control->tasks_at = ARENA_POOL_AT;
	control->task_names_at = ARENA_POOL_AT + table_bytes(256);
	control->tasks_max = 256;
	CHECK(table_view(&table, control, control, bytes));
	CHECK_EQ(table.max, 256);
	CHECK(!table_view(&table, control, control, bytes - 1));
	control->tasks_max = UINT32_MAX;
	CHECK(!table_view(&table, control, control, bytes));
	control->tasks_max = 256;
	control->tasks_at = UINT64_MAX - 4095;
	CHECK(!table_view(&table, control, control, bytes));
	control->tasks_at = 0;
	CHECK(!table_view(&table, control, control, bytes));
	/* What the program says later is not believed. */
	control->tasks_ready = UINT32_MAX;
	CHECK_EQ(table_ready(&table), 256);
	CHECK(!table_read(&table, 256, &entry));
	CHECK(!table_read(&table, 0, &entry));
	control->tasks_max = 0;
	CHECK(table_view(&table, control, control, 0));
	CHECK(!table_read(&table, 1, &entry));
	free(control);
}

int main(void)
{
	RUN(a_task_has_a_slot_from_its_creation_to_its_completion);
	RUN(what_comes_after_the_completion_of_a_task_changes_nothing);
	RUN(a_task_goes_through_its_states);
	RUN(a_task_that_is_woken_while_it_runs_stays_queued_at_its_suspension);
	RUN(runs_and_their_time_are_added_up_however_they_end);
	RUN(runs_inside_of_runs_have_their_own_time);
	RUN(a_run_that_was_left_before_the_session_ended_counts_no_time_of_nobodys);
	RUN(runs_that_began_before_the_events_count_from_then);
	RUN(at_detail_samples_the_slots_stay_as_they_are);
	RUN(a_name_is_kept_at_every_detail);
	RUN(what_a_task_waits_for_is_kept_at_every_detail);
	RUN(what_a_task_waited_for_is_forgotten_with_the_next_run);
	RUN(a_table_that_does_not_fit_the_mapping_is_refused);
	return check_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a watch shows of traces whose every run and wait the test knows, at moments of them. */
#include "unweave/callback.h"
#include "watch_trace.h"

/* One task, 16, that runs 110-130, waits, is woken at 180, runs 200-250, and ends; and 32, which
 * stays. */
static void make_two(void)
{
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put(one, UNWEAVE_EVENT_RESET, 100 * MS, 0);
	put_full(one, CREATE, 100 * MS, 16, 0, 1, 0x200);
	put(one, RESUME, 110 * MS, 16);
	put_full(one, CREATE, 120 * MS, 32, 16, 2, 0);
	put_full(one, SUSPEND, 130 * MS, 16, 0, 0, 0x300);
	put(one, RESUME, 140 * MS, 32);
	put_full(one, SUSPEND, 150 * MS, 32, 0, 0, 0);
	put_full(one, WAKE, 180 * MS, 16, 32, UNWEAVE_SOURCE_IO, 0);
	put(one, RESUME, 200 * MS, 16);
	put_full(one, COMPLETE, 250 * MS, 16, 0, UNWEAVE_OK, 0);
	put_full(one, WAKE, 300 * MS, 32, 32, UNWEAVE_SOURCE_TASK, 0);
	open_watch();
}

static void a_trace_opens_at_its_end(void)
{
	const struct watch_totals *all;
	struct watch_task stays;

	make_two();
	all = watch_totals(watch);
	CHECK_EQ(all->source, WATCH_TRACE);
	CHECK_EQ(all->now, 300 * MS);
	CHECK_EQ(all->first, 100 * MS);
	CHECK_EQ(all->alive, 1);
	CHECK_EQ(all->states[WATCH_QUEUED], 1);
	CHECK_EQ(all->created, 2);
	CHECK_EQ(all->ended, 1);
	CHECK_STR_EQ(all->program, "/usr/bin/server");
	CHECK_STR_EQ(watch_note(watch), "");
	CHECK(watch_task_find(watch, 16) == NULL);
	stays = task(32);
	CHECK_EQ(stays.parent, 16);
	CHECK_EQ(stays.busy, 10 * MS);
	CHECK_EQ(stays.queued, 20 * MS);
	CHECK_EQ(stays.waited, 150 * MS);
	CHECK_EQ(stays.self_wakes, 1);
	CHECK_EQ(stays.site, 2);
	close_watch();
}

static void a_moment_has_the_state_and_the_figures_of_then(void)
{
	struct watch_task now;

	make_two();
	go_to(115);
	now = task(16);
	CHECK_EQ(now.state, WATCH_RUNNING);
	CHECK_EQ(now.thread, 1);
	CHECK_EQ(now.since, 110 * MS);
	CHECK_EQ(now.busy, 5 * MS);
	CHECK_EQ(now.queued, 10 * MS);
	CHECK_EQ(now.runs, 1);
	go_to(170);
	now = task(16);
	CHECK_EQ(now.state, WATCH_WAITING);
	CHECK_EQ(now.busy, 20 * MS);
	CHECK_EQ(now.waited, 40 * MS);
	CHECK_EQ(now.runs, 1);
	go_to(190);
	now = task(16);
	CHECK_EQ(now.state, WATCH_QUEUED);
	CHECK_EQ(now.source, UNWEAVE_SOURCE_IO);
	CHECK_EQ(now.since, 180 * MS);
	CHECK_EQ(now.waited, 50 * MS);
	CHECK_EQ(now.queued, 20 * MS);
	/* And back. */
	go_to(105);
	now = task(16);
	CHECK_EQ(now.state, WATCH_QUEUED);
	CHECK_EQ(now.queued, 5 * MS);
	CHECK_EQ(now.runs, 0);
	CHECK_EQ(watch_totals(watch)->alive, 1);
	CHECK_EQ(watch_totals(watch)->created, 1);
	go_to(100000);
	CHECK_EQ(watch_totals(watch)->now, 300 * MS);
	go_to(0);
	CHECK_EQ(watch_totals(watch)->now, 100 * MS);
	close_watch();
}

static void a_site_has_the_sums_of_its_tasks_also_of_those_that_ended(void)
{
	const struct watch_site *site;
	char text[WATCH_TEXT];

	make_two();
	site = watch_site_find(watch, 1);
	CHECK_EQ(site->alive, 0);
	CHECK_EQ(site->created, 1);
	CHECK_EQ(site->ended, 1);
	CHECK_EQ(site->busy, 70 * MS);
	CHECK_EQ(site->waited, 50 * MS);
	CHECK_EQ(site->queued, 30 * MS);
	CHECK_EQ(site->runs, 2);
	CHECK_EQ(site->longest_run, 50 * MS);
	CHECK_EQ(site->longest_task, 16);
	CHECK_EQ(site->run->count, 2);
	CHECK_EQ(site->run->sum, 70 * MS);
	CHECK_EQ(site->wait->sum, 50 * MS);
	CHECK_EQ(site->queue->sum, 30 * MS);
	watch_site_name(watch, 1, text);
	CHECK_STR_EQ(text, "accept");
	watch_site_place(watch, 1, text);
	CHECK_STR_EQ(text, "serve server.c:42");
	go_to(170);
	site = watch_site_find(watch, 1);
	CHECK_EQ(site->ended, 0);
	CHECK_EQ(site->alive, 1);
	CHECK_EQ(site->states[WATCH_WAITING], 1);
	CHECK_EQ(site->run->count, 1);
	CHECK_EQ(site->wait->count, 1);
	CHECK_EQ(site->waited, 40 * MS);
	CHECK_EQ(site->longest_run, 20 * MS);
	close_watch();
}

static void a_thread_says_what_it_runs_and_how_busy_it_was(void)
{
	const struct watch_thread *thread;

	make_two();
	CHECK_EQ(watch_thread_count(watch), 2);
	thread = watch_thread_at(watch, 0);
	CHECK_STR_EQ(thread->name, "one");
	CHECK_EQ(thread->busy_all, 80 * MS);
	CHECK_EQ(thread->task, 0);
	go_to(210);
	thread = watch_thread_at(watch, 0);
	CHECK_EQ(thread->task, 16);
	CHECK_EQ(thread->task_ns, 10 * MS);
	CHECK_EQ(thread->busy_all, 40 * MS);
	/* From there on, the interval begins. */
	go_to(260);
	thread = watch_thread_at(watch, 0);
	CHECK_EQ(watch_totals(watch)->interval, 50 * MS);
	CHECK_EQ(thread->busy, 40 * MS);
	CHECK_EQ(thread->runs_now, 1);
	CHECK_EQ(watch_totals(watch)->ended_now, 1);
	CHECK_EQ(watch_totals(watch)->created_now, 0);
	/* That one has said nothing. */
	CHECK_EQ(watch_thread_at(watch, 1)->busy, WATCH_UNKNOWN);
	CHECK_EQ(watch_thread_at(watch, 1)->idle, WATCH_UNKNOWN);
	CHECK_EQ(watch_thread_at(watch, 1)->runs_now, WATCH_UNKNOWN);
	close_watch();
}

static void what_is_chosen_keeps_its_runs_and_wakers(void)
{
	const struct watch_detail *detail;

	make_two();
	go_to(100);
	CHECK(watch_detail(watch) == NULL);
	CHECK_EQ(watch_choose(watch, 16), 0);
	go_to(240);
	detail = watch_detail(watch);
	CHECK(detail != NULL);
	if (!detail)
		return;
	CHECK_STR_EQ(detail->row.name, "accept");
	CHECK_EQ(detail->chosen, 100 * MS);
	CHECK_EQ(detail->ended, false);
	CHECK_EQ(detail->run_count, 2);
	CHECK_EQ(detail->runs[0].start, 200 * MS);
	CHECK_EQ(detail->runs[0].end, 0);
	CHECK_EQ(detail->runs[0].waited, 50 * MS);
	CHECK_EQ(detail->runs[0].queued, 20 * MS);
	CHECK_EQ(detail->runs[1].start, 110 * MS);
	CHECK_EQ(detail->runs[1].end, 130 * MS);
	CHECK_EQ(detail->run->count, 1);
	CHECK_EQ(detail->wait->count, 2);
	CHECK_EQ(detail->child_count, 1);
	CHECK_EQ(detail->children[0], 32);
	CHECK_EQ(detail->waker_count, 2);
	CHECK_EQ(detail->wakers[0].wakes, 1);
	CHECK_EQ(detail->frame_count, 2);
	CHECK_EQ(detail->frames[0].address, 0x300);
	CHECK_EQ(detail->frames[1].address, 0x100);
	go_to(300);
	detail = watch_detail(watch);
	CHECK_EQ(detail->ended, true);
	CHECK_EQ(detail->end, MODEL_OK);
	CHECK_EQ(detail->run->count, 2);
	CHECK_STR_EQ(detail->no_frames, "it has ended");
	close_watch();
}

static void put_callbacks(uint32_t id, const char *kind, uint32_t flags)
{
	maker_callbacks(&maker, &(struct meta_site){.id = id,
						    .kind = maker_text(kind),
						    .code = 0x500000 + id,
						    .place = 0x400000 + id,
						    .flags = flags});
}

/* A loop, 16, that wakes at 200 and calls 32 at 210, which was ready since; 48 and 64 wait. */
static void make_loop(void)
{
	struct encoder *one;

	begin_trace();
	put_callbacks(3, "loop", UNWEAVE_SITE_STANDING | UNWEAVE_SITE_LOOP);
	put_callbacks(4, "read", 0);
	put_callbacks(5, "timer", 0);
	one = maker_stream(&maker, 1, false, 0);
	put(one, UNWEAVE_EVENT_RESET, 100 * MS, 0);
	put_full(one, CREATE, 100 * MS, 16, 0, 3, 0);
	put_full(one, CREATE, 110 * MS, 32, 16, 4, 0);
	put_full(one, CREATE, 110 * MS, 48, 16, 4, 0);
	put_full(one, CREATE, 120 * MS, 64, 16, 5, 0);
	put(one, UNWEAVE_EVENT_IDLE, 150 * MS, 16);
	put(one, UNWEAVE_EVENT_WOKE, 200 * MS, 16);
	put(one, RESUME, 210 * MS, 32);
	put(one, COMPLETE, 230 * MS, 32);
	put(one, UNWEAVE_EVENT_IDLE, 240 * MS, 16);
	put(one, UNWEAVE_EVENT_WOKE, 300 * MS, 16);
	open_watch();
}

static void a_loop_has_its_lag_and_its_iterations(void)
{
	const struct watch_thread *thread;

	make_loop();
	CHECK_EQ(task(16).state, WATCH_STANDING);
	thread = watch_thread_at(watch, 0);
	CHECK_EQ(thread->loop, 16);
	CHECK_EQ(thread->iterations, 1);
	CHECK_EQ(thread->iteration->max, 40 * MS);
	CHECK_EQ(thread->lag->count, 1);
	CHECK_EQ(thread->lag->max, 10 * MS);
	CHECK_EQ(thread->idle, 110 * MS);
	go_to(170);
	CHECK_EQ(watch_thread_at(watch, 0)->idle, 20 * MS);
	close_watch();
}

static void callbacks_wait_for_what_their_kind_says(void)
{
	const struct watch_wait *io;
	struct watch_wait waits[2];

	make_loop();
	go_to(130);
	io = watch_waits(watch, UNWEAVE_WAIT_IO);
	CHECK_EQ(io->tasks, 2);
	CHECK_EQ(io->longest, 20 * MS);
	CHECK_EQ(io->task, 32);
	CHECK_EQ(watch_waits(watch, UNWEAVE_WAIT_TIMER)->tasks, 1);
	CHECK_EQ(watch_waits(watch, UNWEAVE_WAIT_NONE)->tasks, 0);
	CHECK_EQ(task(48).awaits, WATCH_UNKNOWN);
	CHECK_EQ(watch_waits_on(watch, UNWEAVE_WAIT_IO, 2, waits), 1);
	CHECK_EQ(waits[0].tasks, 2);
	CHECK_EQ(waits[0].on, WATCH_UNKNOWN);
	close_watch();
}

static void check_row(uint64_t id, uint64_t age, uint64_t in_state)
{
	struct watch_row rows[8];
	struct watch_found found;
	int count = watch_select(watch, &(struct watch_query){0}, 0, 8, rows, &found), seen = 0;

	for (int i = 0; i < count; i++) {
		if (rows[i].task.id != id)
			continue;
		seen++;
		CHECK_EQ(rows[i].age, age);
		CHECK_EQ(rows[i].in_state, in_state);
	}
	CHECK_EQ(seen, 1);
}

static void check_untold(uint64_t id, enum watch_state state)
{
	struct watch_task one = task(id);

	CHECK_EQ(one.state, state);
	CHECK_EQ(one.busy, WATCH_UNKNOWN);
	CHECK_EQ(one.waited, WATCH_UNKNOWN);
	CHECK_EQ(one.queued, WATCH_UNKNOWN);
	CHECK_EQ(one.runs, WATCH_UNKNOWN);
	CHECK_EQ(one.wakes, WATCH_UNKNOWN);
	CHECK_EQ(one.self_wakes, WATCH_UNKNOWN);
	check_row(id, WATCH_UNKNOWN, WATCH_UNKNOWN);
}

/* 16 is woken at 200 and runs from 210 on; 32 had a chain; 48 is a timer; of 64 nobody hears. */
static void make_old_ones(void)
{
	struct encoder *one, *two;

	begin_trace();
	put_callbacks(3, "timer", 0);
	one = maker_stream(&maker, 1, false, 0);
	two = maker_stream(&maker, 2, false, 0);
	put(one, UNWEAVE_EVENT_RESET, 100 * MS, 0);
	put_full(one, UNWEAVE_EVENT_TASK, 100 * MS, 16, 0, 1, 0);
	put_full(one, UNWEAVE_EVENT_TASK, 100 * MS, 32, 0, 1, 0x200);
	put_full(one, UNWEAVE_EVENT_TASK, 100 * MS, 48, 0, 3, 0);
	put_full(one, UNWEAVE_EVENT_TASK, 100 * MS, 64, 0, 2, 0);
	put(one, UNWEAVE_EVENT_IDLE, 120 * MS, 0);
	put_full(one, WAKE, 200 * MS, 16, 0, UNWEAVE_SOURCE_IO, 0);
	put(two, UNWEAVE_EVENT_RESET, 210 * MS, 0);
	put(two, RESUME, 210 * MS, 16);
	put(two, SUSPEND, 220 * MS, 16);
	put(two, UNWEAVE_EVENT_IDLE, 230 * MS, 0);
	put(two, UNWEAVE_EVENT_WOKE, 300 * MS, 0);
	open_watch();
}

static void what_a_task_from_before_does_is_unknown_until_it_is_heard(void)
{
	make_old_ones();
	go_to(150);
	check_untold(16, WATCH_UNTOLD);
	/* A chain that could be read is one of a task that does not run. */
	check_untold(32, WATCH_STILL);
	check_untold(48, WATCH_UNTOLD);
	CHECK_EQ(watch_totals(watch)->states[WATCH_WAITING], 0);
	CHECK_EQ(watch_site_find(watch, 1)->busy, WATCH_UNKNOWN);
	CHECK_EQ(watch_site_find(watch, 1)->runs, WATCH_UNKNOWN);
	go_to(205);
	CHECK_EQ(task(16).state, WATCH_QUEUED);
	CHECK_EQ(task(16).wakes, 1);
	CHECK_EQ(task(16).runs, 0);
	check_row(16, WATCH_UNKNOWN, 5 * MS);
	/* Somebody of the site was heard. */
	CHECK_EQ(watch_site_find(watch, 1)->wakes, 1);
	go_to(225);
	CHECK_EQ(task(16).state, WATCH_WAITING);
	CHECK_EQ(task(16).busy, 10 * MS);
	check_row(16, WATCH_UNKNOWN, 5 * MS);
	check_untold(64, WATCH_UNTOLD);
	close_watch();
}

/* All threads have been idle since, so that none can be in a callback unheard. */
static void a_callback_from_before_waits_once_all_threads_were_idle(void)
{
	make_old_ones();
	go_to(225);
	check_untold(48, WATCH_UNTOLD);
	go_to(240);
	check_untold(48, WATCH_WAITING);
	CHECK_EQ(task(48).waits, UNWEAVE_WAIT_TIMER);
	CHECK_EQ(watch_waits(watch, UNWEAVE_WAIT_TIMER)->tasks, 1);
	CHECK_EQ(watch_waits(watch, UNWEAVE_WAIT_TIMER)->longest, WATCH_UNKNOWN);
	check_untold(64, WATCH_UNTOLD);
	close_watch();
}

static void groups_leave_out_what_is_unknown(void)
{
	struct watch_query query = {
		.group = WATCH_GROUP_SITE, .order = WATCH_BY_SITE, .ascending = true};
	struct watch_row rows[4];
	struct watch_found found;

	make_old_ones();
	go_to(225);
	CHECK_EQ(watch_select(watch, &query, 0, 4, rows, &found), 3);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(rows[i].task.runs, rows[i].task.site == 1 ? 1 : WATCH_UNKNOWN);
		CHECK_EQ(rows[i].task.busy, rows[i].task.site == 1 ? 10 * MS : WATCH_UNKNOWN);
		CHECK_EQ(rows[i].age, WATCH_UNKNOWN);
	}
	close_watch();
}

static int note_circle(void *data, const uint64_t *tasks, uint32_t count)
{
	*(uint64_t *)data += tasks[0] + tasks[count - 1];
	return 0;
}

static void at_its_end_a_trace_says_what_tasks_wait_for(void)
{
	uint64_t circle = 0;
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	for (uint64_t task_id = 16; task_id <= 32; task_id += 16) {
		put_full(one, CREATE, (100 + task_id) * MS, task_id, 0, 1, 0);
		put(one, RESUME, (101 + task_id) * MS, task_id);
		put(one, SUSPEND, (102 + task_id) * MS, task_id);
	}
	maker_flush(&maker);
	buffer_put_varint(&maker.buffer, 134 * MS);
	buffer_put_varint(&maker.buffer, 0);
	buffer_put_varint(&maker.buffer, 2);
	for (uint64_t task_id = 16; task_id <= 32; task_id += 16)
		meta_wait_encode(&maker.buffer, &(struct meta_wait){.task = task_id,
								    .kind = UNWEAVE_WAIT_TASK,
								    .on = 48 - task_id});
	maker_block(&maker, BLOCK_WAITS, 134 * MS);
	open_watch();
	CHECK_EQ(watch_waits(watch, UNWEAVE_WAIT_TASK)->tasks, 2);
	CHECK_EQ(task(16).awaits, 32);
	CHECK_EQ(watch_cycles(watch, note_circle, &circle), 0);
	CHECK_EQ(circle, 48);
	/* Before, nobody knows. */
	go_to(133);
	CHECK_EQ(watch_waits(watch, UNWEAVE_WAIT_TASK)->tasks, 0);
	close_watch();
}

static uint32_t tapped;

static int count_run(void *data, const struct model_run *run)
{
	CHECK(data == &tapped);
	tapped += run->task->id == 16;
	return 0;
}

static void who_taps_hears_what_the_model_says(void)
{
	struct model_sink sink = {.run = count_run, .data = &tapped};

	make_two();
	go_to(100);
	watch_tap(watch, &sink);
	go_to(300);
	CHECK_EQ(tapped, 2);
	close_watch();
}

struct reading {
	unsigned calls, until; /* it is to stop at that one; 0: never */
	unsigned last;         /* per cent */
	bool back;             /* it was less than before */
};

static bool read_on(void *data, unsigned per_cent)
{
	struct reading *reading = data;

	reading->back |= per_cent < reading->last || per_cent > 100;
	reading->last = per_cent;
	return ++reading->calls != reading->until;
}

/* One task runs and waits, again and again, for 20 s. */
static void make_long(void)
{
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put(one, UNWEAVE_EVENT_RESET, 1 * MS, 0);
	put_full(one, CREATE, 1 * MS, 16, 0, 1, 0);
	for (unsigned i = 1; i <= 10000; i++) {
		put(one, RESUME, 2 * i * MS, 16);
		put_full(one, SUSPEND, (2 * i + 1) * MS, 16, 0, 0, 0);
	}
	open_watch();
}

static void reading_can_be_stopped_and_goes_on_from_there(void)
{
	struct reading whole = {0}, stopped = {.until = 2};
	uint64_t reached;

	make_long();
	watch_on_reading(watch, read_on, &whole);
	go_to(19000);
	CHECK(whole.calls >= 4 && whole.last > 50 && !whole.back);
	CHECK_EQ(watch_totals(watch)->now, 19000 * MS);
	watch_on_reading(watch, read_on, &stopped);
	go_to(18000);
	reached = watch_totals(watch)->now;
	CHECK_EQ(stopped.calls, 2);
	CHECK(reached > 5000 * MS && reached < 12000 * MS);
	CHECK_EQ(task(16).runs, (reached / MS) / 2);
	/* The same as if it had been read in one go. */
	go_to(18000);
	CHECK_EQ(watch_totals(watch)->now, 18000 * MS);
	CHECK_EQ(task(16).runs, 9000);
	CHECK_EQ(task(16).busy, 8999 * MS);
	close_watch();
}

int main(void)
{
	RUN(a_trace_opens_at_its_end);
	RUN(a_moment_has_the_state_and_the_figures_of_then);
	RUN(a_site_has_the_sums_of_its_tasks_also_of_those_that_ended);
	RUN(a_thread_says_what_it_runs_and_how_busy_it_was);
	RUN(what_is_chosen_keeps_its_runs_and_wakers);
	RUN(a_loop_has_its_lag_and_its_iterations);
	RUN(callbacks_wait_for_what_their_kind_says);
	RUN(what_a_task_from_before_does_is_unknown_until_it_is_heard);
	RUN(a_callback_from_before_waits_once_all_threads_were_idle);
	RUN(groups_leave_out_what_is_unknown);
	RUN(at_its_end_a_trace_says_what_tasks_wait_for);
	RUN(who_taps_hears_what_the_model_says);
	RUN(reading_can_be_stopped_and_goes_on_from_there);
	return check_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* When callbacks became ready, what stands, and what loops did, where the test knows it. */
#include "model_loops.h"

/* The last run of a task. */
static void put_run(struct encoder *stream, uint64_t start, uint64_t end, uint64_t task)
{
	put(stream, RESUME, start, task);
	put(stream, COMPLETE, end, task);
}

/* A call of task 20, the READ that stands. */
static void put_call(struct encoder *stream, uint64_t start, uint64_t end, uint64_t task)
{
	put_full(stream, CREATE, start, task, 20, READ_CALL, 0);
	put_run(stream, start, end, task);
}

static void what_a_loop_calls_was_ready_when_it_woke(void)
{
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put_full(one, CREATE, 100, 10, 0, LOOP, 0);
	put_full(one, CREATE, 110, 20, 0, READ, 0);
	put_full(one, CREATE, 120, 30, 0, TIMER, 0);
	put(one, IDLE, 150, 10);
	put(one, WOKE, 200, 10);
	put_call(one, 210, 250, 22);
	put_run(one, 260, 300, 30); /* it had to wait for the other */
	put(one, IDLE, 310, 10);
	put(one, WOKE, 400, 10);
	put_full(one, COMPLETE, 410, 20, 0, UNWEAVE_CANCELLED, 0);
	put_full(one, COMPLETE, 450, 10, 0, UNWEAVE_CANCELLED, 0);
	end_trace();
	read_window(0, UINT64_MAX, everything);
	note_wait(&expected, 22, 200, 200, 210, 0, CODE(READ_CALL), " first");
	note_run(&expected, 22, 1, 0, 210, 250, 0, CODE(READ_CALL), " last");
	note_task(&expected, 22, 20, "read", 200, 250, 40, 0, 10, 1, MODEL_OK);
	note_wait(&expected, 30, 120, 200, 260, 0, CODE(TIMER), " first");
	note_run(&expected, 30, 1, 0, 260, 300, 0, CODE(TIMER), " last");
	note_task(&expected, 30, 0, "timer", 120, 300, 40, 80, 60, 1, MODEL_OK);
	note_task(&expected, 20, 0, "read", 110, 410, 0, 0, 0, 0, MODEL_CANCELLED);
	note_task(&expected, 10, 0, "loop", 100, 450, 0, 0, 0, 0, MODEL_CANCELLED);
	/* When the second iteration was left nobody said. */
	note_loop(&expected, 10, "1", 2, 140, 110, 2, 80);
	note_worst(&expected, 10, 200, 110, 2, 40, 1);
	note_lag(&expected, 10, 2, 70, 60);
	compare();
	CHECK_EQ(totals.waits, 2);
	CHECK_EQ(totals.pending, 80);
	CHECK_EQ(totals.queued, 70);
}

static void note_ready(struct told *to, uint64_t task, uint64_t start, uint64_t woken, uint64_t end,
		       uint64_t waker, enum unweave_source source, uint32_t thread)
{
	note(to,
	     "ready %" PRIu64 " %" PRIu64 "-%" PRIu64 "-%" PRIu64 " by %" PRIu64
	     " source %u thread %u",
	     task, start, woken, end, waker, source, thread);
}

static int on_ready(void *data, const struct model_wait *wait)
{
	(void)data;
	note_ready(&told, wait->task->id, wait->start, wait->woken, wait->end, wait->waker,
		   wait->source, wait->thread);
	return 0;
}

static void what_was_due_was_ready_then(void)
{
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put_full(one, CREATE, 100, 20, 0, READ, 0);
	put_full(one, CREATE, 120, 30, 0, TIMER, 0);
	put_full(one, CREATE, 250, 32, 0, TIMER, 0);
	put(one, IDLE, 260, 10);
	put(one, WOKE, 400, 10);
	put_full(one, DUE, 410, 0, 0, 60, 0);
	put_call(one, 410, 420, 22);
	put_full(one, DUE, 430, 0, 0, 100, 0);
	put_run(one, 430, 440, 30);
	/* It cannot have been due before it was armed. */
	put_full(one, DUE, 440, 0, 0, 1000, 0);
	put_run(one, 440, 450, 32);
	/* Nor can a call before what stands was there; and a word counts once. */
	put_full(one, DUE, 460, 0, 0, 1000, 0);
	put_call(one, 460, 470, 24);
	put_call(one, 480, 490, 26);
	end_trace();
	read_window(0, UINT64_MAX, (struct model_sink){.wait = on_ready});
	note_ready(&expected, 22, 350, 350, 410, 0, UNWEAVE_SOURCE_TIMER, 0);
	note_ready(&expected, 30, 120, 330, 430, 0, UNWEAVE_SOURCE_TIMER, 0);
	note_ready(&expected, 32, 250, 250, 440, 0, UNWEAVE_SOURCE_TASK, 1);
	note_ready(&expected, 24, 100, 100, 460, 0, UNWEAVE_SOURCE_TIMER, 0);
	note_ready(&expected, 26, 400, 400, 480, 0, UNWEAVE_SOURCE_OTHER, 0);
	compare();
}

static void a_wake_of_what_stands_is_its_next_calls(void)
{
	struct encoder *one, *two;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	two = maker_stream(&maker, 2, false, 0);
	put_full(one, CREATE, 100, 20, 0, READ, 0);
	put(one, IDLE, 110, 10);
	put_full(two, WAKE, 150, 20, 77, UNWEAVE_SOURCE_TASK, 0);
	put_full(two, WAKE, 160, 20, 78, UNWEAVE_SOURCE_TASK, 0); /* it was already */
	put(one, WOKE, 200, 10);
	put_call(one, 210, 220, 22);
	put_call(one, 230, 240, 24);
	end_trace();
	read_window(0, UINT64_MAX, (struct model_sink){.wait = on_ready, .task = on_task});
	note_ready(&expected, 22, 150, 150, 210, 77, UNWEAVE_SOURCE_TASK, 2);
	note_ready(&expected, 24, 200, 200, 230, 0, UNWEAVE_SOURCE_OTHER, 0);
	note_task(&expected, 22, 20, "read", 150, 220, 10, 0, 60, 1, MODEL_OK);
	note_task(&expected, 24, 20, "read", 200, 240, 10, 0, 30, 1, MODEL_OK);
	note_task(&expected, 20, 0, "read", 100, 240, 0, 0, 0, 0, MODEL_INCOMPLETE);
	note_task(&expected, 10, 0, "", 110, 240, 0, 0, 0, 0, MODEL_INCOMPLETE);
	compare();
	CHECK_EQ(totals.wakes, 2);
}

/* A thread of a pool has no loop: what it is given waits for it from the start. */
static void work_is_queued_for_the_pool_and_then_for_the_loop(void)
{
	struct encoder *one, *two;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	two = maker_stream(&maker, 2, false, 0);
	put_full(one, CREATE, 100, 30, 7, WORK, 0);
	put(one, IDLE, 110, 10);
	put(two, RESUME, 150, 30);
	put(two, SUSPEND, 180, 30);
	put(one, WOKE, 200, 10);
	put_run(one, 220, 230, 30);
	/* One that nobody ever runs waits, and is not queued. */
	put_full(one, CREATE, 230, 32, 0, TIMER, 0);
	put_full(one, COMPLETE, 250, 32, 0, UNWEAVE_CANCELLED, 0);
	end_trace();
	read_window(0, UINT64_MAX, (struct model_sink){.wait = on_ready});
	note_ready(&expected, 30, 100, 100, 150, 7, UNWEAVE_SOURCE_TASK, 1);
	note_ready(&expected, 30, 180, 200, 220, 0, UNWEAVE_SOURCE_OTHER, 0);
	note_ready(&expected, 32, 230, 0, 250, 0, 0, 1);
	compare();
}

static void a_loop_inside_of_a_callback_counts_for_itself(void)
{
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put_full(one, CREATE, 100, 20, 0, READ, 0);
	put_full(one, CREATE, 100, 30, 0, TIMER, 0);
	put(one, IDLE, 110, 10);
	put(one, WOKE, 200, 10);
	put_full(one, CREATE, 210, 22, 20, READ_CALL, 0);
	put(one, RESUME, 210, 22);
	put(one, IDLE, 220, 12);
	put(one, WOKE, 300, 12);
	put_run(one, 310, 350, 30);
	/* The inner loop is left at some time. */
	put(one, COMPLETE, 400, 22);
	put_call(one, 410, 420, 24);
	put(one, IDLE, 500, 10);
	put(one, UNWEAVE_EVENT_NAME, 600, 20);
	end_trace();
	read_window(0, UINT64_MAX, (struct model_sink){.wait = on_ready, .loop = on_loop});
	note_ready(&expected, 22, 200, 200, 210, 0, UNWEAVE_SOURCE_OTHER, 0);
	note_ready(&expected, 30, 100, 300, 310, 0, UNWEAVE_SOURCE_OTHER, 0);
	note_ready(&expected, 24, 200, 200, 410, 0, UNWEAVE_SOURCE_OTHER, 0);
	note_worst(&expected, 10, 200, 300, 2, 190, 1);
	note_worst(&expected, 12, 300, 50, 1, 40, 0);
	note_loop(&expected, 10, "1", 1, 190, 300, 2, 200);
	note_lag(&expected, 10, 2, 220, 210);
	note_loop(&expected, 12, "1", 1, 80, 50, 1, 40);
	note_lag(&expected, 12, 1, 10, 10);
	compare();
}

static void a_loss_leaves_no_loop_behind(void)
{
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put_full(one, CREATE, 100, 30, 0, TIMER, 0);
	put_full(one, CREATE, 105, 20, 0, READ, 0);
	put(one, IDLE, 110, 10);
	put(one, WOKE, 200, 10);
	put_full(one, UNWEAVE_EVENT_LOST, 300, 0, UNWEAVE_LOSS_FULL, 7, 0);
	put_full(one, UNWEAVE_EVENT_RESET, 300, 0, 0, UNWEAVE_RESET_LOSS, 0);
	put_run(one, 400, 450, 30);
	put_call(one, 460, 470, 22);
	end_trace();
	read_window(0, UINT64_MAX, (struct model_sink){.wait = on_ready, .loop = on_loop});
	note_ready(&expected, 30, 100, 100, 400, 0, UNWEAVE_SOURCE_TASK, 1);
	note_ready(&expected, 22, 460, 460, 460, 0, UNWEAVE_SOURCE_OTHER, 0);
	note_loop(&expected, 10, "1", 0, 90, 0, 0, 0);
	note_worst(&expected, 10, 0, 0, 0, 0, 0);
	note_lag(&expected, 10, 0, 0, 0);
	compare();
}

static void a_window_cuts_iterations_and_waits(void)
{
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put_full(one, CREATE, 100, 10, 0, LOOP, 0);
	put_full(one, CREATE, 100, 20, 0, READ, 0);
	put(one, IDLE, 110, 10);
	put(one, WOKE, 200, 10);
	put_call(one, 210, 240, 22);
	put_call(one, 260, 280, 24);
	put(one, IDLE, 300, 10);
	put(one, WOKE, 500, 10);
	end_trace();
	read_window(250, 400, everything);
	note_wait(&expected, 24, 250, 250, 260, 0, CODE(READ_CALL), " first begin?");
	note_run(&expected, 24, 1, 0, 260, 280, 0, CODE(READ_CALL), " last");
	note_task(&expected, 24, 20, "read", 200, 280, 20, 0, 10, 1, MODEL_OK);
	note_task(&expected, 20, 0, "read", 100, 400, 0, 0, 0, 0, MODEL_INCOMPLETE);
	note_task(&expected, 10, 0, "loop", 100, 400, 0, 0, 0, 0, MODEL_INCOMPLETE);
	note_worst(&expected, 10, 250, 50, 1, 20, 0);
	note_loop(&expected, 10, "1", 1, 100, 50, 1, 20);
	note_lag(&expected, 10, 1, 60, 60);
	compare();
}

int main(void)
{
	RUN(what_a_loop_calls_was_ready_when_it_woke);
	RUN(what_was_due_was_ready_then);
	RUN(a_wake_of_what_stands_is_its_next_calls);
	RUN(work_is_queued_for_the_pool_and_then_for_the_loop);
	RUN(a_loop_inside_of_a_callback_counts_for_itself);
	RUN(a_loss_leaves_no_loop_behind);
	RUN(a_window_cuts_iterations_and_waits);
	free(told.lines);
	free(expected.lines);
	return check_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of which the test knows everything, since it decides it: threads that
 * are in loops, whose callbacks are in loops of their own.
 */
#include "model_loops.h"

#define THREADS 3u /* the last one has no loop: it is a pool's */
#define HANDLES 6u
#define ONCE 12u
#define DEEP 4u

struct truth {
	uint64_t id, parent, created;
	uint32_t site;
	enum { AWAY, WAITS, RUNS } state;
	bool first, early;
	uint64_t since, woken, waker; /* of what stands: the wake that is to come */
	uint64_t busy, pending, queued, runs;
};

/* A loop, of each depth of each thread. */
struct loop_truth {
	uint64_t id;
	uint64_t seen; /* since then it is known; 0: it never was in use */
	uint64_t idle, woke, last;
	struct {
		uint64_t start, ns, runs, longest, end, ready;
	} now, worst;
	uint64_t iterations, idle_ns, busy, runs, running;
	uint64_t lags, lag_ns, lag_most;
};

/* One thing that a thread is inside of. */
struct level {
	struct loop_truth *loop; /* or NULL: a run */
	struct truth *task;
	uint64_t start, inner;
	bool left; /* it was in a loop: what it calls then would seem to be in there */
};

static struct truth handles[HANDLES], once[ONCE], calls[THREADS][DEEP];
static struct loop_truth loops[THREADS][DEEP];
static struct level levels[THREADS][2 * DEEP];
static uint32_t heights[THREADS], depths[THREADS];
static struct encoder *streams[THREADS];
static uint64_t now, ids;

static struct level *top(uint32_t thread)
{
	return heights[thread] ? &levels[thread][heights[thread] - 1] : NULL;
}

static struct loop_truth *loop_around(uint32_t thread)
{
	for (uint32_t i = heights[thread]; i; i--)
		if (levels[thread][i - 1].loop)
			return levels[thread][i - 1].loop;
	return NULL;
}

static void truth_end_wait(struct truth *task, const char *marks)
{
	char all[64];

	snprintf(all, sizeof(all), "%s%s", task->first ? " first" : "", marks);
	note_wait(&expected, task->id, task->since, task->woken, now, task->waker, CODE(task->site),
		  all);
	task->pending += (task->woken ? task->woken : now) - task->since;
	task->queued += task->woken ? now - task->woken : 0;
}

static void truth_end_task(struct truth *task, int end)
{
	const char *const labels[] = {"", "loop", "read", "read", "timer", "work"};

	note_task(&expected, task->id, task->parent, labels[task->site], task->created, now,
		  task->busy, task->pending, task->queued, task->runs, end);
	task->state = AWAY;
}

/* Ends at `end`: where the thread waits again, or where it was last seen in it. */
static void truth_end_iteration(struct loop_truth *loop, uint64_t end)
{
	loop->now.start = loop->woke;
	loop->now.ns = end - loop->woke;
	if (!loop->iterations || loop->now.ns > loop->worst.ns)
		loop->worst = loop->now;
	loop->iterations++;
	loop->busy += end - loop->woke;
	loop->woke = 0;
}

static void truth_end_run(uint32_t thread, const char *marks)
{
	struct level level = levels[thread][--heights[thread]];
	uint64_t length = now - level.start;

	depths[thread]--;
	note_run(&expected, level.task->id, thread + 1, depths[thread], level.start, now,
		 level.inner, CODE(level.task->site), marks);
	level.task->busy += length;
	level.task->runs++;
	for (uint32_t i = heights[thread]; i; i--) {
		if (levels[thread][i - 1].loop)
			continue;
		levels[thread][i - 1].inner += length;
		break;
	}
	if (top(thread) && top(thread)->loop) {
		struct loop_truth *loop = top(thread)->loop;

		loop->last = now;
		loop->runs++;
		loop->running += length;
		loop->now.runs++;
		if (length > loop->now.longest) {
			loop->now.longest = length;
			loop->now.end = now;
			loop->now.ready = 0;
		}
	}
}

static uint64_t running(uint32_t thread)
{
	for (uint32_t i = heights[thread]; i; i--)
		if (levels[thread][i - 1].task)
			return levels[thread][i - 1].task->id;
	return 0;
}

static void truth_begin_run(uint32_t thread, struct truth *task)
{
	const struct level *around = top(thread);

	if (around && around->loop) {
		uint64_t lag = now - task->woken;

		around->loop->lags++;
		around->loop->lag_ns += lag;
		if (lag > around->loop->lag_most)
			around->loop->lag_most = lag;
		around->loop->now.ready += task->woken < around->loop->now.end;
		around->loop->worst.ready += task->woken < around->loop->worst.end;
	}
	truth_end_wait(task, "");
	task->state = RUNS;
	task->early = false;
	levels[thread][heights[thread]++] = (struct level){.task = task, .start = now};
	depths[thread]++;
	put(streams[thread], RESUME, now, task->id);
}

static void act_arm(uint32_t thread, struct truth *task, uint32_t site)
{
	*task = (struct truth){.id = ++ids * 2,
			       .parent = running(thread),
			       .created = now,
			       .site = site,
			       .state = WAITS,
			       .first = true,
			       .since = now};
	put_full(streams[thread], CREATE, now, task->id, task->parent, site, 0);
}

/* Says how late it is, or nothing; returns when it was due, or 0. */
static uint64_t act_due(uint32_t thread)
{
	uint64_t late = 1 + any(400);

	if (any(3))
		return 0;
	put_full(streams[thread], DUE, now, 0, 0, late, 0);
	return now - late;
}

/* A task that was armed once, or waits again. */
static void act_resume(uint32_t thread, struct truth *task)
{
	uint64_t due = act_due(thread);
	struct loop_truth *loop = loop_around(thread);
	uint64_t ready = due ? due : loop ? loop->woke : 0;

	if (!task->woken) {
		task->woken = ready < task->since ? task->since : ready;
		task->waker = task->first && ready < task->since ? task->parent : 0;
	}
	truth_begin_run(thread, task);
}

static void act_fire(uint32_t thread, struct truth *handle)
{
	struct truth *task = &calls[thread][depths[thread]];
	uint64_t due = act_due(thread);
	struct loop_truth *loop = loop_around(thread);
	uint64_t ready = due ? due : loop ? loop->woke : now;

	if (handle->woken)
		ready = handle->woken;
	if (ready < handle->created)
		ready = handle->created;
	*task = (struct truth){.id = ++ids * 2,
			       .parent = handle->id,
			       .created = ready,
			       .site = READ_CALL,
			       .first = true,
			       .since = ready,
			       .woken = ready,
			       .waker = handle->woken ? handle->waker : 0};
	handle->woken = 0;
	put_full(streams[thread], CREATE, now, task->id, handle->id, READ_CALL, 0);
	truth_begin_run(thread, task);
}

static void act_end_run(uint32_t thread)
{
	struct truth *task = top(thread)->task;

	if (task->site == READ_CALL || any(2)) {
		truth_end_run(thread, " last");
		put(streams[thread], COMPLETE, now, task->id);
		truth_end_task(task, MODEL_OK);
		return;
	}
	truth_end_run(thread, "");
	put(streams[thread], SUSPEND, now, task->id);
	task->state = WAITS;
	task->first = false;
	task->since = now;
	task->woken = task->early ? now : 0;
	if (!task->early)
		task->waker = 0;
	task->early = false;
}

static void act_wake(uint32_t thread, struct truth *task)
{
	uint64_t waker = 1 + any(100);

	put_full(streams[thread], WAKE, now, task->id, waker, 0, 0);
	if (task->state == RUNS ? task->early : task->woken != 0)
		return;
	task->waker = waker;
	if (task->state == RUNS)
		task->early = true;
	else
		task->woken = now;
}

static void act_drop(uint32_t thread, struct truth *task)
{
	if (task->site != READ)
		truth_end_wait(task, "");
	put_full(streams[thread], COMPLETE, now, task->id, 0, UNWEAVE_CANCELLED, 0);
	truth_end_task(task, MODEL_CANCELLED);
}

static void act_idle(uint32_t thread, struct loop_truth *loop)
{
	if (loop->woke)
		truth_end_iteration(loop, now);
	if (!loop->seen)
		loop->seen = now;
	loop->idle = now;
	put(streams[thread], IDLE, now, loop->id);
}

static void act_enter_loop(uint32_t thread)
{
	struct loop_truth *loop = &loops[thread][depths[thread]];

	levels[thread][heights[thread]++] = (struct level){.loop = loop};
	act_idle(thread, loop);
}

static void act_woke(uint32_t thread, struct loop_truth *loop)
{
	loop->idle_ns += now - loop->idle;
	loop->idle = 0;
	loop->woke = loop->last = now;
	memset(&loop->now, 0, sizeof(loop->now));
	put(streams[thread], WOKE, now, loop->id);
}

/* Something is called, if it can be. */
static void act_call(uint32_t thread)
{
	struct truth *handle = &handles[any(HANDLES)], *task = &once[any(ONCE)];

	if (depths[thread] == DEEP)
		return;
	if (any(2) && handle->state != AWAY)
		act_fire(thread, handle);
	else if (task->state == WAITS)
		act_resume(thread, task);
}

/* What a program does at any place. */
static void act_inside(uint32_t thread)
{
	struct truth *handle = &handles[any(HANDLES)], *task = &once[any(ONCE)];

	if (handle->state == AWAY)
		act_arm(thread, handle, READ);
	else if (any(3) == 0)
		act_wake(thread, handle);
	else if (any(20) == 0)
		act_drop(thread, handle);
	else if (task->state == AWAY)
		act_arm(thread, task, any(2) ? TIMER : WORK);
	else if (any(3) == 0)
		act_wake(thread, task);
	else if (any(9) == 0 && task->state == WAITS)
		act_drop(thread, task);
}

static void act_in_loop(uint32_t thread, struct loop_truth *loop)
{
	if (loop->idle) {
		act_woke(thread, loop);
	} else if (any(4) == 0) {
		act_idle(thread, loop);
	} else if (any(4) == 0 && heights[thread] > 1) {
		/* It is left, and nobody says so. */
		truth_end_iteration(loop, loop->last);
		heights[thread]--;
		top(thread)->left = true;
	} else {
		act_call(thread);
	}
}

static void act(void)
{
	uint32_t thread = (uint32_t)any(THREADS);
	struct level *level = top(thread);
	bool pool = thread + 1 == THREADS;

	now += 1 + any(50);
	if (!level && !pool)
		act_enter_loop(thread);
	else if (level && level->loop)
		act_in_loop(thread, level->loop);
	else if (any(3) == 0)
		act_inside(thread);
	else if (level && any(4) == 0 && depths[thread] < DEEP && !pool && !level->left)
		act_enter_loop(thread);
	else if (level && (any(2) || level->left))
		act_end_run(thread);
	else
		act_call(thread);
}

/* The trace ends in the middle of it all. */
static void truth_end(void)
{
	put(streams[0], UNWEAVE_EVENT_FRAME_RESUME, ++now, 1);
	for (uint32_t thread = 0; thread < THREADS; thread++) {
		while (heights[thread]) {
			struct loop_truth *loop = top(thread)->loop;
			struct truth *task = top(thread)->task;

			if (task) {
				truth_end_run(thread, " end?");
				if (task->site == READ_CALL)
					truth_end_task(task, MODEL_INCOMPLETE);
				continue;
			}
			if (loop->idle)
				loop->idle_ns += now - loop->idle;
			else
				truth_end_iteration(loop, loop->last);
			heights[thread]--;
		}
	}
}

static void truth_end_loops(uint32_t thread)
{
	char text[8];

	snprintf(text, sizeof(text), "%u", thread + 1);
	for (uint32_t i = 0; i < DEEP; i++) {
		const struct loop_truth *loop = &loops[thread][i];

		if (!loop->seen)
			continue;
		note_loop(&expected, loop->id, text, loop->iterations, loop->idle_ns, loop->busy,
			  loop->runs, loop->running);
		note_lag(&expected, loop->id, loop->lags, loop->lag_ns, loop->lag_most);
		note_worst(&expected, loop->id, loop->worst.start, loop->worst.ns, loop->worst.runs,
			   loop->worst.longest, loop->worst.ready);
		note_task(&expected, loop->id, 0, "", loop->seen, now, 0, 0, 0, 0,
			  MODEL_INCOMPLETE);
	}
}

static void run_program(uint64_t number)
{
	seed = number * UINT64_C(0x9e3779b97f4a7c15) + 1;
	now = 1000;
	ids = 1000;
	memset(handles, 0, sizeof(handles));
	memset(once, 0, sizeof(once));
	memset(loops, 0, sizeof(loops));
	memset(heights, 0, sizeof(heights));
	memset(depths, 0, sizeof(depths));
	begin_trace();
	maker_thread(&maker, 3, "pool");
	for (uint32_t i = 0; i < THREADS; i++) {
		streams[i] = maker_stream(&maker, i + 1, false, 0);
		for (uint32_t j = 0; j < DEEP; j++)
			loops[i][j].id = 100 + i * 20 + j * 2;
	}
	for (uint32_t i = 0; i < 4000; i++)
		act();
	truth_end();
	for (uint32_t i = 0; i < THREADS; i++)
		truth_end_loops(i);
	end_trace();
}

static void end_the_rest(void)
{
	for (uint32_t i = 0; i < HANDLES; i++)
		if (handles[i].state != AWAY)
			truth_end_task(&handles[i], MODEL_INCOMPLETE);
	for (uint32_t i = 0; i < ONCE; i++) {
		if (once[i].state == WAITS)
			truth_end_wait(&once[i], " end?");
		if (once[i].state != AWAY)
			truth_end_task(&once[i], MODEL_INCOMPLETE);
	}
}

static void random_programs_are_told_as_they_were(void)
{
	for (uint64_t number = 1; number <= 12 && !check_failed; number++) {
		run_program(number);
		end_the_rest();
		read_window(0, UINT64_MAX, everything);
		compare();
		CHECK(told.count > 2000);
	}
}

int main(void)
{
	RUN(random_programs_are_told_as_they_were);
	free(told.lines);
	free(expected.lines);
	return check_done();
}

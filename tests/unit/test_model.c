/* SPDX-License-Identifier: Apache-2.0 */
/* What a model tells of traces whose every run and wait the test knows. */
#include "model_told.h"
#include "trace/samples.h"

static void begin_trace(void)
{
	expected.count = 0;
	maker_init(&maker, maker_path(), false);
	maker_session(&maker, 1000000000);
	maker_thread(&maker, 1, "one");
	maker_thread(&maker, 2, "two");
	maker_site(&maker, 1, "accept", "serve", "server.c", 42);
	maker_site(&maker, 2, "", "handle", "server.c", 50);
}

static void a_task_runs_waits_and_ends(void)
{
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put(one, UNWEAVE_EVENT_RESET, 100, 0);
	put_full(one, CREATE, 100, 16, 0, 1, 0x200);
	put(one, RESUME, 110, 16);
	put_full(one, SUSPEND, 130, 16, 0, 0, 0x300);
	put_full(one, WAKE, 180, 16, 0, UNWEAVE_SOURCE_IO, 0);
	put(one, RESUME, 200, 16);
	put_full(one, COMPLETE, 250, 16, 0, UNWEAVE_ERROR, 0);
	end_trace();
	read_back();
	note_wait(&expected, 16, 100, 100, 110, 0, 0x200, " first");
	note_run(&expected, 16, 1, 0, 110, 130, 0, 0x300, "");
	note_wait(&expected, 16, 130, 180, 200, 0, 0x300, "");
	note_run(&expected, 16, 1, 0, 200, 250, 0, 0x300, " last");
	note_task(&expected, 16, 0, "accept", 100, 250, 70, 50, 30, 2, MODEL_ERROR);
	compare();
	CHECK_EQ(totals.tasks, 1);
	CHECK_EQ(totals.completed, 1);
	CHECK_EQ(totals.busy, 70);
	CHECK_EQ(totals.pending, 50);
	CHECK_EQ(totals.queued, 30);
	CHECK_EQ(totals.wakes, 1);
	CHECK_EQ(totals.live_most, 1);
}

static void a_wake_before_the_suspension_queues_it_at_once(void)
{
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put(one, RESUME, 100, 16);
	put_full(one, WAKE, 110, 16, 16, 0, 0);
	put_full(one, SUSPEND, 120, 16, 0, 0, 0x300);
	put(one, RESUME, 150, 16);
	put_full(one, SUSPEND, 160, 16, 0, 0, 0x300);
	end_trace();
	read_back();
	note_run(&expected, 16, 1, 0, 100, 120, 0, 0x300, "");
	note_wait(&expected, 16, 120, 120, 150, 16, 0x300, "");
	note_run(&expected, 16, 1, 0, 150, 160, 0, 0x300, "");
	note_wait(&expected, 16, 160, 0, 160, 0, 0x300, " end?");
	note_task(&expected, 16, 0, "", 100, 160, 30, 0, 30, 2, MODEL_INCOMPLETE);
	compare();
}

static void a_state_machine_is_created_to_wait(void)
{
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put_full(one, CREATE, 100, 17, 0, 2, 0x200);
	put(one, RESUME, 150, 17);
	put(one, COMPLETE, 160, 17);
	end_trace();
	read_back();
	note_wait(&expected, 17, 100, 0, 150, 0, 0x200, " first");
	note_run(&expected, 17, 1, 0, 150, 160, 0, 0x200, " last");
	note_task(&expected, 17, 0, "task in handle", 100, 160, 10, 50, 0, 1, MODEL_OK);
	compare();
}

static void a_task_that_goes_on_elsewhere_has_left_before(void)
{
	struct encoder *one, *two;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	two = maker_stream(&maker, 2, false, 0);
	put(one, RESUME, 100, 16);
	put(two, RESUME, 130, 16);
	put_full(two, SUSPEND, 140, 16, 0, 0, 0x300);
	/* It had left at some time; its thread's next record is the first that has one. */
	put_full(one, SUSPEND, 190, 16, 0, 0, 0x400);
	put(one, RESUME, 190, 18);
	put(one, COMPLETE, 200, 18);
	end_trace();
	read_back();
	note_run(&expected, 16, 1, 0, 100, 130, 0, 0, "");
	note_run(&expected, 16, 2, 0, 130, 140, 0, 0x300, "");
	note_wait(&expected, 16, 140, 0, 200, 0, 0x300, " end?");
	note_run(&expected, 18, 1, 0, 190, 200, 0, 0, " last");
	note_task(&expected, 18, 0, "", 190, 200, 10, 0, 0, 1, MODEL_OK);
	note_task(&expected, 16, 0, "", 100, 200, 40, 60, 0, 2, MODEL_INCOMPLETE);
	compare();
}

static void a_loss_ends_what_is_known(void)
{
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put(one, UNWEAVE_EVENT_RESET, 90, 0);
	put(one, RESUME, 100, 16);
	put(one, RESUME, 110, 18);
	put_full(one, UNWEAVE_EVENT_LOST, 200, 0, UNWEAVE_LOSS_FULL, 7, 0);
	put_full(one, UNWEAVE_EVENT_RESET, 200, 0, 0, UNWEAVE_RESET_LOSS, 0);
	put(one, UNWEAVE_EVENT_REPLAY, 200, 16);
	put(one, SUSPEND, 230, 16);
	put(one, SUSPEND, 240, 18); /* not in the nest, which is known: no run */
	put(one, UNWEAVE_EVENT_IDLE, 250, 0);
	end_trace();
	read_back();
	note_run(&expected, 16, 1, 0, 100, 110, 0, 0, " end?");
	note_run(&expected, 18, 1, 1, 110, 110, 0, 0, " end?");
	note_run(&expected, 16, 1, 0, 200, 230, 0, 0, " begin?");
	note_wait(&expected, 16, 230, 0, 250, 0, 0, " end?");
	note_task(&expected, 16, 0, "", 100, 250, 40, 20, 0, 2, MODEL_INCOMPLETE);
	note_task(&expected, 18, 0, "", 110, 250, 0, 0, 0, 1, MODEL_INCOMPLETE);
	compare();
	CHECK_EQ(totals.lost, 7);
}

static void a_repeated_nest_is_no_end_of_a_run(void)
{
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put(one, RESUME, 100, 16);
	put(one, RESUME, 110, 18);
	put_full(one, UNWEAVE_EVENT_RESET, 150, 0, 0, UNWEAVE_RESET_CHUNK, 0);
	put(one, UNWEAVE_EVENT_REPLAY, 150, 16);
	put(one, UNWEAVE_EVENT_IDLE, 160, 0);
	put(one, SUSPEND, 170, 16);
	end_trace();
	read_back();
	note_run(&expected, 18, 1, 1, 110, 150, 0, 0, " end?");
	note_run(&expected, 16, 1, 0, 100, 170, 40, 0, "");
	note_wait(&expected, 16, 170, 0, 170, 0, 0, " end?");
	note_task(&expected, 16, 0, "", 100, 170, 70, 0, 0, 1, MODEL_INCOMPLETE);
	note_task(&expected, 18, 0, "", 110, 170, 40, 0, 0, 1, MODEL_INCOMPLETE);
	compare();
}

static void tasks_from_before_wait_from_the_beginning_on(void)
{
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put_full(one, UNWEAVE_EVENT_TASK, 100, 16, 4, 1, 0x300);
	put_full(one, UNWEAVE_EVENT_TASK, 100, 18, 0, 2, 0x400);
	put(one, UNWEAVE_EVENT_REPLAY, 100, 18);
	maker_put(one,
		  (struct unweave_event){
			  .kind = UNWEAVE_EVENT_NAME, .time = 120, .task = 16, .text = "GET /"});
	put(one, SUSPEND, 150, 18);
	end_trace();
	read_back();
	note_run(&expected, 18, 1, 0, 100, 150, 0, 0x400, " begin?");
	note_wait(&expected, 16, 100, 0, 150, 0, 0x300, " begin? end?");
	note_wait(&expected, 18, 150, 0, 150, 0, 0x400, " end?");
	note_task(&expected, 16, 4, "GET /", 100, 150, 0, 50, 0, 0, MODEL_INCOMPLETE);
	note_task(&expected, 18, 0, "task in handle", 100, 150, 50, 0, 0, 1, MODEL_INCOMPLETE);
	compare();
}

/* Nobody says when it runs: it may have run all the time. */
static void tasks_from_before_are_not_known_to_wait_where_runs_are_not_told(void)
{
	expected.count = 0;
	maker_init(&maker, maker_path(), false);
	maker_session_of(&maker, 1000000000, UNWEAVE_DETAIL_SAMPLES);
	maker_thread(&maker, 1, "one");
	maker_site(&maker, 1, "accept", "serve", "server.c", 42);
	put_full(maker_stream(&maker, 1, false, 0), UNWEAVE_EVENT_TASK, 100, 16, 0, 1, 0x300);
	end_trace();
	read_back();
	CHECK_EQ(totals.tasks, 1);
	CHECK_EQ(totals.waits, 0);
	CHECK_EQ(totals.pending, 0);
}

static void a_task_that_ended_does_not_come_back(void)
{
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put_full(one, CREATE, 100, 16, 0, 1, 0);
	put(one, COMPLETE, 120, 16);
	put(one, WAKE, 130, 16);
	put(one, UNWEAVE_EVENT_APPEND, 140, 16);
	put(one, COMPLETE, 150, 16);
	end_trace();
	read_back();
	note_wait(&expected, 16, 100, 100, 120, 0, 0, " first");
	note_task(&expected, 16, 0, "accept", 100, 120, 0, 0, 20, 0, MODEL_OK);
	compare();
	CHECK_EQ(totals.tasks, 1);
	CHECK_EQ(totals.completed, 1);
}

static void a_window_cuts_what_reaches_over(void)
{
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put_full(one, CREATE, 100, 14, 0, 1, 0);
	put(one, COMPLETE, 110, 14);
	put_full(one, CREATE, 110, 16, 0, 1, 0);
	put(one, RESUME, 120, 16);
	put(one, SUSPEND, 160, 16);
	put(one, WAKE, 190, 16);
	put(one, RESUME, 240, 16);
	put(one, COMPLETE, 300, 16);
	end_trace();
	read_window(150, 250, (struct model_sink){.run = on_run, .wait = on_wait, .task = on_task});
	note_run(&expected, 16, 1, 0, 150, 160, 0, 0, " begin?");
	note_wait(&expected, 16, 160, 190, 240, 0, 0, "");
	note_run(&expected, 16, 1, 0, 240, 250, 0, 0, " end?");
	note_task(&expected, 16, 0, "accept", 110, 250, 20, 30, 50, 2, MODEL_INCOMPLETE);
	compare();
	CHECK_EQ(totals.tasks, 1);
	CHECK_EQ(totals.first, 150);
	CHECK_EQ(totals.last, 250);
}

/* A program of which the test knows everything, since it decides it. */

#define TASKS 40u
#define THREADS 5u
#define DEEP 6u

struct truth {
	uint64_t id, parent, created;
	enum { AWAY, FRESH, RUNS, WAITS } state;
	bool early;
	uint64_t since, woken, waker, leaf;
	uint64_t busy, pending, queued, runs;
};

static struct truth tasks[TASKS];
static struct place {
	struct truth *task;
	uint64_t start, inner;
} nests[THREADS][DEEP];
static uint32_t depths[THREADS];
static struct encoder *streams[THREADS];
static uint64_t now, ids;

static void truth_end_wait(struct truth *task, const char *marks)
{
	bool first = task->state == FRESH;
	uint64_t woken = task->woken, waker = task->waker;
	char all[64];

	if (first && !woken && !(task->id & 1)) {
		woken = task->since;
		waker = task->parent;
	}
	snprintf(all, sizeof(all), "%s%s", first ? " first" : "", marks);
	note_wait(&expected, task->id, task->since, woken, now, waker, task->leaf, all);
	task->pending += (woken ? woken : now) - task->since;
	task->queued += woken ? now - woken : 0;
}

static void truth_end_run(uint32_t thread, const char *marks)
{
	struct place *place = &nests[thread][--depths[thread]];
	uint64_t length = now - place->start;

	note_run(&expected, place->task->id, thread + 1, depths[thread], place->start, now,
		 place->inner, place->task->leaf, marks);
	place->task->busy += length;
	place->task->runs++;
	if (depths[thread])
		place[-1].inner += length;
}

static void truth_end_task(struct truth *task, int end)
{
	note_task(&expected, task->id, task->parent, "accept", task->created, now, task->busy,
		  task->pending, task->queued, task->runs, end);
	task->state = AWAY;
}

static void act_create(uint32_t thread, struct truth *task)
{
	uint64_t parent = depths[thread] ? nests[thread][depths[thread] - 1].task->id : 0;

	*task = (struct truth){.id = ++ids * 2 + any(2),
			       .parent = parent,
			       .created = now,
			       .state = FRESH,
			       .since = now,
			       .leaf = 0x1000 + any(50)};
	put_full(streams[thread], CREATE, now, task->id, parent, 1, task->leaf);
}

static void act_resume(uint32_t thread, struct truth *task)
{
	if (depths[thread] == DEEP)
		return;
	truth_end_wait(task, "");
	task->state = RUNS;
	task->early = false;
	nests[thread][depths[thread]++] = (struct place){.task = task, .start = now};
	put_full(streams[thread], RESUME, now, task->id, 0, 0, task->leaf);
}

static void act_suspend(uint32_t thread)
{
	struct truth *task = nests[thread][depths[thread] - 1].task;

	task->leaf = 0x1000 + any(50);
	truth_end_run(thread, "");
	put_full(streams[thread], SUSPEND, now, task->id, 0, 0, task->leaf);
	task->state = WAITS;
	task->since = now;
	task->woken = task->early ? now : 0;
	if (!task->early)
		task->waker = 0;
	task->early = false;
}

static void act_complete(uint32_t thread, struct truth *task)
{
	if (task->state == RUNS) {
		task = nests[thread][depths[thread] - 1].task;
		truth_end_run(thread, " last");
	} else {
		truth_end_wait(task, "");
	}
	put_full(streams[thread], COMPLETE, now, task->id, 0, UNWEAVE_CANCELLED, 0);
	truth_end_task(task, MODEL_CANCELLED);
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

static void act(void)
{
	uint32_t thread = (uint32_t)any(THREADS);
	struct truth *task = &tasks[any(TASKS)];

	now += 1 + any(50);
	if (any(200) == 0)
		maker_flush(&maker);
	if (task->state == AWAY)
		act_create(thread, task);
	else if (any(4) == 0)
		act_wake(thread, task);
	else if (any(12) == 0 && (task->state != RUNS || depths[thread]))
		act_complete(thread, task);
	else if (task->state != RUNS)
		act_resume(thread, task);
	else if (depths[thread])
		act_suspend(thread);
	else
		put(streams[thread], UNWEAVE_EVENT_IDLE, now, 0);
}

static void run_program(uint64_t number)
{
	seed = number * UINT64_C(0x9e3779b97f4a7c15) + 1;
	now = 1000;
	memset(tasks, 0, sizeof(tasks));
	memset(depths, 0, sizeof(depths));
	begin_trace();
	for (uint32_t i = 0; i < THREADS; i++)
		streams[i] = maker_stream(&maker, i + 1, false, 0);
	for (uint32_t i = 0; i < 5000; i++)
		act();
	put(streams[0], UNWEAVE_EVENT_IDLE, ++now, 0);
	for (uint32_t thread = 0; thread < THREADS; thread++)
		while (depths[thread])
			truth_end_run(thread, " end?");
	for (uint32_t i = 0; i < TASKS; i++) {
		if (tasks[i].state == FRESH || tasks[i].state == WAITS)
			truth_end_wait(&tasks[i], " end?");
		if (tasks[i].state != AWAY)
			truth_end_task(&tasks[i], MODEL_INCOMPLETE);
	}
	end_trace();
}

static void random_programs_are_told_as_they_were(void)
{
	for (uint64_t number = 1; number <= 12; number++) {
		uint64_t busy = 0;

		run_program(number);
		read_back();
		compare();
		CHECK(told.count > 3000);
		for (uint32_t i = 0; i < told.count; i++)
			busy += strncmp(told.lines[i], "run ", 4) == 0;
		CHECK_EQ(totals.runs, busy);
	}
}

/* Samples. */

static int write_block(void *data, const struct block *block, const uint8_t *payload)
{
	(void)data;
	return writer_put(maker.writer, block, payload, NULL);
}

static void put_sample(struct samples_writer *writer, uint64_t time, uint32_t tid, uint64_t task,
		       uint64_t leaf, uint32_t flags)
{
	uint64_t native[] = {leaf, 0x9000}, chain[] = {leaf, 0x7000};
	struct samples_segment segment = {.task = task, .chain = {.addresses = chain, .count = 2}};
	struct samples_input input = {
		.ticks = time,
		.weight = flags & SAMPLE_ASLEEP ? 25 : 10,
		.tid = tid,
		.flags = flags,
		.thread_name = "",
		.native = {.addresses = native, .count = 2},
		.segments = &segment,
		.segment_count = task != 0,
	};

	maker_must(samples_writer_put(writer, &input));
}

static uint64_t last_sample;

static int on_sample(void *data, const struct model_sample *sample)
{
	(void)data;
	CHECK(sample->time >= last_sample);
	last_sample = sample->time;
	note(&told, "sample %" PRIu64 " of %" PRIu64 " thread %u in %#" PRIx64 " exact %d",
	     sample->time, sample->task ? sample->task->id : 0, sample->thread,
	     leaf_of(sample->stack), sample->outcome == SPLICE_EXACT);
	return 0;
}

static int on_sampled_run(void *data, const struct model_run *run)
{
	(void)data;
	note(&told,
	     "run %" PRIu64 " cpu %" PRIu64 " samples %u asleep %" PRIu64 " hottest %#" PRIx64,
	     run->task->id, run->cpu, run->samples, run->asleep, leaf_of(run->hottest));
	return 0;
}

static int on_sampled_task(void *data, struct model_task *task)
{
	(void)data;
	note(&told, "task %" PRIu64 " cpu %" PRIu64 " samples %u", task->id, task->cpu,
	     task->samples);
	return 0;
}

static void samples_belong_to_the_task_and_the_run_they_fell_into(void)
{
	struct samples_writer *writer = NULL;
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put(one, RESUME, 100, 16);
	put(one, SUSPEND, 200, 16);
	put(one, RESUME, 300, 16);
	put(one, COMPLETE, 400, 16);
	maker_must(samples_writer_new(&writer, write_block, NULL));
	/* Not quite in order, as where threads met. */
	put_sample(writer, 310, 4242, 16, 0x5000, 0);
	put_sample(writer, 120, 4242, 16, 0x6000, 0);
	put_sample(writer, 130, 4242, 16, 0x5000, 0);
	put_sample(writer, 140, 4242, 16, 0x5000, 0);
	put_sample(writer, 250, 4242, 0, 0x8000, 0);
	put_sample(writer, 315, 4242, 16, 0x5000, 0);
	put_sample(writer, 320, 4242, 16, 0x6000, SAMPLE_ASLEEP); /* as long as two others */
	put_sample(writer, 330, 77, 20, 0x8000, 0);
	put_sample(writer, 450, 4242, 16, 0x5000, 0); /* late: the task has ended */
	maker_must(samples_writer_flush(writer));
	samples_writer_free(writer);
	end_trace();
	last_sample = 0;
	read_window(0, UINT64_MAX,
		    (struct model_sink){
			    .run = on_sampled_run, .sample = on_sample, .task = on_sampled_task});
	for (unsigned i = 0; i < 3; i++)
		note(&expected, "sample %u of 16 thread 1 in %#x exact 0", 120 + 10 * i,
		     i ? 0x5000 : 0x6000);
	note(&expected, "sample 310 of 16 thread 1 in 0x5000 exact 0");
	note(&expected, "sample 315 of 16 thread 1 in 0x5000 exact 0");
	note(&expected, "sample 320 of 16 thread 1 in 0x6000 exact 0");
	note(&expected, "sample 250 of 0 thread 1 in 0x8000 exact 0");
	note(&expected, "sample 330 of 20 thread 0 in 0x8000 exact 0");
	note(&expected, "sample 450 of 0 thread 1 in 0x5000 exact 0");
	note(&expected, "run 16 cpu 30 samples 3 asleep 0 hottest 0x5000");
	note(&expected, "run 16 cpu 20 samples 2 asleep 25 hottest 0x6000");
	note(&expected, "task 16 cpu 50 samples 5");
	note(&expected, "task 20 cpu 10 samples 1");
	compare();
	CHECK_EQ(totals.samples, 9);
	CHECK_EQ(totals.in_tasks, 8);
	CHECK_EQ(totals.asleep, 1);
	CHECK_EQ(totals.cpu, 80);
	CHECK_EQ(totals.last, 450);
}

static void put_sampler(enum sampler_driver driver)
{
	struct buffer payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	struct block block = {.kind = BLOCK_SAMPLER};

	meta_sampler_encode(&payload, &(struct meta_sampler){.driver = driver, .hz = 99});
	block.raw = (uint32_t)payload.length;
	maker_must(writer_put(maker.writer, &block, payload.bytes, NULL));
	buffer_fini(&payload);
}

static void a_run_sleeps_no_longer_than_it_takes_and_in_a_place_that_is_known(void)
{
	struct samples_writer *writer = NULL;
	struct encoder *one;

	begin_trace();
	put_sampler(SAMPLER_WALL);
	one = maker_stream(&maker, 1, false, 0);
	put(one, RESUME, 100, 16);
	put(one, SUSPEND, 110, 16);
	put(one, RESUME, 200, 16);
	put(one, SUSPEND, 240, 16);
	put(one, RESUME, 300, 16);
	put(one, COMPLETE, 400, 16);
	maker_must(samples_writer_new(&writer, write_block, NULL));
	put_sample(writer, 105, 4242, 16, 0x5000, SAMPLE_ASLEEP);
	put_sample(writer, 205, 4242, 16, 0x5000, SAMPLE_ASLEEP);
	put_sample(writer, 305, 4242, 16, 0x5000, SAMPLE_ASLEEP); /* a quarter of it */
	maker_must(samples_writer_flush(writer));
	samples_writer_free(writer);
	end_trace();
	read_window(0, UINT64_MAX, (struct model_sink){.run = on_sampled_run});
	note(&expected, "run 16 cpu 0 samples 0 asleep 10 hottest 0x5000");
	note(&expected, "run 16 cpu 0 samples 0 asleep 25 hottest 0x5000");
	note(&expected, "run 16 cpu 0 samples 0 asleep 25 hottest 0");
	compare();
}

int main(void)
{
	RUN(a_task_runs_waits_and_ends);
	RUN(a_wake_before_the_suspension_queues_it_at_once);
	RUN(a_state_machine_is_created_to_wait);
	RUN(a_task_that_goes_on_elsewhere_has_left_before);
	RUN(a_loss_ends_what_is_known);
	RUN(a_repeated_nest_is_no_end_of_a_run);
	RUN(tasks_from_before_wait_from_the_beginning_on);
	RUN(tasks_from_before_are_not_known_to_wait_where_runs_are_not_told);
	RUN(a_task_that_ended_does_not_come_back);
	RUN(a_window_cuts_what_reaches_over);
	RUN(random_programs_are_told_as_they_were);
	RUN(samples_belong_to_the_task_and_the_run_they_fell_into);
	RUN(a_run_sleeps_no_longer_than_it_takes_and_in_a_place_that_is_known);
	free(told.lines);
	free(expected.lines);
	return check_done();
}

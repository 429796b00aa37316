/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a profile and a report of a trace, with every single allocation failing in turn. */
#include <errno.h>
#include <limits.h>

#include "check.h"
#include "failing_alloc.h"
#include "maker.h"
#include "trace/samples.h"
#include "unweave/callback.h"
#include "view/naming.h"
#include "view/survey.h"

#define TASKS 300u
#define LOOPS 12u
#define CAUSES 60u /* sites of callbacks, each under the one before */

static struct maker maker;
static struct reader *reader;
static struct symbols *symbols;

static int write_block(void *data, const struct block *block, const uint8_t *payload)
{
	(void)data;
	return writer_put(maker.writer, block, payload, NULL);
}

static void put_sample(struct samples_writer *writer, uint64_t time, uint64_t task)
{
	uint64_t native[] = {0x9000 + time % 7, 0x8000}, chain[] = {0x8000, 0x7000};
	struct samples_segment segment = {.task = task,
					  .site = task % 2 ? 0 : 20 + task % CAUSES,
					  .chain = {.addresses = chain, .count = 2}};
	struct samples_input input = {
		.ticks = time,
		.weight = 10,
		.tid = time % 5 ? 4242 : 77,
		.thread_name = "sampled",
		.native = {.addresses = native, .count = 2},
		.segments = &segment,
		.segment_count = task % 3 != 0,
	};

	maker_must(samples_writer_put(writer, &input));
}

static void put(struct encoder *to, uint16_t kind, uint64_t time, uint64_t task, uint64_t site)
{
	maker_put(to,
		  (struct unweave_event){.kind = kind, .time = time, .task = task, .value = site});
}

static void put_site(uint32_t id, const char *kind, uint64_t code, uint32_t flags)
{
	maker_callbacks(&maker, &(struct meta_site){.id = id,
						    .kind = maker_text(kind),
						    .code = code,
						    .place = code + 0x101,
						    .flags = flags});
}

/* Loops, more than there is room for at first, each with a callback that it calls. */
static void put_loops(struct encoder *one, uint64_t time)
{
	for (uint32_t i = 0; i < LOOPS; i++) {
		uint64_t loop = 2 * TASKS + 4 * i, task = loop + 2;

		put_site(100 + i, "loop", 0x501000 + i, UNWEAVE_SITE_STANDING | UNWEAVE_SITE_LOOP);
		put_site(200 + i, "read", 0x503000 + i, 0);
		put(one, UNWEAVE_EVENT_CREATE, time++, loop, 100 + i);
		put(one, UNWEAVE_EVENT_CREATE, time++, task, 200 + i);
		put(one, UNWEAVE_EVENT_IDLE, time++, loop, 0);
		put(one, UNWEAVE_EVENT_WOKE, time++, loop, 0);
		put(one, UNWEAVE_EVENT_RESUME, time++, task, 0);
		put(one, UNWEAVE_EVENT_COMPLETE, time++, task, 0);
		put(one, UNWEAVE_EVENT_IDLE, time++, loop, 0);
		put(one, UNWEAVE_EVENT_COMPLETE, time++, loop, 0);
	}
}

/* Those that do not end, in circles of two, but for one, which waits for one that did. */
static void put_waits(uint64_t time)
{
	uint64_t count = (TASKS - 1) / 8;

	buffer_put_varint(&maker.buffer, time);
	buffer_put_varint(&maker.buffer, 0);
	buffer_put_varint(&maker.buffer, 2 * count);
	for (uint64_t task = 4; task < 4 + 8 * count; task += 4)
		meta_wait_encode(&maker.buffer,
				 &(struct meta_wait){
					 .task = task,
					 .kind = UNWEAVE_WAIT_TASK,
					 .on = task == 4 ? 5 : (task & 4 ? task + 4 : task - 4)});
	maker_block(&maker, BLOCK_WAITS, time);
}

/* Many tasks, chains and names, so that everything has to grow. */
static void make_trace(void)
{
	const struct unweave_frame *chain = NULL;
	struct samples_writer *writer = NULL;
	struct encoder *one;
	uint64_t time = 100;

	maker_init(&maker, maker_path(), false);
	maker_session(&maker, 1000000000);
	maker_thread(&maker, 1, "one");
	for (uint32_t site = 1; site < 20; site++)
		maker_site(&maker, site, site % 2 ? "" : "named", "function", "file.c", site);
	for (uint32_t site = 0; site < CAUSES; site++)
		maker_callbacks(&maker, &(struct meta_site){.id = 20 + site,
							    .kind = maker_text("timer"),
							    .code = 0x601000 + site * 64,
							    .place = 0x601011 + site * 64,
							    .under = site ? 19 + site : 0});
	one = maker_stream(&maker, 1, false, 0);
	maker_must(samples_writer_new(&writer, write_block, NULL));
	for (uint64_t task = 2; task < TASKS; task++) {
		struct unweave_event event = {.kind = UNWEAVE_EVENT_CREATE,
					      .time = time++,
					      .task = task,
					      .other = task / 2,
					      .value = task % 2 ? task % 20 : 20 + task % CAUSES};

		maker_put(one, event);
		chain = stacks_push(maker.stacks, task % 40 ? chain : NULL, 0x401000 + 8 * task, 0,
				    UNWEAVE_FRAME_CODE);
		event = (struct unweave_event){
			.kind = UNWEAVE_EVENT_RESUME, .time = time++, .task = task};
		maker_put(one, event);
		put_sample(writer, time++, task);
		event = (struct unweave_event){.kind = UNWEAVE_EVENT_SUSPEND,
					       .time = time++,
					       .task = task,
					       .stack = chain};
		maker_put(one, event);
		event = (struct unweave_event){
			.kind = UNWEAVE_EVENT_NAME, .time = time++, .task = task, .text = "name"};
		maker_put(one, event);
		event = (struct unweave_event){
			.kind = UNWEAVE_EVENT_COMPLETE, .time = time++, .task = task};
		if (task % 4)
			maker_put(one, event);
	}
	put_loops(one, time);
	maker_must(samples_writer_flush(writer));
	samples_writer_free(writer);
	maker_flush(&maker);
	put_waits(time);
	maker_end(&maker, 0);
	maker_fini(&maker);
}

static int make_survey(struct diag *diag)
{
	struct lint_limits limits;
	struct survey_options options = {.reader = reader,
					 .symbols = symbols,
					 .runs_most = 10,
					 .tasks_most = 10,
					 .limits = &limits};
	struct survey *survey = NULL;
	int r;

	lint_limits_init(&limits);
	maker_must(lint_limits_set(&limits, "run=1ns,queue=0,deadlock=0,lost-wake=0", NULL));
	r = survey_new(&survey, &options, diag);

	if (r == 0) {
		CHECK_EQ(survey->totals->tasks, TASKS - 2 + 2 * LOOPS);
		CHECK_EQ(survey->loops.count, LOOPS);
		CHECK_EQ(survey->totals->samples, TASKS - 2);
		CHECK_EQ(survey->lints.at[0].kind, LINT_DEADLOCK);
		CHECK(survey->lints.count > 50);
	}
	survey_free(survey);
	return r;
}

static int make_profile(struct diag *diag)
{
	struct profile_options options = {.reader = reader, .symbols = symbols, .by_task = true};
	struct profile *profile = NULL;
	int r = profile_new(&profile, &options, diag);

	if (r == 0)
		CHECK_EQ(profile_totals(profile)->tasks, TASKS - 2 + 2 * LOOPS);
	profile_free(profile);
	return r;
}

static void try_all(int (*make)(struct diag *diag), unsigned most)
{
	unsigned left = 0, refused = 0;

	/* Names are looked up once before, so that only what is tested allocates. */
	maker_must(reader_open(&reader, maker_path(), NULL, NULL, NULL));
	maker_must(naming_new(&symbols, reader, true, NULL));
	maker_must(make(NULL));
	do {
		struct diag diag = {0};
		int r;

		alloc_watch(left++, most);
		r = make(&diag);
		alloc_watched = false;
		CHECK(r == 0 || r == -ENOMEM);
		CHECK(r == 0 || strcmp(diag.text, "out of memory") == 0);
		refused += r < 0;
	} while (alloc_failed);
	CHECK(refused > 20);
	symbols = symbols_free(symbols);
	reader = reader_free(reader);
}

static void an_allocation_that_fails_is_told_by_a_survey(void)
{
	make_trace();
	try_all(make_survey, 1);
}

static void so_are_all_that_fail_from_one_on(void)
{
	try_all(make_survey, UINT_MAX);
}

static void and_by_a_profile(void)
{
	try_all(make_profile, 1);
	try_all(make_profile, UINT_MAX);
}

int main(void)
{
	RUN(an_allocation_that_fails_is_told_by_a_survey);
	RUN(so_are_all_that_fail_from_one_on);
	RUN(and_by_a_profile);
	unlink(maker_path());
	return check_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace and a perf.data, both made here, become one trace: each sample is where
 * the events say. Ticks of the trace are ns.
 */
#include "cli/splicing.h"

#include <errno.h>
#include <unistd.h>

#include "check.h"
#include "maker.h"
#include "perf_writer.h"
#include "trace/samples.h"
#include "unweave/link.h"

#define PID 4242u /* as maker.h has it */
#define TID 4242u
#define OTHER_TID 4243u
#define BASE UINT64_C(1000000000) /* when the trace begins */
#define CODE UINT64_C(0x400000)
#define ANCHORS UINT64_C(0x500000)
#define STACK UINT64_C(0x7ffc0000)

static char directory[] = "/tmp/unweave-splicing-XXXXXX";
static char trace[64], capture[64], output[64];
static struct splicing_result result;
static struct diag diag;

static uint64_t function(char name)
{
	return CODE + (uint64_t)(name - 'a') * 256;
}

/* A return address in a function, or in an anchor. */
static uint64_t inside(char name)
{
	return function(name) + 0x21;
}

static uint64_t anchor(unsigned slot)
{
	return ANCHORS + slot * UNWEAVE_ANCHOR_BYTES + 0x11;
}

static const struct unweave_frame *chain(struct maker *maker, const char *names)
{
	const struct unweave_frame *frame = NULL;

	for (size_t i = strlen(names); i-- > 0;)
		frame = stacks_push(maker->stacks, frame, function(names[i]), 0,
				    UNWEAVE_FRAME_CODE);
	return frame;
}

static void put_modules(struct maker *maker)
{
	struct meta_module module = {
		.start = CODE, .end = CODE + 0x10000, .path = maker_text("/usr/bin/server")};

	buffer_put_varint(&maker->buffer, ANCHORS);
	buffer_put_varint(&maker->buffer, 2);
	meta_module_encode(&maker->buffer, &module);
	module.start = ANCHORS;
	module.end = ANCHORS + 0x10000;
	module.path = maker_text("/usr/lib/libunweave.so.0");
	meta_module_encode(&maker->buffer, &module);
	maker_block(maker, BLOCK_MODULES, 0);
}

/* A sample that the recorder itself took. */
static void put_own_sample(struct maker *maker)
{
	struct samples_writer *writer = NULL;
	uint64_t pc = inside('x');
	struct samples_input input = {.ticks = BASE + 50,
				      .weight = 5,
				      .tid = TID,
				      .native = {.addresses = &pc, .count = 1}};

	maker_must(samples_writer_new(&writer, maker_sink, maker));
	maker_must(samples_writer_put(writer, &input));
	maker_must(samples_writer_flush(writer));
	samples_writer_free(writer);
	meta_sampler_encode(&maker->buffer,
			    &(struct meta_sampler){.driver = SAMPLER_PERF, .hz = 99});
	maker_block(maker, BLOCK_SAMPLER, 0);
}

struct told {
	uint64_t time;
	enum unweave_event_kind kind;
	uint64_t task;
	const char *chain;
};

#define CALLBACK 5u /* the site of k, a callback */

/*
 * Task 2 runs f, g and h, which await each other; inside of g, task 4 runs p. Task 6
 * is a callback, and has no chain in its events.
 */
static const struct told story[] = {
	{0, UNWEAVE_EVENT_RESET, 0, NULL},
	{0, UNWEAVE_EVENT_CREATE, 2, "fgh"},
	{0, UNWEAVE_EVENT_CREATE, 4, "pq"},
	{100, UNWEAVE_EVENT_RESUME, 2, "fgh"},
	{200, UNWEAVE_EVENT_FRAME_COMPLETE, 2, NULL},
	{300, UNWEAVE_EVENT_RESUME, 4, "pq"},
	{400, UNWEAVE_EVENT_SUSPEND, 4, "pq"},
	{500, UNWEAVE_EVENT_FRAME_COMPLETE, 2, NULL},
	{600, UNWEAVE_EVENT_COMPLETE, 2, NULL},
	{700, UNWEAVE_EVENT_LOST, 0, NULL},
	{800, UNWEAVE_EVENT_RESET, 0, NULL},
	{850, UNWEAVE_EVENT_CREATE, 6, NULL},
	{860, UNWEAVE_EVENT_RESUME, 6, NULL},
	{950, UNWEAVE_EVENT_COMPLETE, 6, NULL},
	{1000, UNWEAVE_EVENT_IDLE, 0, NULL},
};

/* How many are lost, or the site. */
static uint64_t value_of(const struct told *told)
{
	if (told->kind == UNWEAVE_EVENT_CREATE && !told->chain)
		return CALLBACK;
	return told->kind == UNWEAVE_EVENT_LOST;
}

static void make_trace(bool own_sample)
{
	struct maker maker;
	struct encoder *stream;

	maker_init(&maker, trace, false);
	maker_session(&maker, 1000000000);
	maker_clock(&maker, BASE, BASE);
	maker_clock(&maker, BASE + 1000000, BASE + 1000000);
	maker_thread(&maker, 1, "main");
	put_modules(&maker);
	maker_callbacks(&maker, &(struct meta_site){.id = CALLBACK, .code = function('k')});
	if (own_sample)
		put_own_sample(&maker);
	stream = maker_stream(&maker, 1, false, 0);
	for (size_t i = 0; i < sizeof(story) / sizeof(story[0]); i++)
		maker_put(stream,
			  (struct unweave_event){
				  .time = BASE + story[i].time,
				  .kind = (uint16_t)story[i].kind,
				  .task = story[i].task,
				  .value = value_of(&story[i]),
				  .stack = story[i].chain ? chain(&maker, story[i].chain) : NULL,
			  });
	maker_flush(&maker);
	maker_end(&maker, 0);
	maker_fini(&maker);
}

static int run(void)
{
	struct splicing_plan plan = {.trace = trace, .perf = capture, .output = output};

	diag = (struct diag){0};
	return splicing_run(&plan, &result, &diag);
}

/* A sample as words: letters are functions, @ an anchor, ~ a gap; then each chain. */
static void say_frames(char *to, const struct unweave_frame *frame)
{
	for (; frame; frame = frame->awaiter) {
		if (frame->kind == UNWEAVE_FRAME_OMITTED)
			strcat(to, "~");
		else if (frame->address >= ANCHORS)
			strcat(to, "@");
		else
			strncat(to, &(char){(char)('a' + ((frame->address - CODE) >> 8))}, 1);
	}
}

static void say_sample(char *to, const struct sample *sample)
{
	to[0] = '\0';
	if (!(sample->flags & SAMPLE_FOREIGN))
		strcat(to, "own ");
	say_frames(to, sample->native);
	if (sample->flags & SAMPLE_CUT)
		strcat(to, "...");
	for (uint32_t i = 0; i < sample->segment_count; i++) {
		sprintf(to + strlen(to), " %d:", (int)sample->segments[i].task);
		if (sample->segments[i].site)
			sprintf(to + strlen(to), "%u:", sample->segments[i].site);
		say_frames(to, sample->segments[i].chain);
	}
}

/* All samples of the output, with their times. */
static void check_output(const char *const *wanted)
{
	struct reader *reader = NULL;
	struct sample sample;
	char words[256], line[320];

	CHECK_EQ(reader_open(&reader, output, NULL, NULL, &diag), 0);
	if (!reader)
		return;
	CHECK(reader_summary(reader)->closed);
	CHECK_EQ(reader_summary(reader)->faults, 0);
	CHECK_EQ(reader_sampler(reader)->driver, SAMPLER_OTHER);
	CHECK_EQ(reader_sampler(reader)->hz, 1000);
	CHECK_EQ(reader_anchors(reader), ANCHORS);
	while (reader_next_sample(reader, &sample, &diag) == 0) {
		say_sample(words, &sample);
		snprintf(line, sizeof(line), "%d %s", (int)(sample.time - BASE), words);
		CHECK_STR_EQ(line, *wanted ? *wanted++ : "(no more)");
		CHECK_EQ(sample.weight, 1000000);
	}
	CHECK(!*wanted);
	reader_free(reader);
}

static void samples_get_the_chains_of_their_moment(void)
{
	struct perf_event_attr attr = perf_usual_attr(PERF_SAMPLE_CALLCHAIN);
	struct perf_writer writer;
	static const char *const wanted[] = {
		"50 xm",
		"150 xf@m 2:fgh",
		"250 xg@m 2:gh",
		"350 xp@yg@m 4:pq 2:gh",
		"550 xh@m 2:h",
		/* A thread that has no events, and one that lost some. */
		"600 x",
		"750 xm",
		"900 xk@m 6:5:k",
		NULL,
	};

	make_trace(false);
	perf_start(&writer, &attr, 1);
	/* Not in the order of time: perf has a buffer for each processor. */
	perf_sample_chain(&writer, PID, TID, BASE + 550,
			  (uint64_t[]){inside('x'), inside('h'), anchor(2), inside('m'), 0});
	perf_sample_chain(&writer, PID, TID, BASE + 50, (uint64_t[]){inside('x'), inside('m'), 0});
	perf_sample_chain(&writer, PID, TID, BASE + 150,
			  (uint64_t[]){inside('x'), inside('f'), anchor(0), inside('m'), 0});
	perf_sample_chain(&writer, PID, TID, BASE + 250,
			  (uint64_t[]){inside('x'), inside('g'), anchor(1), inside('m'), 0});
	perf_sample_chain(&writer, PID, TID, BASE + 350,
			  (uint64_t[]){inside('x'), inside('p'), anchor(0), inside('y'),
				       inside('g'), anchor(1), inside('m'), 0});
	perf_sample_chain(&writer, PID, OTHER_TID, BASE + 600, (uint64_t[]){inside('x'), 0});
	perf_sample_chain(&writer, PID, TID, BASE + 750, (uint64_t[]){inside('x'), inside('m'), 0});
	perf_sample_chain(&writer, PID, TID, BASE + 900,
			  (uint64_t[]){inside('x'), inside('k'), anchor(0), inside('m'), 0});
	/* Not ours, and not of the time of the trace. */
	perf_sample_chain(&writer, PID + 5, TID + 5, BASE + 350, (uint64_t[]){inside('x'), 0});
	perf_sample_chain(&writer, PID, TID, BASE - 1, (uint64_t[]){inside('x'), 0});
	perf_sample_chain(&writer, PID, TID, BASE + 5000, (uint64_t[]){inside('x'), 0});
	perf_finish(&writer, capture);
	CHECK_EQ(run(), 0);
	check_output(wanted);
	CHECK_EQ(result.samples, 8);
	CHECK_EQ(result.outcomes[SPLICE_EXACT], 5);
	CHECK_EQ(result.outcomes[SPLICE_NO_TASK], 3);
	CHECK_EQ(result.in_losses, 1);
	CHECK_EQ(result.others, 1);
	CHECK_EQ(result.outside, 2);
	CHECK_EQ(result.walk, FOREIGN_FRAME_POINTERS);
	CHECK(!result.without_anchors && !result.without_stacks && !result.replaced);
}

static void a_walk_that_leaves_the_code_ends_there(void)
{
	struct perf_event_attr attr = perf_usual_attr(PERF_SAMPLE_CALLCHAIN);
	struct perf_writer writer;
	static const char *const wanted[] = {"150 xf@... 2:fgh", "250 xg... 2:gh", NULL};

	make_trace(false);
	perf_start(&writer, &attr, 1);
	perf_sample_chain(
		&writer, PID, TID, BASE + 150,
		(uint64_t[]){inside('x'), inside('f'), anchor(0), 0x2000023, inside('m'), 0});
	/* Without a word, the anchor is missing. */
	perf_sample_chain(&writer, PID, TID, BASE + 250, (uint64_t[]){inside('x'), inside('g'), 0});
	perf_finish(&writer, capture);
	CHECK_EQ(run(), 0);
	check_output(wanted);
	CHECK_EQ(result.outcomes[SPLICE_EXACT], 1);
	CHECK_EQ(result.outcomes[SPLICE_CUT], 1);
}

static void without_stacks_the_chain_is_known_all_the_same(void)
{
	struct perf_event_attr attr = perf_usual_attr(0);
	struct perf_writer writer;
	static const char *const wanted[] = {"150 x... 2:fgh", "250 ... 2:gh", NULL};

	make_trace(false);
	perf_start(&writer, &attr, 1);
	perf_begin(&writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	perf_put_usual(&writer, inside('x'), PID, TID, BASE + 150);
	perf_end(&writer);
	perf_begin(&writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
	perf_put_usual(&writer, 0xffffffff81000000, PID, TID, BASE + 250);
	perf_end(&writer);
	perf_finish(&writer, capture);
	CHECK_EQ(run(), 0);
	check_output(wanted);
	CHECK_EQ(result.walk, FOREIGN_NO_STACKS);
	CHECK_EQ(result.outcomes[SPLICE_CUT], 2);
}

/* A copied stack that nobody can unwind: the program's files are not there. */
static void put_copied(struct perf_writer *writer, uint64_t time, uint64_t pc,
		       const uint64_t *words, size_t count)
{
	perf_begin(writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	perf_put_usual(writer, pc, PID, TID, time);
	perf_put_u64(writer, PERF_SAMPLE_REGS_ABI_64);
	perf_put_u64(writer, STACK);
	perf_put_u64(writer, pc);
	perf_put_u64(writer, count * 8);
	perf_put(writer, words, count * 8);
	perf_put_u64(writer, count * 8);
	perf_end(writer);
}

static void copied_stacks_are_searched_for_the_anchor(void)
{
	struct perf_event_attr attr =
		perf_usual_attr(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	struct perf_writer writer;
	static const char *const wanted[] = {
		"50 x...",
		"150 x~@... 2:fgh",
		/* An anchor that was left behind by an earlier call is not taken for it. */
		"250 x~@... 2:gh",
		"350 x~@~@... 4:pq 2:gh",
		"550 x... 2:h",
		NULL,
	};

	make_trace(false);
	attr.sample_regs_user = 1 << 7 | 1 << 8; /* sp and pc, by perf's numbers for x86-64 */
	attr.sample_stack_user = 64;
	perf_start(&writer, &attr, 1);
	put_copied(&writer, BASE + 50, inside('x'), (uint64_t[]){1, anchor(0), 3}, 3);
	put_copied(&writer, BASE + 150, inside('x'), (uint64_t[]){1, 2, anchor(0), 3}, 4);
	put_copied(&writer, BASE + 250, inside('x'), (uint64_t[]){anchor(9), 2, anchor(1), 3}, 4);
	put_copied(&writer, BASE + 350, inside('x'),
		   (uint64_t[]){1, anchor(0), 2, anchor(1), 3, anchor(7)}, 6);
	put_copied(&writer, BASE + 550, inside('x'), (uint64_t[]){anchor(9), anchor(10), 3, 4}, 4);
	perf_finish(&writer, capture);
	CHECK_EQ(run(), 0);
	check_output(wanted);
	CHECK_EQ(result.walk, FOREIGN_STACK_BYTES);
	CHECK_EQ(result.outcomes[SPLICE_EXACT], 3);
	CHECK_EQ(result.outcomes[SPLICE_CUT], 1);
}

static int count_module(void *data, const struct meta_module *module)
{
	unsigned *found = data;

	if (module->start == 0x900000)
		++*found;
	return 0;
}

static void mappings_that_the_trace_lacks_are_added(void)
{
	struct perf_event_attr attr = perf_usual_attr(PERF_SAMPLE_CALLCHAIN);
	struct perf_writer writer;
	struct reader *reader = NULL;
	struct sample sample;
	unsigned found = 0;

	make_trace(false);
	perf_start(&writer, &attr, 1);
	perf_mapping(&writer, PID, 0x900000, 0x1000, PROT_EXEC, "/usr/lib/plugin.so");
	perf_mapping(&writer, PID, CODE, 0x1000, PROT_EXEC, "/somewhere/else");
	perf_mapping(&writer, PID + 1, 0x990000, 0x1000, PROT_EXEC, "/another/program");
	perf_name(&writer, PID, OTHER_TID, "helper");
	perf_sample_chain(&writer, PID, OTHER_TID, BASE + 150, (uint64_t[]){0x900010, 0});
	perf_finish(&writer, capture);
	CHECK_EQ(run(), 0);
	CHECK_EQ(reader_open(&reader, output, NULL, NULL, &diag), 0);
	reader_each_module(reader, count_module, &found);
	CHECK_EQ(found, 1);
	CHECK_EQ(reader_next_sample(reader, &sample, &diag), 0);
	CHECK_EQ(sample.native->address, 0x900010);
	CHECK_STR_EQ(reader_tid_name(reader, OTHER_TID), "helper");
	CHECK_EQ(reader_anchors(reader), ANCHORS);
	reader_free(reader);
}

static void samples_of_the_trace_are_not_counted_twice(void)
{
	struct perf_event_attr attr = perf_usual_attr(PERF_SAMPLE_CALLCHAIN);
	struct perf_writer writer;
	static const char *const wanted[] = {"50 x", NULL};

	make_trace(true);
	perf_start(&writer, &attr, 1);
	perf_sample_chain(&writer, PID, TID, BASE + 50, (uint64_t[]){inside('x'), 0});
	perf_finish(&writer, capture);
	CHECK_EQ(run(), 0);
	CHECK_EQ(result.replaced, 1);
	check_output(wanted);
}

static void make_capture(const struct perf_event_attr *attr)
{
	struct perf_writer writer;

	perf_start(&writer, attr, 1);
	perf_begin(&writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	perf_put_usual(&writer, inside('x'), PID, TID, BASE + 50);
	perf_end(&writer);
	perf_finish(&writer, capture);
}

static void a_capture_with_another_clock_is_refused(void)
{
	struct perf_event_attr attr = perf_usual_attr(0);

	make_trace(false);
	unlink(output);
	attr.clockid = CLOCK_MONOTONIC;
	make_capture(&attr);
	CHECK_EQ(run(), -EINVAL);
	CHECK(strstr(diag.text, "CLOCK_MONOTONIC_RAW"));
	CHECK_STR_EQ(diag.hint, "perf record -k CLOCK_MONOTONIC_RAW ...");
	CHECK_STR_EQ(result.file, capture);
	attr = perf_usual_attr(0);
	attr.use_clockid = 0;
	make_capture(&attr);
	CHECK_EQ(run(), -EINVAL);
	CHECK(access(output, F_OK) < 0);
}

/* CPU time as well as it is known: by what was asked for, if not by what was counted. */
static void weights_are_cpu_time(void)
{
	struct perf_event_attr attr = perf_usual_attr(0);
	struct reader *reader = NULL;
	struct sample sample;

	make_trace(false);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	attr.sample_freq = 500;
	make_capture(&attr);
	CHECK_EQ(run(), 0);
	CHECK_EQ(reader_open(&reader, output, NULL, NULL, &diag), 0);
	CHECK_EQ(reader_next_sample(reader, &sample, &diag), 0);
	CHECK_EQ(sample.weight, 2000000);
	reader = reader_free(reader);
	attr.freq = 0;
	make_capture(&attr);
	CHECK_EQ(run(), 0);
	CHECK_EQ(reader_open(&reader, output, NULL, NULL, &diag), 0);
	CHECK_EQ(reader_next_sample(reader, &sample, &diag), 0);
	CHECK_EQ(sample.weight, 1000000);
	CHECK(reader_sampler(reader)->note.length > 0);
	reader_free(reader);
}

int main(void)
{
	if (!mkdtemp(directory))
		return 1;
	snprintf(trace, sizeof(trace), "%s/trace.unw", directory);
	snprintf(capture, sizeof(capture), "%s/perf.data", directory);
	snprintf(output, sizeof(output), "%s/out.unw", directory);
	RUN(samples_get_the_chains_of_their_moment);
	RUN(a_walk_that_leaves_the_code_ends_there);
	RUN(without_stacks_the_chain_is_known_all_the_same);
	RUN(copied_stacks_are_searched_for_the_anchor);
	RUN(mappings_that_the_trace_lacks_are_added);
	RUN(samples_of_the_trace_are_not_counted_twice);
	RUN(a_capture_with_another_clock_is_refused);
	RUN(weights_are_cpu_time);
	unlink(trace);
	unlink(capture);
	unlink(output);
	rmdir(directory);
	return check_done();
}

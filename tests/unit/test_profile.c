/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of traces that name their own addresses. */
#include "view/profile.h"

#include "check.h"
#include "maker.h"
#include "trace/samples.h"
#include "view/naming.h"

static struct maker maker;
static struct profile *profile;
static struct reader *reader;
static struct symbols *symbols;

static struct meta_symbol_frame frame(const char *function, uint64_t line)
{
	return (struct meta_symbol_frame){
		.function = maker_text(function), .file = maker_text("app.c"), .line = line};
}

static void name(uint64_t address, const char *function, const char *inlined)
{
	struct meta_symbol_frame frames[] = {frame(inlined ? inlined : "", 7), frame(function, 3)};

	buffer_put_varint(&maker.buffer, 1);
	maker_must(meta_symbol_encode(&maker.buffer, address, address & ~UINT64_C(0xff),
				      inlined ? frames : frames + 1, inlined ? 2 : 1));
	maker_block(&maker, BLOCK_SYMBOLS, 0);
}

static int write_block(void *data, const struct block *block, const uint8_t *payload)
{
	(void)data;
	return writer_put(maker.writer, block, payload, NULL);
}

/* main > serve > handle are a chain; hash is called by handle, with mix inlined. */
#define SERVE 0x1010
#define HANDLE 0x2010
#define HANDLE_LATER 0x2020
#define HASH 0x3010

static void begin_trace(void)
{
	maker_init(&maker, maker_path(), false);
	maker_session(&maker, 1000000000);
	maker_thread(&maker, 1, "one");
	maker_site(&maker, 1, "request", "serve", "app.c", 1);
	maker_site(&maker, 2, "timer", "tick", "app.c", 2);
	name(SERVE, "serve", NULL);
	name(HANDLE, "handle", NULL);
	name(HANDLE_LATER, "handle", NULL);
	name(HASH, "hash", "mix");
}

static void put(struct encoder *to, uint16_t kind, uint64_t time, uint64_t task, uint64_t value,
		uint64_t leaf)
{
	struct unweave_event event = {.kind = kind, .time = time, .task = task, .value = value};

	if (leaf) {
		event.stack = stacks_push(maker.stacks, NULL, SERVE, 0, UNWEAVE_FRAME_CODE);
		event.stack = stacks_push(maker.stacks, event.stack, leaf, 0, UNWEAVE_FRAME_CODE);
	}
	maker_put(to, event);
}

static void put_sample(struct samples_writer *writer, uint64_t time, uint64_t task, uint64_t weight)
{
	uint64_t native[] = {HASH, HANDLE}, chain[] = {HANDLE, SERVE};
	struct samples_segment segment = {.task = task, .chain = {.addresses = chain, .count = 2}};
	struct samples_input input = {
		.ticks = time,
		.weight = weight,
		.tid = 4242,
		.thread_name = "",
		.native = {.addresses = native, .count = 2},
		.segments = &segment,
		.segment_count = task != 0,
	};

	maker_must(samples_writer_put(writer, &input));
}

static void open_profile(struct profile_options options)
{
	struct diag diag = {0};

	maker_must(reader_open(&reader, maker_path(), NULL, NULL, &diag));
	maker_must(naming_new(&symbols, reader, true, &diag));
	options.reader = reader;
	options.symbols = symbols;
	maker_must(profile_new(&profile, &options, &diag));
}

static void close_profile(void)
{
	profile = profile_free(profile);
	symbols = symbols_free(symbols);
	reader = reader_free(reader);
}

static void make_trace(void)
{
	struct samples_writer *writer = NULL;
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put(one, UNWEAVE_EVENT_CREATE, 100, 16, 1, HANDLE);
	put(one, UNWEAVE_EVENT_CREATE, 100, 18, 2, HANDLE);
	put(one, UNWEAVE_EVENT_RESUME, 110, 16, 0, HANDLE);
	put(one, UNWEAVE_EVENT_SUSPEND, 140, 16, 0, HANDLE_LATER);
	put(one, UNWEAVE_EVENT_RESUME, 150, 18, 0, HANDLE);
	put(one, UNWEAVE_EVENT_COMPLETE, 200, 18, 0, 0);
	put(one, UNWEAVE_EVENT_WAKE, 240, 16, UNWEAVE_SOURCE_IO, 0);
	put(one, UNWEAVE_EVENT_RESUME, 250, 16, 0, HANDLE_LATER);
	put(one, UNWEAVE_EVENT_COMPLETE, 300, 16, 0, 0);
	maker_must(samples_writer_new(&writer, write_block, NULL));
	put_sample(writer, 120, 16, 5);
	put_sample(writer, 160, 18, 40);
	put_sample(writer, 170, 18, 40);
	put_sample(writer, 245, 0, 1);
	maker_must(samples_writer_flush(writer));
	samples_writer_free(writer);
	maker_flush(&maker);
	maker_end(&maker, 0);
	maker_fini(&maker);
}

/* All nodes below one, as "name self/total;" in their order, with > for each level. */
static void tell(uint32_t node, enum profile_value value, char *to, size_t size)
{
	for (uint32_t i = profile_at(profile, node)->first_child; i;
	     i = profile_at(profile, i)->next_sibling) {
		const struct profile_node *at = profile_at(profile, i);
		size_t length = strlen(to);

		if (!at->total[value])
			continue;
		snprintf(to + length, size - length, "%.*s%s %u/%u;", (int)at->depth, ">>>>>>>>>>",
			 profile_name(profile, at->name)->function, (unsigned)at->self[value],
			 (unsigned)at->total[value]);
		tell(i, value, to, size);
	}
}

static const char *told(enum profile_value value)
{
	static char text[4096];

	text[0] = 0;
	tell(0, value, text, sizeof(text));
	return text;
}

static uint32_t find(const char *function)
{
	for (uint32_t i = 1; i < profile_count(profile); i++)
		if (strcmp(profile_name(profile, profile_at(profile, i)->name)->function,
			   function) == 0)
			return i;
	return 0;
}

static void time_is_summed_up_by_function(void)
{
	make_trace();
	open_profile((struct profile_options){0});
	CHECK_STR_EQ(told(PROFILE_CPU), ">serve 0/85;>>handle 0/85;>>>hash 0/85;>>>>mix 85/85;"
					">handle 0/1;>>hash 0/1;>>>mix 1/1;");
	CHECK_STR_EQ(told(PROFILE_WAIT), ">serve 0/100;>>handle 0/100;>>>[waiting] 100/100;");
	CHECK_STR_EQ(told(PROFILE_QUEUED), ">serve 0/70;>>handle 0/70;>>>[queued] 70/70;");
	CHECK_STR_EQ(told(PROFILE_WALL), ">serve 0/300;>>handle 0/300;>>>[running] 130/130;"
					 ">>>[waiting] 100/100;>>>[queued] 70/70;");
	CHECK_EQ(profile_at(profile, 0)->total[PROFILE_CPU], 86);
	CHECK_EQ(profile_totals(profile)->samples, 4);
	close_profile();
}

static void names_know_their_file_and_what_they_are(void)
{
	const struct profile_name *mix, *serve;

	open_profile((struct profile_options){0});
	mix = profile_name(profile, profile_at(profile, find("mix"))->name);
	serve = profile_name(profile, profile_at(profile, find("serve"))->name);
	CHECK_EQ(mix->kind, PROFILE_INLINED);
	CHECK_EQ(mix->line, 7);
	CHECK_STR_EQ(mix->file, "app.c");
	CHECK_EQ(serve->kind, PROFILE_AWAIT);
	CHECK_EQ(serve->line, 3);
	CHECK_EQ(profile_name(profile, profile_at(profile, find("[waiting]"))->name)->kind,
		 PROFILE_NOTE);
	close_profile();
}

static void the_tasks_behind_a_frame_are_known(void)
{
	struct profile_task tasks[4];

	open_profile((struct profile_options){0});
	CHECK_EQ(profile_tasks(profile, find("mix"), PROFILE_CPU, tasks, 4), 2);
	CHECK_EQ(tasks[0].id, 18);
	CHECK_EQ(tasks[0].value, 80);
	CHECK_STR_EQ(tasks[0].label, "timer");
	CHECK_EQ(tasks[1].id, 16);
	CHECK_EQ(profile_tasks(profile, find("mix"), PROFILE_CPU, tasks, 1), 1);
	CHECK_EQ(profile_tasks(profile, find("mix"), PROFILE_WAIT, tasks, 4), 0);
	CHECK_EQ(profile_tasks(profile, find("[waiting]"), PROFILE_WALL, tasks, 4), 1);
	CHECK_EQ(profile_tasks(profile, find("[running]"), PROFILE_WALL, tasks, 4), 2);
	CHECK_EQ(tasks[0].value, 80);
	close_profile();
}

static void tasks_can_be_chosen_and_told_apart(void)
{
	open_profile((struct profile_options){.task = 18});
	CHECK_STR_EQ(told(PROFILE_CPU), ">serve 0/80;>>handle 0/80;>>>hash 0/80;>>>>mix 80/80;");
	close_profile();
	open_profile((struct profile_options){.label = "req"});
	CHECK_STR_EQ(told(PROFILE_CPU), ">serve 0/5;>>handle 0/5;>>>hash 0/5;>>>>mix 5/5;");
	close_profile();
	open_profile((struct profile_options){.by_task = true});
	CHECK_STR_EQ(told(PROFILE_CPU),
		     ">timer 0/80;>>serve 0/80;>>>handle 0/80;>>>>hash 0/80;>>>>>mix 80/80;"
		     ">request 0/5;>>serve 0/5;>>>handle 0/5;>>>>hash 0/5;>>>>>mix 5/5;"
		     ">[no task] 0/1;>>handle 0/1;>>>hash 0/1;>>>>mix 1/1;");
	close_profile();
}

/* Some tasks on more stacks than are kept beside one. */
static void make_long_trace(void)
{
	uint64_t state = 1, time = 100;
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	for (unsigned i = 0; i < 5000; i++) {
		uint64_t task, leaf;

		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		task = 16 + (state >> 40) % 5 * 2;
		leaf = 0x500000 + (state >> 50) % 150;
		time += 1 + (state >> 33) % 100;
		put(one, UNWEAVE_EVENT_RESUME, time, task, 0, 0);
		time += 1 + (state >> 45) % 100;
		put(one, UNWEAVE_EVENT_SUSPEND, time, task, 0, leaf);
		if (state >> 63)
			put(one, UNWEAVE_EVENT_WAKE, time + 1, task, 0, 0);
	}
	maker_flush(&maker);
	maker_end(&maker, 0);
	maker_fini(&maker);
}

static void sums_are_the_same_with_and_without_the_tasks(void)
{
	struct profile *other;
	uint64_t count = 0;

	make_long_trace();
	open_profile((struct profile_options){.no_tasks = true});
	other = profile;
	reader = reader_free(reader);
	symbols = symbols_free(symbols);
	open_profile((struct profile_options){0});
	CHECK_EQ(profile_count(profile), profile_count(other));
	for (unsigned value = 0; value < PROFILE_VALUES; value++)
		CHECK_EQ(profile_at(profile, 0)->total[value], profile_at(other, 0)->total[value]);
	/* The same nodes, but perhaps in another order: the largest are first in both. */
	for (uint32_t a = profile_at(profile, 0)->first_child,
		      b = profile_at(other, 0)->first_child;
	     a && b; a = profile_at(profile, a)->first_child, b = profile_at(other, b)->first_child)
		for (unsigned value = 0; value < PROFILE_VALUES; value++) {
			CHECK_EQ(profile_at(profile, a)->total[value],
				 profile_at(other, b)->total[value]);
			CHECK_EQ(profile_at(profile, a)->count[value],
				 profile_at(other, b)->count[value]);
			count++;
		}
	CHECK(count >= 3 * PROFILE_VALUES);
	CHECK_EQ(profile_at(profile, 0)->total[PROFILE_CPU], 0);
	profile_free(other);
	close_profile();
}

/* A coroutine that waits in two lines, in a chain that is given its lines. */
static void put_routine(struct encoder *to, uint16_t kind, uint64_t time, int32_t line)
{
	struct unweave_event event = {.kind = kind, .time = time, .task = 17, .value = 1};

	event.stack =
		stacks_push(maker.stacks, NULL, SERVE, UNWEAVE_STATE_LINE | 40, UNWEAVE_FRAME_CODE);
	event.stack = stacks_push(maker.stacks, event.stack, HANDLE, UNWEAVE_STATE_LINE | line,
				  UNWEAVE_FRAME_CODE);
	maker_put(to, event);
}

static void coroutines_are_told_apart_by_where_they_wait(void)
{
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put_routine(one, UNWEAVE_EVENT_CREATE, 100, 0);
	put_routine(one, UNWEAVE_EVENT_RESUME, 100, 0);
	put_routine(one, UNWEAVE_EVENT_SUSPEND, 110, 21);
	put_routine(one, UNWEAVE_EVENT_RESUME, 115, 21);
	put_routine(one, UNWEAVE_EVENT_SUSPEND, 120, 23);
	put_routine(one, UNWEAVE_EVENT_RESUME, 127, 23);
	put(one, UNWEAVE_EVENT_COMPLETE, 130, 17, 0, 0);
	maker_flush(&maker);
	maker_end(&maker, 0);
	maker_fini(&maker);
	open_profile((struct profile_options){0});
	CHECK_STR_EQ(told(PROFILE_WAIT),
		     ">serve app.c:40 0/12;>>handle app.c:21 0/5;>>>[waiting] 5/5;"
		     ">>handle app.c:23 0/7;>>>[waiting] 7/7;");
	close_profile();
}

/* serve arms handle; handle arms hash, at line 30. */
static void make_callbacks(void)
{
	struct meta_symbol_frame arms = frame("handle", 30);
	struct encoder *one;

	begin_trace();
	buffer_put_varint(&maker.buffer, 1);
	maker_must(meta_symbol_encode(&maker.buffer, HANDLE_LATER, HANDLE & ~UINT64_C(0xff), &arms,
				      1));
	maker_block(&maker, BLOCK_SYMBOLS, 0);
	maker_callbacks(&maker, &(struct meta_site){.id = 11,
						    .kind = maker_text("timer"),
						    .code = HANDLE,
						    .place = SERVE + 1});
	maker_callbacks(&maker, &(struct meta_site){.id = 12,
						    .kind = maker_text("read"),
						    .code = HASH,
						    .place = HANDLE_LATER + 1,
						    .under = 11});
	one = maker_stream(&maker, 1, false, 0);
	put(one, UNWEAVE_EVENT_CREATE, 100, 16, 11, 0);
	put(one, UNWEAVE_EVENT_RESUME, 100, 16, 0, 0);
	put(one, UNWEAVE_EVENT_CREATE, 105, 18, 12, 0);
	put(one, UNWEAVE_EVENT_COMPLETE, 110, 16, 0, 0);
	put(one, UNWEAVE_EVENT_RESUME, 130, 18, 0, 0);
	put(one, UNWEAVE_EVENT_COMPLETE, 137, 18, 0, 0);
	maker_flush(&maker);
	maker_end(&maker, 0);
	maker_fini(&maker);
}

static void callbacks_stand_on_what_armed_them(void)
{
	const struct profile_name *armed = NULL;
	struct profile_task task = {0};
	uint32_t found = 0;

	make_callbacks();
	open_profile((struct profile_options){0});
	CHECK_STR_EQ(told(PROFILE_WALL),
		     ">serve 0/42;>>handle 0/32;>>>hash 0/32;>>>>mix 0/32;>>>>>[queued] 25/25;"
		     ">>>>>[running] 7/7;>>handle 0/10;>>>[running] 10/10;");
	/* It is another frame as the one that armed a callback than as the one that ran. */
	for (uint32_t i = 0; i < profile_name_count(profile); i++)
		if (strcmp(profile_name(profile, i)->function, "handle") == 0 &&
		    profile_name(profile, i)->kind == PROFILE_ARMED)
			armed = profile_name(profile, i);
	CHECK(armed && armed->line == 30);
	for (uint32_t i = 0; i < profile_count(profile); i++)
		if (profile_at(profile, i)->self[PROFILE_QUEUED] == 25)
			found += profile_tasks(profile, i, PROFILE_QUEUED, &task, 1);
	CHECK_EQ(found, 1);
	CHECK_STR_EQ(task.label, "read hash");
	close_profile();
}

int main(void)
{
	RUN(coroutines_are_told_apart_by_where_they_wait);
	RUN(callbacks_stand_on_what_armed_them);
	RUN(time_is_summed_up_by_function);
	RUN(names_know_their_file_and_what_they_are);
	RUN(the_tasks_behind_a_frame_are_known);
	RUN(tasks_can_be_chosen_and_told_apart);
	RUN(sums_are_the_same_with_and_without_the_tasks);
	unlink(maker_path());
	return check_done();
}

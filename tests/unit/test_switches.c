/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in, events out: however many of them are at hand together. The drain takes the end of a
 * run and the resume after it as one; here the same words also come one record at a time, so that
 * it never sees two.
 */
#include "check.h"
#include "drain/events.h"

#define ROUNDS 200
#define RECORDS 600u
#define RECORD_MOST 12u /* words, of one that is drawn */
#define TASKS 12u
#define DEPTH 3u
#define THREAD 3u
#define EVERYTHING                                                                                 \
	(RECORD_RESET_NEST | 3 * RECORD_RESET_RESUME_STACKS | 3 * RECORD_RESET_SUSPEND_STACKS)

/* What a program stored, and where its records begin. */
struct script {
	uint64_t words[ARENA_CHUNK_WORDS];
	uint32_t count;
	uint32_t starts[RECORDS + 1];
	uint32_t records;
	uint64_t ticks;
	uint32_t depth; /* of the nest, if it is orderly */
	bool orderly;   /* all chains are DEPTH long, and known: nothing is ever left out */
};

static uint64_t draw_state;

static uint64_t draw(void)
{
	uint64_t z = draw_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t draw_address(void)
{
	return 0x401000 + draw() % 5 * 16;
}

/* Both models: the lowest bit of an id says which. */
static uint64_t draw_task(void)
{
	return 1 + draw() % TASKS;
}

static void put(struct script *script, uint64_t word)
{
	script->words[script->count++] = word;
}

/* Mostly later than the last one; a thread may come to a processor whose clock is behind. */
static void put_head(struct script *script, unsigned kind)
{
	if (draw() % 50 == 0)
		script->ticks -= 20;
	script->ticks += draw() % 40;
	put(script, record_first_word(kind, record_is_untimed(kind & 0x7f) ? 0 : script->ticks));
}

static void put_stack(struct script *script)
{
	uint32_t count = script->orderly ? DEPTH : 1 + draw() % DEPTH;
	uint32_t keep = draw() % 3 ? draw() % 4 : RECORD_KEEP_REST;
	bool states = draw() % 2;

	put(script, record_stack_word(count, 0, script->orderly ? 0 : keep, states));
	for (uint32_t i = 0; i < count; i++)
		put(script, draw_address());
	for (uint32_t i = 0; states && i < count; i += 2)
		put(script, draw() % 3 << 32 | draw() % 3);
}

static void put_leave(struct script *script)
{
	uint32_t keep = draw() % 2 ? DEPTH - 1 : RECORD_KEEP_REST;

	if (!script->orderly && draw() % 3 == 0)
		keep = draw() % 5;
	script->depth--;
	switch (draw() % 5) {
	case 0:
		put_head(script, RECORD_LEAVE);
		break;
	case 1:
		put_head(script, RECORD_LEAVE | RECORD_WITH_STACK);
		put_stack(script);
		break;
	case 2:
		put(script, record_leave_at(draw_address(), keep, 1));
		put(script, (uint32_t)(draw() % 3));
		break;
	default:
		put(script, record_leave_at(draw_address(), keep, 0));
		break;
	}
}

static void put_resume(struct script *script)
{
	bool stack = draw() % 8 == 0;

	script->depth++;
	put_head(script, stack ? RECORD_RESUME | RECORD_WITH_STACK : RECORD_RESUME);
	put(script, draw_task());
	if (stack)
		put_stack(script);
}

static void put_create(struct script *script, uint64_t task)
{
	put_head(script, RECORD_CREATE | RECORD_WITH_STACK);
	put(script, task);
	put(script, draw_task());
	put(script, 0);
	put_stack(script);
}

/* Each of them comes between the end of a run and the next resume, too. */
static void put_another(struct script *script)
{
	static const uint8_t kinds[] = {RECORD_IDLE, RECORD_WAKE,     RECORD_FRAME_COMPLETE,
					RECORD_END,  RECORD_COMPLETE, RECORD_SUSPEND};
	/* A task that is done has no chain any more. */
	unsigned kind = kinds[draw() % (script->orderly ? 3 : sizeof(kinds))];

	switch (draw() % (script->orderly ? 8 : 12)) {
	case 0:
		put_create(script, draw_task());
		break;
	case 1:
		put_head(script, RECORD_NAME);
		put(script, draw_task());
		put(script, 5);
		put(script, draw());
		break;
	case 2:
		script->depth = 0;
		put_head(script, RECORD_RESET);
		put(script, script->orderly || draw() % 4 ? EVERYTHING : draw() & 0xff);
		break;
	case 11:
		put_head(script, RECORD_SUSPEND_TASK | RECORD_WITH_STACK);
		put(script, draw_task());
		put_stack(script);
		break;
	default:
		put_head(script, kind);
		if (kind == RECORD_WAKE)
			put(script, draw_task());
		break;
	}
}

static void write_script(struct script *script, uint64_t seed)
{
	draw_state = seed;
	*script = (struct script){.ticks = 1000};
	script->orderly = seed % 2;
	put_head(script, RECORD_RESET);
	put(script, EVERYTHING);
	for (uint64_t task = 1; task <= TASKS; task++) {
		script->starts[++script->records] = script->count;
		put_create(script, task);
	}
	while (script->records < RECORDS && script->count + RECORD_MOST <= ARENA_CHUNK_WORDS) {
		script->starts[++script->records] = script->count;
		if (draw() % 16 == 0)
			put_another(script);
		else if (script->orderly ? script->depth : script->records % 2)
			put_leave(script);
		else
			put_resume(script);
	}
}

/* A stream, what its events came to, and where they are told. */
struct hearing {
	struct stream_shop shop;
	struct stream stream;
	FILE *to;
	char *text;
	size_t size;
};

static int hear(void *data, struct stream *stream, const struct unweave_event *events,
		uint32_t count)
{
	struct hearing *hearing = data;

	(void)stream;
	for (uint32_t i = 0; i < count; i++) {
		const struct unweave_event *event = &events[i];

		fprintf(hearing->to, "%" PRIu64 " %u.%u %" PRIu64 " %" PRIu64 " %" PRIu64 " %s",
			event->time, event->kind, event->flags, event->task, event->other,
			event->value, event->text ? event->text : "");
		for (const struct unweave_frame *at = event->stack; at; at = at->awaiter)
			fprintf(hearing->to, " %u:%" PRIx64 ":%d", at->kind, at->address,
				at->state);
		fputc('\n', hearing->to);
	}
	return 0;
}

static void hearing_begin(struct hearing *hearing)
{
	*hearing = (struct hearing){.stream = {.thread = THREAD, .nest_known = true}};
	hearing->to = open_memstream(&hearing->text, &hearing->size);
	CHECK_EQ(stream_shop_init(&hearing->shop), 0);
	hearing->shop.sink = hear;
	hearing->shop.sink_data = hearing;
	hearing->stream.words = calloc(1, sizeof(*hearing->stream.words));
	hearing->stream.words->copied = UINT64_MAX;
}

/* Has the records from one to before another at hand together. */
static void have_records(struct hearing *hearing, const struct script *script, uint32_t from,
			 uint32_t to)
{
	struct stream_words *words = hearing->stream.words;
	uint32_t end = to < script->records ? script->starts[to] : script->count;

	words->count = end - script->starts[from];
	words->at = words->parsed = words->decoded = 0;
	memcpy(words->words, script->words + script->starts[from], words->count * sizeof(uint64_t));
}

/* All of those; with a step, some of them are due at a time. */
static void hear_records(struct hearing *hearing, const struct script *script, uint32_t from,
			 uint32_t to, uint64_t step)
{
	struct stream_words *words = hearing->stream.words;
	uint64_t limit = step ? hearing->stream.time : UINT64_MAX;

	have_records(hearing, script, from, to);
	while (stream_words_left(words)) {
		CHECK_EQ(events_decode(&hearing->stream, &hearing->shop, limit), 0);
		CHECK(hearing->stream.time <= limit);
		limit = limit < script->ticks ? limit + step : UINT64_MAX;
	}
}

/* Ends with what counts besides the events. */
static void hearing_end(struct hearing *hearing)
{
	CHECK_EQ(events_end(&hearing->stream, &hearing->shop), 0);
	fprintf(hearing->to, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %u %" PRIu64 "\n",
		hearing->stream.number, hearing->stream.sent, hearing->shop.records,
		hearing->stream.depth, hearing->shop.damaged);
	fclose(hearing->to);
	free(hearing->stream.words);
	free(hearing->stream.nest);
	stream_shop_fini(&hearing->shop);
}

static void check_same(const struct hearing *left, const struct hearing *right, uint64_t seed)
{
	size_t at = 0, line = 0;

	while (at < left->size && at < right->size && left->text[at] == right->text[at])
		line += left->text[at++] == '\n';
	if (at == left->size && at == right->size)
		return;
	printf("# seed %" PRIu64 ", line %zu\n", seed, line);
	CHECK_STR_EQ(left->text + at, right->text + at);
}

static void records_together_mean_what_they_do_one_by_one(void)
{
	static struct script script;
	static struct hearing together, apart, in_steps;

	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		write_script(&script, seed);
		hearing_begin(&together);
		hear_records(&together, &script, 0, script.records, 0);
		hearing_end(&together);

		hearing_begin(&apart);
		for (uint32_t i = 0; i < script.records; i++)
			hear_records(&apart, &script, i, i + 1, 0);
		hearing_end(&apart);
		check_same(&together, &apart, seed);

		hearing_begin(&in_steps);
		hear_records(&in_steps, &script, 0, script.records, 1 + seed % 60);
		hearing_end(&in_steps);
		check_same(&together, &in_steps, seed);

		free(together.text);
		free(apart.text);
		free(in_steps.text);
	}
}

static bool runs(const struct hearing *hearing, uint64_t task)
{
	return chains_find(&hearing->shop.chains, task)->chain & CHAIN_RUNS;
}

/* Tasks 2 and 4, of which the first runs, and words that go from it to the other. */
static void begin_switch(struct hearing *hearing, struct script *script)
{
	draw_state = 1;
	*script = (struct script){.ticks = 1000, .orderly = true};
	put_head(script, RECORD_RESET);
	put(script, EVERYTHING);
	put_create(script, 2);
	put_create(script, 4);
	put_head(script, RECORD_RESUME);
	put(script, 2);
	script->starts[++script->records] = script->count;
	put(script, record_leave_at(0x402000, DEPTH - 1, 0));
	put_head(script, RECORD_RESUME);
	put(script, 4);
	script->records++;
	hearing_begin(hearing);
	hear_records(hearing, script, 0, 1, 0);
}

static void after_a_switch_one_task_runs_and_the_other_waits(void)
{
	static struct script script;
	static struct hearing hearing;

	begin_switch(&hearing, &script);
	CHECK(runs(&hearing, 2));
	CHECK(!runs(&hearing, 4));
	hear_records(&hearing, &script, 1, 2, 0);
	CHECK(!runs(&hearing, 2));
	CHECK(runs(&hearing, 4));
	CHECK_EQ(chain_stack(chains_find(&hearing.shop.chains, 2))->address, 0x402000);
	hearing_end(&hearing);
	free(hearing.text);
}

/* It runs on another thread, which is to be heard first; but this thread's run is over at once. */
static void a_switch_to_a_task_that_still_runs_ends_the_one_run_only(void)
{
	static struct script script;
	static struct hearing hearing;
	struct stream_words *words;

	begin_switch(&hearing, &script);
	words = hearing.stream.words;
	chains_find(&hearing.shop.chains, 4)->chain |= CHAIN_RUNS;
	hearing.shop.horizon = UINT64_MAX;
	have_records(&hearing, &script, 1, 2);
	CHECK_EQ(events_decode(&hearing.stream, &hearing.shop, script.ticks), 0);
	CHECK(stream_words_left(words));
	CHECK_EQ(hearing.stream.depth, 0);
	CHECK(!runs(&hearing, 2));

	chains_find(&hearing.shop.chains, 4)->chain &= ~CHAIN_RUNS;
	CHECK_EQ(events_decode(&hearing.stream, &hearing.shop, script.ticks + 1), 0);
	CHECK(!stream_words_left(words));
	CHECK_EQ(hearing.stream.depth, 1);
	CHECK_EQ(hearing.shop.records, 6);
	hearing_end(&hearing);
	free(hearing.text);
}

/* In the short form and in the long one. */
static void check_leave(uint64_t address, uint32_t keep, uint32_t state)
{
	const uint64_t words[4] = {record_leave_at(address, keep, state != 0), state};
	struct record record;

	CHECK(record_fits_at(address, keep));
	CHECK(parse_record(&record, words, 1 + (state != 0)));
	CHECK_EQ(record.kind, RECORD_LEAVE);
	CHECK_EQ(record.words, 1 + (state != 0));
	CHECK_EQ(record.stack[0], record_stack_word(1, 0, keep, state != 0));
	CHECK_EQ(record.stack[1], address);
	if (state)
		CHECK_EQ(record.stack[2], state);
}

static void a_frame_in_the_first_word_is_the_frame_of_a_stack(void)
{
	const uint64_t top = UINT64_C(0xffffffffffff);

	check_leave(0x401000, 0, 0);
	check_leave(top, 254, 0);
	check_leave(0, RECORD_KEEP_REST, 0);
	check_leave(top, RECORD_KEEP_REST, UINT32_MAX);
	check_leave(0x7fff12345678, 7, 1);
	CHECK(!record_fits_at(top + 1, 0));
	CHECK(!record_fits_at(0x401000, 255));
	CHECK(!record_fits_at(0x401000, 256));
	CHECK(!record_fits_at(0x401000, RECORD_KEEP_REST - 1));
}

static void half_a_switch_is_none(void)
{
	const uint64_t words[] = {record_leave_at(0x401000, 1, 1), 5,
				  record_first_word(RECORD_RESUME, 9), 2};
	struct record record;

	for (uint32_t count = 1; count < 4; count++)
		CHECK(!parse_switch(&record, words, count));
	CHECK(parse_switch(&record, words, 4));
	CHECK_EQ(record.kind, PARSE_SWITCH);
	CHECK_EQ(record.ticks, 9);
	CHECK_EQ(record.fields[0], 2);
	CHECK_EQ(record.words, 4);
}

int main(void)
{
	RUN(records_together_mean_what_they_do_one_by_one);
	RUN(after_a_switch_one_task_runs_and_the_other_waits);
	RUN(a_switch_to_a_task_that_still_runs_ends_the_one_run_only);
	RUN(a_frame_in_the_first_word_is_the_frame_of_a_stack);
	RUN(half_a_switch_is_none);
	return check_done();
}

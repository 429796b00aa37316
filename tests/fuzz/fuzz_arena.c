/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any words at all in an arena, and changes to them between the passes: the
 * recorder must end, must not read outside of it, and must leave a file that
 * has no fault.
 *
 * The input is a list of steps (enum step) that write into a few lines and
 * chunks. Most random words would be refused at once; so a step can also append
 * a record to a stream, or a chunk, as the emitter does.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena/clock.h"
#include "arena/record.h"
#include "drain/recorder.h"
#include "fuzz.h"
#include "trace/reader.h"

#define LINES 4u
#define CHUNKS 8u
#define BYTES (ARENA_POOL_AT + CHUNKS * ARENA_CHUNK_BYTES)
#define ADDRESS UINT64_C(0x7f0000000000) /* of the pool, in the program that there is not */
#define STEPS_MOST 400
#define PASSES_MOST 12

enum step {
	STEP_PASS,
	STEP_RECORD,
	STEP_CHUNK,
	STEP_STREAM,
	STEP_HEADER,
	STEP_WORDS,
	STEP_LINE,
	STEP_CONTROL,
	STEP_NAMES,
	STEP_EXIT,
	STEP_STOP,
	STEP_DIE,
	STEPS
};

/* How far a stream of the pretended program is. */
struct pen {
	uint32_t number, chunk, word;
	uint64_t records;
};

static struct arena_control *control;
static struct arena_chunk *pool;
static int arena_fd = -1, trace_fd = -1;
static struct pen pens[LINES][ARENA_STREAMS];
static struct attachment attachment;
static struct recorder *recorder;
static uint64_t heard;

static uint32_t next_short(struct input *input)
{
	uint32_t low = next_byte(input);

	return low | (uint32_t)next_byte(input) << 8;
}

/* A word that may mean something where it is put. */
static uint64_t next_word(struct input *input, uint64_t now)
{
	uint8_t choice = next_byte(input);
	uint64_t word = 0;
	uint32_t number, chunk;

	switch (choice % 8) {
	case 0:
		return choice >> 3;
	case 1:
		return UINT64_MAX - (choice >> 3);
	case 2:
		return next_short(input);
	case 3:
		number = next_byte(input);
		chunk = next_byte(input) % (CHUNKS + 1);
		return position_make(number, chunk, next_short(input));
	case 4:
		number = next_byte(input);
		return chunk_owner(number, (choice >> 3) % LINES, choice >> 7);
	case 5:
		return ADDRESS + (uint64_t)next_short(input) * 8;
	case 6:
		return now + (uint64_t)(int8_t)next_byte(input);
	default:
		for (int i = 0; i < 8; i++)
			word |= (uint64_t)next_byte(input) << (8 * i);
		return word;
	}
}

static void set(void *start, size_t words, struct input *input)
{
	uint64_t *word = (uint64_t *)start + next_short(input) % words;

	*word = next_word(input, *word);
}

static uint64_t address_of(uint32_t chunk, uint32_t word)
{
	return ADDRESS + chunk * (uint64_t)ARENA_CHUNK_BYTES + offsetof(struct arena_chunk, words) +
	       word * 8;
}

static struct arena_line *line_of(uint8_t which)
{
	return &arena_lines(control)[which % LINES];
}

/* Goes on in another chunk, whoever has that. */
static void add_chunk(uint8_t which, uint32_t chunk)
{
	struct pen *pen = &pens[which % LINES][which >> 7];
	struct arena_stream *stream = &line_of(which)->streams[which >> 7];
	struct arena_chunk *old = &pool[pen->chunk];
	uint64_t position = position_make(pen->number + 1, chunk, 0);

	pool[chunk].first = pen->records;
	pool[chunk].next = 0;
	pool[chunk].owner = chunk_owner(pen->number + 1, which % LINES, which >> 7);
	if (pen->number) {
		old->end = pen->word;
		old->next = position;
	} else {
		stream->start = position;
	}
	stream->at = address_of(chunk, 0);
	*pen = (struct pen){.number = pen->number + 1, .chunk = chunk, .records = pen->records};
}

static void add_record(uint8_t which, struct input *input)
{
	struct pen *pen = &pens[which % LINES][which >> 7];
	struct arena_stream *stream = &line_of(which)->streams[which >> 7];
	uint8_t kind = next_byte(input);
	unsigned words = record_fixed_words(kind & 0x7f);

	if (!pen->number)
		add_chunk(which, which % CHUNKS);
	if (kind & RECORD_WITH_STACK)
		words += 1 + next_byte(input) % 16;
	if (!words || pen->word + words > ARENA_CHUNK_WORDS)
		return;
	pool[pen->chunk].words[pen->word] = record_first_word(kind, clock_raw() - 100);
	for (unsigned i = 1; i < words; i++)
		pool[pen->chunk].words[pen->word + i] = next_word(input, i);
	pen->word += words;
	pen->records++;
	stream->at = address_of(pen->chunk, pen->word);
}

static void put_words(struct input *input)
{
	struct arena_chunk *chunk = &pool[next_byte(input) % CHUNKS];
	uint32_t at = next_short(input) % ARENA_CHUNK_WORDS;

	for (uint8_t count = next_byte(input); count-- > 0 && at < ARENA_CHUNK_WORDS; at++)
		chunk->words[at] = next_word(input, chunk->words[at]);
}

static void on_event(const struct unweave_event *event, void *data)
{
	(void)data;
	must(event->kind >= UNWEAVE_EVENT_CREATE && event->kind <= UNWEAVE_EVENT_DUE);
	heard += event->stack ? event->stack->depth : 1;
}

static void start(uint8_t how)
{
	char path[64];
	struct recorder_options options = {.path = path,
					   .listener = how & 1 ? on_event : NULL,
					   .policy = (enum unweave_policy)(how % 3),
					   .buffer_bytes = CHUNKS * ARENA_CHUNK_BYTES};

	snprintf(path, sizeof(path), "/proc/self/fd/%d", trace_fd);
	must(recorder_new(&recorder, &attachment, &options, NULL) == 0);
}

static void check_trace(void)
{
	struct reader *reader = NULL;
	struct unweave_event event;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", trace_fd);
	must(reader_open(&reader, path, NULL, NULL, NULL) == 0);
	while (reader_next(reader, &event, NULL) == 0)
		;
	must(reader_summary(reader)->closed);
	must(reader_summary(reader)->faults == 0);
	reader_free(reader);
}

static void stop(void)
{
	must(recorder_stop(recorder) >= 0);
	recorder = recorder_free(recorder);
	check_trace();
}

static void take_step(struct input *input, int *passes)
{
	uint8_t which = next_byte(input);

	switch (next_byte(input) % STEPS) {
	case STEP_PASS:
		if (++*passes < PASSES_MOST)
			must(recorder_pass(recorder) >= 0);
		break;
	case STEP_RECORD:
		add_record(which, input);
		break;
	case STEP_CHUNK:
		add_chunk(which, next_byte(input) % CHUNKS);
		break;
	case STEP_STREAM:
		set(line_of(which)->streams, sizeof(line_of(0)->streams) / 8, input);
		break;
	case STEP_HEADER:
		set(&pool[which % CHUNKS], offsetof(struct arena_chunk, words) / 8, input);
		break;
	case STEP_WORDS:
		put_words(input);
		break;
	case STEP_LINE:
		set(line_of(which), offsetof(struct arena_line, streams) / 8, input);
		break;
	case STEP_CONTROL:
		/* Not the part that was checked when it was attached to. */
		set(&control->config,
		    (ARENA_CONTROL_BYTES - offsetof(struct arena_control, config)) / 8, input);
		break;
	case STEP_NAMES:
		set(arena_names(control), 512, input);
		break;
	case STEP_EXIT:
		line_of(which)->state = which & 64 ? ARENA_LINE_FREE : ARENA_LINE_EXITED;
		break;
	case STEP_STOP:
		if (++*passes >= PASSES_MOST)
			break;
		stop();
		start(which);
		break;
	case STEP_DIE:
		if (++*passes >= PASSES_MOST)
			break;
		recorder = recorder_free(recorder);
		start(which);
		break;
	}
}

static void make_memory(void)
{
	arena_fd = memfd_create("arena", MFD_CLOEXEC);
	trace_fd = memfd_create("trace", MFD_CLOEXEC);
	must(arena_fd >= 0 && trace_fd >= 0 && ftruncate(arena_fd, BYTES) == 0);
	control = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, arena_fd, 0);
	must(control != MAP_FAILED);
	pool = (struct arena_chunk *)((char *)control + ARENA_POOL_AT);
}

/* An arena as new, with a few threads. */
static void make_arena(void)
{
	memset(control, 0, ARENA_CONTROL_BYTES);
	memset(arena_lines(control), 0, LINES * sizeof(struct arena_line));
	memset(arena_names(control), 0, 4096 + 512);
	memset(pool, 0, CHUNKS * ARENA_CHUNK_BYTES);
	memset(pens, 0, sizeof(pens));
	control->layout = ARENA_LAYOUT;
	control->bytes = BYTES;
	control->lines_at = ARENA_LINES_AT;
	control->names_at = ARENA_NAMES_AT;
	control->pool_at = ARENA_POOL_AT;
	control->lines = ARENA_LINES;
	control->chunks_max = CHUNKS;
	control->pool_address = ADDRESS;
	control->pid = (uint32_t)getpid();
	control->clock = ARENA_CLOCK_RAW;
	control->lines_used = LINES;
	control->magic = ARENA_MAGIC;
	for (uint32_t i = 0; i < LINES; i++) {
		line_of((uint8_t)i)->state = ARENA_LINE_LIVE;
		line_of((uint8_t)i)->serial = i + 1;
		line_of((uint8_t)i)->tid = (uint32_t)gettid();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct input input = {bytes, bytes + length};
	struct diag diag;
	int passes = 0;

	if (arena_fd < 0)
		make_memory();
	make_arena();
	must(attach_fd(&attachment, dup(arena_fd), "", &diag) == 0);
	/* Alive, unless the input says otherwise. */
	attachment.own = !(next_byte(&input) & 1);
	must(attach_lock(&attachment, &diag) == 0);
	start(next_byte(&input));
	for (int i = 0; i < STEPS_MOST && input.at < input.end; i++)
		take_step(&input, &passes);
	must(recorder_pass(recorder) >= 0);
	stop();
	attachment.own = false;
	attach_fini(&attachment);
	return 0;
}

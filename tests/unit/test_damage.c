/* SPDX-License-Identifier: Apache-2.0 */
/* A trace that was cut or has a wrong bit: all that is outside the damage is read. */
#include <errno.h>
#include <sys/mman.h>

#include "check.h"
#include "maker.h"
#include "trace/reader.h"
#include "util/hash.h"

#define THREADS 4u
#define STREAMS (2 * (THREADS + 1))
#define EVENTS_MAX 4096
#define BLOCKS_MAX 256

/* One event as far as a test compares it. */
struct seen {
	uint64_t number; /* within its stream */
	uint64_t hash;   /* of all that the event says but its time */
	uint64_t time;
	uint32_t stream;
};

struct seen_all {
	struct seen at[EVENTS_MAX];
	size_t count;
	uint64_t next[STREAMS]; /* number after the last of each stream */
	uint64_t damaged;       /* records that LOST events for damage speak of */
	uint64_t faults;
	bool closed;
	int result; /* of opening the file */
};

/* Where the blocks of the whole file are. */
static struct {
	uint64_t start, end; /* `end` without the padding */
	struct block block;
} blocks[BLOCKS_MAX];
static size_t block_count;

static uint8_t file[1 << 16];
static size_t file_length;
static struct seen_all whole, part;
static int memory = -1;

static uint64_t hash_chain(const struct unweave_frame *frame)
{
	uint64_t hash = 1;

	for (; frame; frame = frame->awaiter) {
		uint64_t fields[] = {frame->address, (uint64_t)frame->state, frame->kind, hash};

		hash = hash_xxh64(fields, sizeof(fields), 0);
	}
	return hash;
}

static uint64_t hash_event(const struct unweave_event *event)
{
	uint64_t fields[] = {
		event->kind,
		event->task,
		event->other,
		event->value,
		event->flags,
		hash_chain(event->stack),
		event->text ? hash_xxh64(event->text, strlen(event->text), 0) : 0,
	};

	return hash_xxh64(fields, sizeof(fields), 0);
}

static void count_fault(void *data, const struct reader_fault *fault)
{
	struct seen_all *seen = data;

	CHECK(fault->offset <= file_length && fault->what[0]);
	seen->faults++;
}

static void see(struct seen_all *seen, const struct unweave_event *event)
{
	uint32_t stream = event->thread * 2 + (event->flags & UNWEAVE_EVENT_ASIDE);

	CHECK(stream < STREAMS);
	CHECK(!seen->count || event->time >= seen->at[seen->count - 1].time);
	if (event->kind == UNWEAVE_EVENT_LOST && event->other == UNWEAVE_LOSS_DAMAGE) {
		seen->damaged += event->value;
		seen->next[stream] += event->value;
		return;
	}
	CHECK(seen->count < EVENTS_MAX);
	seen->at[seen->count++] = (struct seen){
		.number = seen->next[stream],
		.hash = hash_event(event),
		.time = event->time,
		.stream = stream,
	};
	seen->next[stream] += event->kind == UNWEAVE_EVENT_LOST ? event->value : 1;
}

/* Reads `bytes` as a trace file. */
static void see_all(struct seen_all *seen, const uint8_t *bytes, size_t length)
{
	struct reader *reader = NULL;
	struct unweave_event event;
	char path[64];

	/* In memory: this happens some ten thousand times. */
	if (memory < 0)
		memory = memfd_create("trace", MFD_CLOEXEC);
	CHECK_EQ(ftruncate(memory, 0), 0);
	CHECK_EQ(pwrite(memory, bytes, length, 0), length);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
	*seen = (struct seen_all){0};
	seen->result = reader_open(&reader, path, count_fault, seen, NULL);
	if (seen->result < 0)
		return;
	while (reader_next(reader, &event, NULL) == 0)
		see(seen, &event);
	seen->closed = reader_summary(reader)->closed;
	CHECK_EQ(seen->faults, reader_summary(reader)->faults);
	reader_free(reader);
}

/* Every kind of event, on several threads, in blocks of a few dozen. */
static void put_events(struct maker *maker, struct encoder *encoder, unsigned round)
{
	static const uint16_t kinds[] = {
		UNWEAVE_EVENT_CREATE,         UNWEAVE_EVENT_RESUME,  UNWEAVE_EVENT_FRAME_RESUME,
		UNWEAVE_EVENT_FRAME_COMPLETE, UNWEAVE_EVENT_WAKE,    UNWEAVE_EVENT_NAME,
		UNWEAVE_EVENT_SUSPEND,        UNWEAVE_EVENT_RESUME,  UNWEAVE_EVENT_APPEND,
		UNWEAVE_EVENT_UNWIND,         UNWEAVE_EVENT_SUSPEND, UNWEAVE_EVENT_RESUME,
		UNWEAVE_EVENT_ANCHOR_RESET,   UNWEAVE_EVENT_RESET,   UNWEAVE_EVENT_REPLAY,
		UNWEAVE_EVENT_COMPLETE,       UNWEAVE_EVENT_IDLE,    UNWEAVE_EVENT_LOST,
	};
	const struct unweave_frame *chain = NULL;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct unweave_event event = {
			.kind = kinds[i],
			.time = 1000 * round + 7 * (i / 2),
			.task = 100 + round,
			.stack = chain,
		};

		if (event.kind == UNWEAVE_EVENT_NAME)
			event.text = "a name";
		if (event.kind == UNWEAVE_EVENT_LOST || event.kind == UNWEAVE_EVENT_UNWIND)
			event.value = 3;
		chain = stacks_push(maker->stacks, i % 6 ? chain : NULL, 0x401000 + 16 * i,
				    (int32_t)i % 3, UNWEAVE_FRAME_CODE);
		maker_put(encoder, event);
	}
}

static void make_file(bool compressed)
{
	struct maker maker;
	FILE *from;

	maker_init(&maker, maker_path(), compressed);
	maker_session(&maker, 1000000000);
	maker_clock(&maker, 0, 1000);
	maker_thread(&maker, 1, "main");
	maker_site(&maker, 1, "request", "serve", "server.c", 42);
	for (uint32_t thread = 1; thread <= THREADS; thread++)
		maker_stream(&maker, thread, thread == THREADS, 0);
	for (unsigned round = 1; round <= 5; round++) {
		for (unsigned i = 0; i < THREADS; i++)
			put_events(&maker, maker.encoders[i], round);
		maker_flush(&maker);
	}
	maker_end(&maker, 5);
	maker_fini(&maker);
	from = fopen(maker_path(), "rb");
	file_length = from ? fread(file, 1, sizeof(file), from) : 0;
	CHECK(file_length > 0 && file_length < sizeof(file));
	fclose(from);
}

static uint64_t get(size_t offset, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | file[offset + bytes];
	return value;
}

/* Finds the blocks by the format alone. */
static void find_blocks(void)
{
	block_count = 0;
	for (uint64_t at = FORMAT_FILE_HEADER_BYTES; at < file_length;) {
		struct block block = {
			.kind = file[at + 4],
			.flags = (uint16_t)get(at + 6, 2),
			.stored = (uint32_t)get(at + 8, 4),
			.number = get(at + 32, 8),
			.events = get(at + 40, 8),
			.thread = (uint32_t)get(at + 48, 4),
		};

		CHECK_EQ(get(at, 4), FORMAT_BLOCK_MAGIC);
		blocks[block_count].block = block;
		blocks[block_count].start = at;
		blocks[block_count++].end = at + FORMAT_BLOCK_HEADER_BYTES + block.stored;
		at = (blocks[block_count - 1].end + 7) & ~UINT64_C(7);
	}
}

static void prepare(bool compressed)
{
	make_file(compressed);
	find_blocks();
	see_all(&whole, file, file_length);
	CHECK_EQ(whole.result, 0);
	CHECK_EQ(whole.faults, 0);
	CHECK(whole.closed);
	CHECK_EQ(whole.count, THREADS * 5 * 18);
	CHECK_EQ(block_count, 4 + 5 * THREADS + 1);
}

static bool in_block(const struct seen *seen, const struct block *block)
{
	return block->kind == BLOCK_EVENTS &&
	       seen->stream == block->thread * 2 + (block->flags & BLOCK_FLAG_ASIDE) &&
	       seen->number >= block->number && seen->number < block->number + block->events;
}

/* `part` must be `whole` without the events of the blocks that `lost` says. */
static void check_all_but(const bool *lost, bool times)
{
	size_t at = 0;

	for (size_t i = 0; i < whole.count; i++) {
		const struct seen *seen = &whole.at[i], *got = &part.at[at];
		bool gone = false;

		for (size_t b = 0; b < block_count; b++)
			gone |= lost[b] && in_block(seen, &blocks[b].block);
		if (gone)
			continue;
		CHECK(at < part.count);
		CHECK(got->stream == seen->stream && got->number == seen->number);
		CHECK(got->hash == seen->hash);
		CHECK(!times || got->time == seen->time);
		at++;
	}
	CHECK_EQ(part.count, at);
}

static void check_cut(size_t length)
{
	bool lost[BLOCKS_MAX] = {false}, inside = false;

	see_all(&part, file, length);
	if (length < FORMAT_FILE_HEADER_BYTES) {
		CHECK_EQ(part.result, -EBADMSG);
		return;
	}
	CHECK_EQ(part.result, 0);
	for (size_t b = 0; b < block_count; b++) {
		uint64_t padded = (blocks[b].end + 7) & ~UINT64_C(7);

		lost[b] = blocks[b].end > length;
		inside |= length > blocks[b].start && length < padded;
	}
	check_all_but(lost, true);
	CHECK_EQ(part.damaged, 0);
	CHECK_EQ(part.faults, inside);
	CHECK_EQ(part.closed, !lost[block_count - 1]);
}

static void a_trace_that_is_cut_anywhere_is_read_up_to_its_last_whole_block(void)
{
	for (int compressed = 0; compressed < 2; compressed++) {
		prepare(compressed);
		for (size_t length = 0; length < file_length; length++)
			check_cut(length);
	}
}

/* Flips one bit of the copy and checks what is read. */
static void check_flip(uint8_t *copy, size_t offset, unsigned bit)
{
	bool lost[BLOCKS_MAX] = {false}, padding = offset >= FORMAT_FILE_HEADER_BYTES;
	const struct block *hit = NULL;

	for (size_t b = 0; b < block_count; b++)
		if (offset >= blocks[b].start && offset < blocks[b].end) {
			hit = &blocks[b].block;
			lost[b] = true;
			padding = false;
		}
	copy[offset] ^= (uint8_t)(1u << bit);
	see_all(&part, copy, file_length);
	copy[offset] ^= (uint8_t)(1u << bit);

	/* A newer format cannot be told from a wrong bit in the version. */
	if (part.result == -EPROTONOSUPPORT) {
		CHECK(offset >= 8 && offset < 12);
		return;
	}
	CHECK_EQ(part.result, 0);
	CHECK(padding ? part.faults == 0 : part.faults > 0);
	check_all_but(lost, !hit || hit->kind == BLOCK_EVENTS);
	CHECK_EQ(part.damaged, hit && hit->kind == BLOCK_EVENTS ? hit->events : 0);
	CHECK_EQ(part.closed, !(hit && hit->kind == BLOCK_END));
}

static void a_wrong_bit_costs_at_most_its_own_block_and_is_told(void)
{
	uint8_t copy[sizeof(file)];
	uint64_t state = 88172645463325252u;

	for (int compressed = 0; compressed < 2; compressed++) {
		prepare(compressed);
		memcpy(copy, file, file_length);
		for (unsigned i = 0; i < 1000; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			check_flip(copy, (state >> 8) % file_length, state & 7);
		}
	}
}

static void every_wrong_bit_of_the_first_bytes_is_survived(void)
{
	uint8_t copy[sizeof(file)];

	prepare(true);
	memcpy(copy, file, file_length);
	for (size_t offset = 0; offset < blocks[1].end; offset++)
		for (unsigned bit = 0; bit < 8; bit++)
			check_flip(copy, offset, bit);
}

/* Other bytes in the place of a block: zeros as after a crash of the machine, or noise. */
static void a_block_that_was_overwritten_costs_nothing_but_itself(void)
{
	uint8_t copy[sizeof(file)];

	prepare(true);
	for (size_t b = 0; b < block_count; b++) {
		bool lost[BLOCKS_MAX] = {false};
		const struct block *hit = &blocks[b].block;

		memcpy(copy, file, file_length);
		for (uint64_t i = blocks[b].start; i < blocks[b].end; i++)
			copy[i] = b % 2 ? 0 : (uint8_t)hash_mix(i);
		lost[b] = true;
		see_all(&part, copy, file_length);
		CHECK_EQ(part.result, 0);
		CHECK(part.faults > 0);
		check_all_but(lost, hit->kind == BLOCK_EVENTS);
		CHECK_EQ(part.damaged, hit->kind == BLOCK_EVENTS ? hit->events : 0);
	}
}

int main(void)
{
	RUN(a_trace_that_is_cut_anywhere_is_read_up_to_its_last_whole_block);
	RUN(a_wrong_bit_costs_at_most_its_own_block_and_is_told);
	RUN(every_wrong_bit_of_the_first_bytes_is_survived);
	RUN(a_block_that_was_overwritten_costs_nothing_but_itself);
	unlink(maker_path());
	return check_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The worked example of docs/format.md, taken out of the document. Argument: its path. */
#include <errno.h>
#include <unistd.h>

#include "streams.h"
#include "trace/meta.h"
#include "trace/writer.h"

#define TEXT(literal) ((struct meta_text){.bytes = (literal), .length = sizeof(literal) - 1})
#define TICKS 1000000

static const char *doc_path;

/* What the example says, in the words of the document. */
static const struct {
	unsigned kind;
	uint64_t time, task, other, value;
	const char *stack;
} story[] = {
	{UNWEAVE_EVENT_RESET, TICKS, 0, 0, UNWEAVE_RESET_START, ""},
	{UNWEAVE_EVENT_CREATE, TICKS + 2, 1, 0, 0, ""},
	{UNWEAVE_EVENT_RESUME, TICKS + 10, 1, 0, 0, ""},
	{UNWEAVE_EVENT_CREATE, TICKS + 150, 2, 1, 0, ""},
	{UNWEAVE_EVENT_SUSPEND, TICKS + 160, 1, 0, 0, "401230 401100 "},
	{UNWEAVE_EVENT_RESUME, TICKS + 160, 2, 0, 0, ""},
	{UNWEAVE_EVENT_WAKE, TICKS + 190, 1, 2, 0, ""},
	{UNWEAVE_EVENT_COMPLETE, TICKS + 195, 2, 0, UNWEAVE_OK, ""},
	{UNWEAVE_EVENT_RESUME, TICKS + 200, 1, 0, 0, "401230 401100 "},
	{UNWEAVE_EVENT_SUSPEND, TICKS + 260, 1, 0, 0, "401240:2 401100 "},
	{UNWEAVE_EVENT_IDLE, TICKS + 261, 0, 0, 0, ""},
	{UNWEAVE_EVENT_RESUME, TICKS + 800, 1, 0, 0, "401240:2 401100 "},
	{UNWEAVE_EVENT_SUSPEND, TICKS + 820, 1, 0, 0, "401230 401100 "},
	{UNWEAVE_EVENT_RESUME, TICKS + 900, 1, 0, 0, "401230 401100 "},
	{UNWEAVE_EVENT_COMPLETE, TICKS + 930, 1, 0, UNWEAVE_ERROR, ""},
};

#define STORY_EVENTS (sizeof(story) / sizeof(story[0]))

/* The hexdump's bytes: lines of an offset of six digits, two blanks, then bytes. */
static size_t read_example(uint8_t *bytes, size_t most)
{
	FILE *doc = fopen(doc_path, "re");
	size_t length = 0;
	char line[400];

	CHECK(doc != NULL);
	while (doc && fgets(line, sizeof(line), doc)) {
		unsigned offset, byte;
		int used = 0;

		if (sscanf(line, "%6x%n", &offset, &used) != 1 || used != 6 ||
		    strncmp(line + 6, "  ", 2) != 0)
			continue;
		CHECK_EQ(offset, length);
		for (const char *at = line + 7; length < most && at[0] == ' ' && at[1] != ' ';
		     at += used) {
			if (sscanf(at, " %2x%n", &byte, &used) != 1 || used != 3)
				break;
			bytes[length++] = (uint8_t)byte;
		}
	}
	if (doc)
		fclose(doc);
	return length;
}

static const struct unweave_frame *chain_of(struct stacks *stacks, const char *text)
{
	const struct unweave_frame *root;

	if (!text[0])
		return NULL;
	root = stacks_push(stacks, NULL, 0x401100, 0, UNWEAVE_FRAME_CODE);
	if (strncmp(text, "401230 ", 7) == 0)
		return stacks_push(stacks, root, 0x401230, 0, UNWEAVE_FRAME_CODE);
	return stacks_push(stacks, root, 0x401240, 2, UNWEAVE_FRAME_CODE);
}

static int write_block(void *writer, const struct block *block, const uint8_t *payload)
{
	return writer_put(writer, block, payload, NULL);
}

static void write_meta(struct writer *writer, unsigned kind, uint64_t time, struct buffer *buffer)
{
	struct block block = {.kind = (uint8_t)kind,
			      .raw = (uint32_t)buffer->length,
			      .first = time,
			      .last = time};

	CHECK_EQ(writer_put(writer, &block, buffer->bytes, NULL), 0);
	buffer_fini(buffer);
}

static void write_start(struct writer *writer)
{
	struct meta_session session = {
		.pid = 4242,
		.realtime = UINT64_C(1794700800000000000),
		.clock = 3,
		.ticks_per_s = 1000000000,
		.keywords = UINT64_C(0x7f7f00007f7f),
		.policy = 0,
		.detail = 3,
		.version = TEXT("0.1.0"),
		.program = TEXT("/bin/demo"),
		.machine = TEXT("x86_64"),
	};
	struct meta_clock clock = {
		.ticks = TICKS, .raw = TICKS, .realtime = UINT64_C(1794700800000000000)};
	struct meta_thread thread = {.thread = 1, .tid = 4242, .name = TEXT("main")};
	struct buffer buffer = BUFFER_INIT(4096);

	CHECK_EQ(meta_session_encode(&buffer, &session), 0);
	write_meta(writer, BLOCK_SESSION, TICKS, &buffer);
	CHECK_EQ(meta_clock_encode(&buffer, &clock), 0);
	write_meta(writer, BLOCK_CLOCK, TICKS, &buffer);
	buffer_put_varint(&buffer, 1);
	CHECK_EQ(meta_thread_encode(&buffer, &thread), 0);
	write_meta(writer, BLOCK_THREADS, TICKS, &buffer);
}

static void write_events(struct writer *writer)
{
	struct stacks *stacks = NULL;
	struct encoder *encoder = NULL;

	CHECK_EQ(stacks_new(&stacks, 100), 0);
	CHECK_EQ(encoder_new(&encoder, 1, false, 0, false, write_block, writer), 0);
	for (size_t i = 0; i < STORY_EVENTS; i++) {
		struct unweave_event event = {
			.kind = (uint16_t)story[i].kind,
			.time = story[i].time,
			.task = story[i].task,
			.other = story[i].other,
			.value = story[i].value,
			.stack = chain_of(stacks, story[i].stack),
		};

		CHECK_EQ(encoder_put(encoder, &event, 1), 0);
	}
	CHECK_EQ(encoder_flush(encoder), 0);
	encoder_free(encoder);
	stacks_free(stacks);
}

static void write_end(struct writer *writer)
{
	struct meta_stream_end end = {.thread = 1, .number = STORY_EVENTS};
	struct meta_loss loss = {.cause = UNWEAVE_LOSS_NO_THREAD, .events = 5};
	struct buffer buffer = BUFFER_INIT(4096);

	buffer_put_varint(&buffer, 1);
	CHECK_EQ(meta_stream_end_encode(&buffer, &end), 0);
	buffer_put_varint(&buffer, 1);
	CHECK_EQ(meta_loss_encode(&buffer, &loss), 0);
	write_meta(writer, BLOCK_END, TICKS + 1000, &buffer);
}

/* The same trace, as the writer makes it today. */
static size_t write_example(uint8_t *bytes, size_t most)
{
	const char *base = getenv("TMPDIR");
	struct writer *writer = NULL;
	size_t length = 0;
	char path[100];
	FILE *file;
	int fd;

	snprintf(path, sizeof(path), "%.60s/unweave-XXXXXX", base ? base : "/tmp");
	fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	CHECK_EQ(writer_new(&writer, path, NULL, NULL, NULL), 0);
	if (writer) {
		write_start(writer);
		write_events(writer);
		write_end(writer);
	}
	writer_free(writer);
	file = fopen(path, "re");
	if (file) {
		length = fread(bytes, 1, most, file);
		fclose(file);
	}
	unlink(path);
	return length;
}

static void the_example_of_the_document_decodes_to_its_story(void)
{
	static const uint8_t kinds[] = {BLOCK_SESSION, BLOCK_CLOCK, BLOCK_THREADS, BLOCK_EVENTS,
					BLOCK_END};
	uint8_t bytes[4096];
	size_t length = read_example(bytes, sizeof(bytes));
	struct plain_events got = {0};
	size_t offset = FORMAT_FILE_HEADER_BYTES;
	struct block block;

	CHECK(length > offset && memcmp(bytes, FORMAT_MAGIC "\1\0\0\0\x10\0\0\0", 16) == 0);
	for (unsigned i = 0; i < sizeof(kinds) && offset < length; i++) {
		CHECK(plain_block(bytes, length, offset, &block));
		CHECK_EQ(block.kind, kinds[i]);
		if (block.kind == BLOCK_EVENTS)
			CHECK(plain_decode(&block, bytes + offset + FORMAT_BLOCK_HEADER_BYTES,
					   &got));
		offset = plain_after(offset, &block);
	}
	CHECK_EQ(offset, length);
	CHECK_EQ(got.count, STORY_EVENTS);
	for (size_t i = 0; i < got.count && i < STORY_EVENTS; i++) {
		CHECK_EQ(got.at[i].kind, story[i].kind);
		CHECK_EQ(got.at[i].time, story[i].time);
		CHECK_EQ(got.at[i].task, story[i].task);
		CHECK_EQ(got.at[i].other, story[i].other);
		CHECK_EQ(got.at[i].value, story[i].value);
		CHECK_STR_EQ(got.at[i].stack, story[i].stack);
	}
	plain_events_fini(&got);
}

static void the_writer_makes_the_bytes_of_the_document(void)
{
	uint8_t expected[4096], got[4096];
	size_t length = read_example(expected, sizeof(expected));
	size_t written = write_example(got, sizeof(got));

	CHECK_EQ(written, length);
	for (size_t i = 0; i < written && i < length; i++)
		CHECK_EQ(got[i], expected[i]);
	/* What the document would have to say, for who changes the format. */
	for (size_t i = 0; check_failed && i < written; i++)
		printf("%s%02x%s", i % 16 ? "" : "# ", got[i], i % 16 == 15 ? "\n" : " ");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	doc_path = argv[1];
	RUN(the_example_of_the_document_decodes_to_its_story);
	RUN(the_writer_makes_the_bytes_of_the_document);
	return check_done();
}

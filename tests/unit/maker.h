/* SPDX-License-Identifier: Apache-2.0 */
/* Makes trace files for tests, with the real encoder and writer. */
#ifndef TESTS_MAKER_H
#define TESTS_MAKER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/compress.h"
#include "trace/encoder.h"
#include "trace/meta.h"
#include "trace/stacks.h"
#include "trace/writer.h"
#include "unweave.h"

#define MAKER_STREAMS 16

struct maker {
	struct writer *writer;
	struct compressor *compressor;
	struct stacks *stacks;
	struct buffer buffer;
	struct encoder *encoders[MAKER_STREAMS];
	uint32_t threads[MAKER_STREAMS];
	bool asides[MAKER_STREAMS];
	unsigned count;
	bool skip; /* blocks of events are lost on their way to the file */
};

/* Where a test that cannot go on ends. */
static inline void maker_must(int r)
{
	if (r < 0) {
		printf("Bail out! %s\n", strerror(-r));
		exit(1);
	}
}

static inline void maker_init(struct maker *maker, const char *path, bool compressed)
{
	*maker = (struct maker){.buffer = BUFFER_INIT(FORMAT_PAYLOAD_MAX)};
	if (compressed)
		maker_must(compressor_new(&maker->compressor, 3));
	maker_must(writer_new(&maker->writer, path, compressed ? compressor_run : NULL,
			      maker->compressor, NULL));
	maker_must(stacks_new(&maker->stacks, 1 << 16));
}

static inline int maker_sink(void *data, const struct block *block, const uint8_t *payload)
{
	struct maker *maker = data;

	return maker->skip ? 0 : writer_put(maker->writer, block, payload, NULL);
}

/* Writes what is in the buffer as a block of this kind. */
static inline void maker_block(struct maker *maker, uint8_t kind, uint64_t ticks)
{
	struct block block = {
		.kind = kind,
		.raw = (uint32_t)maker->buffer.length,
		.first = ticks,
		.last = ticks,
	};

	maker_must(writer_put(maker->writer, &block, maker->buffer.bytes, NULL));
	maker->buffer.length = 0;
}

static inline struct meta_text maker_text(const char *text)
{
	return (struct meta_text){.bytes = text, .length = strlen(text)};
}

static inline void maker_session_of(struct maker *maker, uint64_t ticks_per_s,
				    enum unweave_detail detail)
{
	struct meta_session session = {
		.pid = 4242,
		.realtime = UINT64_C(1700000000000000000),
		.clock = 1,
		.ticks_per_s = ticks_per_s,
		.keywords = detail == UNWEAVE_DETAIL_SAMPLES ? 0 : 0x7f7f,
		.detail = detail,
		.version = maker_text("0.1.0"),
		.program = maker_text("/usr/bin/server"),
		.machine = maker_text("x86_64"),
	};

	meta_session_encode(&maker->buffer, &session);
	maker_block(maker, BLOCK_SESSION, 0);
}

static inline void maker_session(struct maker *maker, uint64_t ticks_per_s)
{
	maker_session_of(maker, ticks_per_s, UNWEAVE_DETAIL_FULL);
}

static inline void maker_clock(struct maker *maker, uint64_t ticks, uint64_t raw)
{
	struct meta_clock clock = {
		.ticks = ticks,
		.raw = raw,
		.realtime = UINT64_C(1700000000000000000) + raw,
	};

	meta_clock_encode(&maker->buffer, &clock);
	maker_block(maker, BLOCK_CLOCK, ticks);
}

static inline void maker_thread(struct maker *maker, uint32_t thread, const char *name)
{
	struct meta_thread entry = {
		.thread = thread,
		.tid = 4242 + thread - 1,
		.name = maker_text(name),
	};

	buffer_put_varint(&maker->buffer, 1);
	meta_thread_encode(&maker->buffer, &entry);
	maker_block(maker, BLOCK_THREADS, 0);
}

/* A site with its kind; NULL: as in traces from before there were kinds. */
static inline void maker_site_kind(struct maker *maker, uint32_t id, const char *kind,
				   const char *name, const char *function, const char *file,
				   uint32_t line)
{
	struct meta_site site = {
		.id = id,
		.line = line,
		.name = maker_text(name),
		.function = maker_text(function),
		.file = maker_text(file),
	};

	buffer_put_varint(&maker->buffer, 1);
	meta_site_encode(&maker->buffer, &site);
	if (kind)
		meta_text_encode(&maker->buffer, maker_text(kind));
	maker_block(maker, BLOCK_SITES, 0);
}

static inline void maker_site(struct maker *maker, uint32_t id, const char *name,
			      const char *function, const char *file, uint32_t line)
{
	maker_site_kind(maker, id, NULL, name, function, file, line);
}

/* A site of callbacks. */
static inline void maker_callbacks(struct maker *maker, const struct meta_site *site)
{
	buffer_put_varint(&maker->buffer, 1);
	meta_site_encode(&maker->buffer, site);
	meta_text_encode(&maker->buffer, site->kind);
	meta_callback_encode(&maker->buffer, site);
	maker_block(maker, BLOCK_SITES, 0);
}

/* An adapter of an ADAPTERS block; several are put one after the other, with their number before.
 */
static inline void maker_adapter(struct maker *maker, const char *name, uint64_t fate,
				 const char *why)
{
	struct meta_adapter adapter = {
		.name = maker_text(name), .fate = fate, .why = maker_text(why)};

	meta_adapter_encode(&maker->buffer, &adapter);
}

/* What an adapter says when it takes hold. */
static inline void maker_took_hold(struct maker *maker, uint32_t id, const char *name,
				   const char *version)
{
	struct meta_site site = {
		.id = id, .name = maker_text(name), .kind = maker_text(version), .flags = 16};

	maker_callbacks(maker, &site);
}

static inline struct encoder *maker_stream(struct maker *maker, uint32_t thread, bool aside,
					   uint64_t number)
{
	unsigned i = maker->count++;

	maker->threads[i] = thread;
	maker->asides[i] = aside;
	maker_must(
		encoder_new(&maker->encoders[i], thread, aside, number, true, maker_sink, maker));
	return maker->encoders[i];
}

static inline void maker_put(struct encoder *encoder, struct unweave_event event)
{
	maker_must(encoder_put(encoder, &event, 1));
}

/* Sends all streams' events to the file. */
static inline void maker_flush(struct maker *maker)
{
	for (unsigned i = 0; i < maker->count; i++)
		maker_must(encoder_flush(maker->encoders[i]));
}

/* The END block; `outside` events are lost that belong to no thread. */
static inline void maker_end(struct maker *maker, uint64_t outside)
{
	buffer_put_varint(&maker->buffer, maker->count);
	for (unsigned i = 0; i < maker->count; i++) {
		struct meta_stream_end end = {
			.thread = maker->threads[i],
			.aside = maker->asides[i],
			.number = encoder_number(maker->encoders[i]),
		};

		meta_stream_end_encode(&maker->buffer, &end);
	}
	buffer_put_varint(&maker->buffer, outside ? 1 : 0);
	if (outside) {
		struct meta_loss loss = {.cause = UNWEAVE_LOSS_NO_THREAD, .events = outside};

		meta_loss_encode(&maker->buffer, &loss);
	}
	maker_block(maker, BLOCK_END, 0);
}

static inline void maker_fini(struct maker *maker)
{
	for (unsigned i = 0; i < maker->count; i++)
		encoder_free(maker->encoders[i]);
	writer_free(maker->writer);
	compressor_free(maker->compressor);
	stacks_free(maker->stacks);
	buffer_fini(&maker->buffer);
}

/* A path of its own for the process, in the directory for temporary files; static storage. */
static inline const char *maker_path(void)
{
	static char path[4096];
	const char *directory = getenv("TMPDIR");

	snprintf(path, sizeof(path), "%s/unweave-test-%d.unw", directory ? directory : "/tmp",
		 (int)getpid());
	return path;
}

#endif /* TESTS_MAKER_H */

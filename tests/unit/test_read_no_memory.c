/* SPDX-License-Identifier: Apache-2.0 */
/* What reads a trace, with every single allocation failing in turn. */
#include <errno.h>
#include <limits.h>

#include "check.h"
#include "failing_alloc.h"
#include "maker.h"
#include "trace/reader.h"

#define EVENTS 3000

static void make_trace(void)
{
	const struct unweave_frame *chain = NULL;
	struct maker maker;

	maker_init(&maker, maker_path(), true);
	maker_session(&maker, 1000000000);
	maker_clock(&maker, 0, 1000);
	maker_thread(&maker, 1, "main");
	maker_site(&maker, 1, "request", "serve", "server.c", 42);
	buffer_put_varint(&maker.buffer, 1);
	maker_adapter(&maker, "libevent", META_FATE_IMPOSSIBLE, "it is inside");
	maker_block(&maker, BLOCK_ADAPTERS, 0);
	maker_took_hold(&maker, 2, "libuv", "1.44.2");
	for (uint32_t thread = 1; thread <= 3; thread++)
		maker_stream(&maker, thread, false, 0);
	for (unsigned i = 0; i < EVENTS; i++) {
		struct unweave_event event = {
			.kind = i % 50 ? UNWEAVE_EVENT_RESUME : UNWEAVE_EVENT_NAME,
			.time = i,
			.task = i,
			.stack = chain,
			.text = i % 50 ? NULL : "a name",
		};

		chain = stacks_push(maker.stacks, i % 30 ? chain : NULL, 0x401000 + 8 * i, 0,
				    UNWEAVE_FRAME_CODE);
		maker_put(maker.encoders[i % 3], event);
		if (i % 1000 == 999)
			maker_flush(&maker);
	}
	maker_end(&maker, 0);
	maker_fini(&maker);
}

/* Reads all, twice. Returns -ENOMEM if that could not be, and how many events came. */
static int read_trace(unsigned left, unsigned most, unsigned *ret_events)
{
	struct reader *reader = NULL;
	struct unweave_event event;
	struct diag diag = {0};
	int r;

	*ret_events = 0;
	alloc_watch(left, most);
	r = reader_open(&reader, maker_path(), NULL, NULL, &diag);
	for (int pass = 0; pass < 2 && r >= 0; pass++) {
		while ((r = reader_next(reader, &event, &diag)) == 0)
			++*ret_events;
		if (r == READER_END)
			r = reader_seek(reader, 100, UINT64_MAX, &diag);
	}
	reader_free(reader);
	alloc_watched = false;
	CHECK(r == 0 || r == -ENOMEM);
	CHECK(r == 0 || strcmp(diag.text, "out of memory") == 0);
	return r;
}

static void try_all(unsigned most)
{
	unsigned left = 0, refused = 0, events;

	do {
		int r = read_trace(left++, most, &events);

		/* An allocation that fails either is told, or did not matter. */
		if (r == 0)
			CHECK_EQ(events, 2 * EVENTS);
		refused += r < 0;
	} while (alloc_failed);
	CHECK(refused > 20);
}

static void an_allocation_that_fails_is_told(void)
{
	make_trace();
	try_all(1);
}

static void so_are_all_that_fail_from_one_on(void)
{
	make_trace();
	try_all(UINT_MAX);
}

int main(void)
{
	RUN(an_allocation_that_fails_is_told);
	RUN(so_are_all_that_fail_from_one_on);
	unlink(maker_path());
	return check_done();
}

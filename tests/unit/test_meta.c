/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "check.h"
#include "trace/meta.h"

#define TEXT(literal) ((struct meta_text){.bytes = (literal), .length = sizeof(literal) - 1})

static bool text_is(struct meta_text text, const char *expected)
{
	return text.length == strlen(expected) && memcmp(text.bytes, expected, text.length) == 0;
}

static const struct meta_session session = {
	.pid = 4242,
	.realtime = UINT64_C(1794000000000000000),
	.clock = 1,
	.ticks_per_s = 143750000,
	.keywords = UINT64_MAX,
	.policy = 2,
	.detail = 3,
	.version = {.bytes = "0.1.0", .length = 5},
	.program = {.bytes = "/usr/bin/server", .length = 15},
	.machine = {.bytes = "x86_64", .length = 6},
};

static void a_session_comes_back(void)
{
	struct buffer buffer = BUFFER_INIT(1000);
	struct meta_session got;
	struct wire wire;

	CHECK_EQ(meta_session_encode(&buffer, &session), 0);
	wire = wire_of(buffer.bytes, buffer.length);
	meta_session_decode(&wire, &got);
	CHECK(!wire.bad && wire.at == wire.end);
	CHECK_EQ(got.pid, session.pid);
	CHECK_EQ(got.realtime, session.realtime);
	CHECK_EQ(got.clock, session.clock);
	CHECK_EQ(got.ticks_per_s, session.ticks_per_s);
	CHECK_EQ(got.keywords, session.keywords);
	CHECK_EQ(got.policy, session.policy);
	CHECK_EQ(got.detail, session.detail);
	CHECK(text_is(got.version, "0.1.0"));
	CHECK(text_is(got.program, "/usr/bin/server"));
	CHECK(text_is(got.machine, "x86_64"));
	buffer_fini(&buffer);
}

static void the_others_come_back(void)
{
	struct buffer buffer = BUFFER_INIT(1000);
	struct meta_clock clock = {.ticks = 5, .raw = UINT64_MAX, .realtime = 7};
	struct meta_thread thread = {.thread = 1, .tid = 99, .ended = 1, .name = TEXT("worker")};
	struct meta_site site = {.id = 3,
				 .line = 120,
				 .name = TEXT("accept"),
				 .function = TEXT("serve"),
				 .file = TEXT("server.c")};
	struct meta_stream_end end = {.thread = 1, .aside = 1, .number = 1 << 20};
	struct meta_loss loss = {.cause = 4, .events = 300};
	struct meta_wait wait = {.task = UINT64_MAX, .kind = 2, .on = UINT64_MAX - 1};
	struct wire wire;

	CHECK_EQ(meta_clock_encode(&buffer, &clock), 0);
	CHECK_EQ(meta_thread_encode(&buffer, &thread), 0);
	CHECK_EQ(meta_site_encode(&buffer, &site), 0);
	CHECK_EQ(meta_stream_end_encode(&buffer, &end), 0);
	CHECK_EQ(meta_loss_encode(&buffer, &loss), 0);
	CHECK_EQ(meta_wait_encode(&buffer, &wait), 0);

	memset(&clock, 0, sizeof(clock));
	memset(&thread, 0, sizeof(thread));
	memset(&site, 0, sizeof(site));
	memset(&end, 0, sizeof(end));
	memset(&loss, 0, sizeof(loss));
	wire = wire_of(buffer.bytes, buffer.length);
	meta_clock_decode(&wire, &clock);
	meta_thread_decode(&wire, &thread);
	meta_site_decode(&wire, &site);
	meta_stream_end_decode(&wire, &end);
	meta_loss_decode(&wire, &loss);
	memset(&wait, 0, sizeof(wait));
	meta_wait_decode(&wire, &wait);
	CHECK(!wire.bad && wire.at == wire.end);
	CHECK(wait.task == UINT64_MAX && wait.kind == 2 && wait.on == UINT64_MAX - 1);
	CHECK(clock.ticks == 5 && clock.raw == UINT64_MAX && clock.realtime == 7);
	CHECK(thread.thread == 1 && thread.tid == 99 && thread.ended == 1);
	CHECK(text_is(thread.name, "worker"));
	CHECK(site.id == 3 && site.line == 120);
	CHECK(text_is(site.name, "accept") && text_is(site.function, "serve"));
	CHECK(text_is(site.file, "server.c"));
	CHECK(end.thread == 1 && end.aside == 1 && end.number == 1 << 20);
	CHECK(loss.cause == 4 && loss.events == 300);
	buffer_fini(&buffer);
}

static void a_session_cut_anywhere_is_bad(void)
{
	struct buffer buffer = BUFFER_INIT(1000);

	CHECK_EQ(meta_session_encode(&buffer, &session), 0);
	for (size_t length = 0; length < buffer.length; length++) {
		struct wire wire = wire_of(buffer.bytes, length);
		struct meta_session got;

		meta_session_decode(&wire, &got);
		CHECK(wire.bad);
		CHECK(got.machine.bytes != NULL && got.machine.length == 0);
	}
	buffer_fini(&buffer);
}

static void a_text_longer_than_the_payload_is_bad(void)
{
	static const uint8_t bytes[] = {1,    1,    0,    0xff, 0xff, 0xff, 0xff,
					0xff, 0xff, 0xff, 0xff, 0xff, 1,    'x'};
	struct wire wire = wire_of(bytes, sizeof(bytes));
	struct meta_thread thread;

	meta_thread_decode(&wire, &thread);
	CHECK(wire.bad);
	CHECK_EQ(thread.name.length, 0);
}

static void no_room_is_said(void)
{
	struct buffer buffer = BUFFER_INIT(10);

	CHECK_EQ(meta_session_encode(&buffer, &session), -ENOMEM);
	buffer_fini(&buffer);
}

int main(void)
{
	RUN(a_session_comes_back);
	RUN(the_others_come_back);
	RUN(a_session_cut_anywhere_is_bad);
	RUN(a_text_longer_than_the_payload_is_bad);
	RUN(no_room_is_said);
	return check_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An echo server as an adapter sees it: a loop, a listener, readers, writes that a
 * helper of the callback arms, work on another thread, a repeating timer without a
 * name, one callback that keeps the loop for 120 ms, and what never completes.
 */
#include "make.h"
#include "trace/samples.h"
#include "unweave/callback.h"

#define MAIN UINT64_C(0x401000)
#define ON_CONNECTION UINT64_C(0x402000)
#define ON_READ UINT64_C(0x403000)
#define REPLY UINT64_C(0x404000)
#define ON_WRITTEN UINT64_C(0x405000)
#define ON_HASHED UINT64_C(0x406000)
#define ON_TIMEOUT UINT64_C(0x407000)
#define STRIPPED UINT64_C(0x408000) /* of which no name is known */
#define CHECKSUM UINT64_C(0x409000)
#define UV_RUN UINT64_C(0x501000)
#define ANCHORS UINT64_C(0x700000)
#define ADAPTER UINT64_C(0x721000)
#define INSIDE 0x40u /* an address in a function */
#define RETURN 0x41u /* one that a call there returns to */

enum { LOOP = 11, LISTEN, LISTENED, READ, HAS_READ, WRITE, HASH, TIMEOUT, TICK, TICKED };

/* Tasks that are spoken of more than once. */
enum { LOOP_TASK = 2, LISTENER = 4, TIMEOUT_TASK = 6, TICKER = 8, READER = 34, OTHER_READER = 134 };

static const struct {
	uint32_t id;
	const char *kind;
	uint64_t code, place;
	uint32_t under, flags;
} sites[] = {
	{LOOP, "uv loop", UV_RUN, MAIN + RETURN, 0, UNWEAVE_SITE_STANDING | UNWEAVE_SITE_LOOP},
	{LISTEN, "listen", ON_CONNECTION, MAIN + RETURN, 0, UNWEAVE_SITE_STANDING},
	{LISTENED, "listen", ON_CONNECTION, MAIN + RETURN, 0, UNWEAVE_SITE_FIRED},
	{READ, "read", ON_READ, ON_CONNECTION + RETURN, LISTENED, UNWEAVE_SITE_STANDING},
	{HAS_READ, "read", ON_READ, ON_CONNECTION + RETURN, LISTENED, UNWEAVE_SITE_FIRED},
	{WRITE, "write", ON_WRITTEN, REPLY + RETURN, HAS_READ, 0},
	{HASH, "work", ON_HASHED, ON_READ + RETURN, HAS_READ, 0},
	{TIMEOUT, "timer", ON_TIMEOUT, MAIN + RETURN, 0, 0},
	{TICK, "timer", STRIPPED, MAIN + RETURN, 0, UNWEAVE_SITE_STANDING},
	{TICKED, "timer", STRIPPED, MAIN + RETURN, 0, UNWEAVE_SITE_FIRED},
};

static const struct {
	uint64_t function;
	const char *name;
	uint64_t line;
} names[] = {
	{MAIN, "main", 80},
	{ON_CONNECTION, "on_connection", 60},
	{ON_READ, "on_read", 40},
	{REPLY, "reply", 25},
	{ON_WRITTEN, "on_written", 15},
	{ON_HASHED, "on_hashed", 30},
	{CHECKSUM, "checksum", 5},
	{ON_TIMEOUT, "on_timeout", 70},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void put_sites(struct maker *maker)
{
	for (size_t i = 0; i < COUNT(sites); i++)
		maker_callbacks(maker, &(struct meta_site){.id = sites[i].id,
							   .kind = maker_text(sites[i].kind),
							   .flags = sites[i].flags,
							   .code = sites[i].code,
							   .place = sites[i].place,
							   .under = sites[i].under});
}

static void put_name(struct maker *maker, uint64_t address, uint64_t start, const char *name,
		     uint64_t line)
{
	struct meta_symbol_frame frame = {
		.function = maker_text(name), .file = maker_text("echo.c"), .line = line};

	buffer_put_varint(&maker->buffer, 1);
	meta_symbol_encode(&maker->buffer, address, start, &frame, 1);
	maker_block(maker, BLOCK_SYMBOLS, START);
}

static void put_modules(struct maker *maker)
{
	static const struct {
		uint64_t start, end;
		const char *path;
	} modules[] = {
		{0x400000, 0x410000, "/usr/bin/echo"},
		{0x500000, 0x510000, "/usr/lib/libuv.so.1"},
		{0x700000, 0x710000, "/usr/lib/libunweave.so.0"},
		{0x720000, 0x730000, "/usr/lib/libunweave-uv.so"},
	};

	buffer_put_varint(&maker->buffer, ANCHORS);
	buffer_put_varint(&maker->buffer, COUNT(modules));
	for (size_t i = 0; i < COUNT(modules); i++)
		meta_module_encode(&maker->buffer,
				   &(struct meta_module){.start = modules[i].start,
							 .end = modules[i].end,
							 .path = maker_text(modules[i].path)});
	maker_block(maker, BLOCK_MODULES, START);
}

static void put_names(struct maker *maker)
{
	struct meta_sampler sampler = {.driver = SAMPLER_PERF, .hz = 1000};

	put_modules(maker);
	meta_sampler_encode(&maker->buffer, &sampler);
	maker_block(maker, BLOCK_SAMPLER, START);
	for (size_t i = 0; i < COUNT(names); i++) {
		put_name(maker, names[i].function, names[i].function, names[i].name, names[i].line);
		put_name(maker, names[i].function + INSIDE, names[i].function, names[i].name,
			 names[i].line + 4);
	}
	put_name(maker, UV_RUN + INSIDE, UV_RUN, "uv_run", 371);
}

/* `at` in units of 10 us. */
static void put(struct encoder *to, uint16_t kind, uint64_t at, uint64_t task, uint64_t other,
		uint64_t value)
{
	maker_put(to, (struct unweave_event){.kind = kind,
					     .time = START + at * (MS / 100),
					     .task = task,
					     .other = other,
					     .value = value});
}

static void wait_from_to(struct encoder *to, uint64_t from, uint64_t until)
{
	put(to, UNWEAVE_EVENT_IDLE, from, LOOP_TASK, 0, 0);
	put(to, UNWEAVE_EVENT_WOKE, until, LOOP_TASK, 0, 0);
}

/* A call of a standing task. */
static void begin_call(struct encoder *to, uint64_t at, uint64_t task, uint64_t standing,
		       uint32_t site)
{
	put(to, UNWEAVE_EVENT_CREATE, at, task, standing, site);
	put(to, UNWEAVE_EVENT_RESUME, at, task, 0, 0);
}

static void call_once(struct encoder *to, uint64_t at, uint64_t until, uint64_t task,
		      uint64_t status)
{
	put(to, UNWEAVE_EVENT_RESUME, at, task, 0, 0);
	put(to, UNWEAVE_EVENT_COMPLETE, until, task, 0, status);
}

static void accept_one(struct encoder *to, uint64_t at, uint64_t task, uint64_t reader)
{
	begin_call(to, at, task, LISTENER, LISTENED);
	put(to, UNWEAVE_EVENT_CREATE, at + 20, reader, task, READ);
	put(to, UNWEAVE_EVENT_COMPLETE, at + 50, task, 0, 0);
}

/* A read that is answered by a write, and one that is hashed on another thread. */
static void put_first_requests(struct encoder *one, struct encoder *two)
{
	wait_from_to(one, 100, 1000);
	accept_one(one, 1000, 32, READER);
	wait_from_to(one, 1050, 2000);
	begin_call(one, 2000, 36, READER, HAS_READ);
	put(one, UNWEAVE_EVENT_CREATE, 2050, 38, 36, WRITE);
	put(one, UNWEAVE_EVENT_CREATE, 2100, 40, 36, HASH);
	put(one, UNWEAVE_EVENT_COMPLETE, 2200, 36, 0, 0);
	wait_from_to(one, 2200, 2300);
	call_once(one, 2310, 2350, 38, UNWEAVE_OK);
	put(two, UNWEAVE_EVENT_RESET, 2000, 0, 0, 0);
	put(two, UNWEAVE_EVENT_RESUME, 2500, 40, 0, 0);
	put(two, UNWEAVE_EVENT_SUSPEND, 3500, 40, 0, 0);
	wait_from_to(one, 2350, 3600);
	call_once(one, 3600, 3700, 40, UNWEAVE_OK);
}

/* One callback takes 120 ms, for which five others wait that could run. */
static void put_busy_requests(struct encoder *one)
{
	wait_from_to(one, 3700, 10000);
	accept_one(one, 10000, 132, OTHER_READER);
	wait_from_to(one, 10050, 20000);
	begin_call(one, 20000, 136, OTHER_READER, HAS_READ);
	put(one, UNWEAVE_EVENT_CREATE, 31900, 138, 136, WRITE);
	put(one, UNWEAVE_EVENT_COMPLETE, 32000, 136, 0, 0);
	for (unsigned i = 0; i < 5; i++) {
		begin_call(one, 32000 + 100 * i, 140 + 2 * i, READER, HAS_READ);
		put(one, UNWEAVE_EVENT_COMPLETE, 32100 + 100 * i, 140 + 2 * i, 0, 0);
	}
	wait_from_to(one, 32500, 33000);
	call_once(one, 33000, 33050, 138, UNWEAVE_ERROR);
}

static void put_timer(struct encoder *one)
{
	for (unsigned i = 0; i < 3; i++) {
		uint64_t at = 50000 + 10000 * i;

		wait_from_to(one, i ? at - 10000 + 20 : 33050, at);
		/* It was due earlier than the loop woke. */
		put(one, UNWEAVE_EVENT_DUE, at, 0, 0, 300000);
		begin_call(one, at, 200 + 2 * i, TICKER, TICKED);
		put(one, UNWEAVE_EVENT_COMPLETE, at + 20, 200 + 2 * i, 0, 0);
	}
}

static void put_sample(struct samples_writer *writer, uint64_t at, uint64_t task, uint32_t site,
		       uint64_t callback)
{
	uint64_t native[] = {CHECKSUM + INSIDE, callback + INSIDE, ADAPTER,         ANCHORS + 16,
			     0x701000,          ADAPTER + 0x100,   UV_RUN + INSIDE, MAIN + INSIDE};
	struct samples_segment segment = {
		.task = task, .site = site, .chain = {.addresses = &callback, .count = 1}};
	struct samples_input input = {
		.ticks = START + at * (MS / 100),
		.weight = 1000000,
		.tid = 4242,
		.thread_name = "main",
		.native = {.addresses = native, .count = COUNT(native)},
		.segments = &segment,
		.segment_count = 1,
	};

	maker_must(samples_writer_put(writer, &input));
}

static int write_block(void *data, const struct block *block, const uint8_t *payload)
{
	return writer_put(((struct maker *)data)->writer, block, payload, NULL);
}

static void put_samples(struct maker *maker)
{
	struct samples_writer *writer = NULL;

	maker_must(samples_writer_new(&writer, write_block, maker));
	for (unsigned i = 0; i < 110; i++)
		put_sample(writer, 20500 + 100 * i, 136, HAS_READ, ON_READ);
	put_sample(writer, 33020, 138, WRITE, ON_WRITTEN);
	maker_must(samples_writer_flush(writer));
	samples_writer_free(writer);
}

/* Two callbacks of a library without names, whose own is longer than a column. */
static void put_long_names(struct maker *maker, struct encoder *to)
{
	struct meta_module module = {
		.start = 0x800000,
		.end = 0x810000,
		.path = maker_text("/usr/lib/libnetmgr-9.18.49-1~deb12u3-Debian.so")};

	buffer_put_varint(&maker->buffer, ANCHORS);
	buffer_put_varint(&maker->buffer, 1);
	meta_module_encode(&maker->buffer, &module);
	maker_block(maker, BLOCK_MODULES, START);
	for (uint32_t i = 0; i < 2; i++) {
		maker_callbacks(maker, &(struct meta_site){.id = 40 + i,
							   .kind = maker_text("udp recv"),
							   .code = 0x803610 + 0x40 * i,
							   .place = MAIN + RETURN});
		put(to, UNWEAVE_EVENT_CREATE, 80 + i, 10 + 2 * i, 0, 40 + i);
	}
}

void put_behind(struct maker *maker)
{
	struct encoder *one = maker_stream(maker, 1, false, 0);
	uint64_t at = 1000, task = 100;

	put_sites(maker);
	put_names(maker);
	put(one, UNWEAVE_EVENT_RESET, 0, 0, 0, 0);
	put(one, UNWEAVE_EVENT_CREATE, 0, READER, 0, READ);
	put_long_names(maker, one);
	put(one, UNWEAVE_EVENT_CREATE, 90, LOOP_TASK, 0, LOOP);
	/* A hundred short calls each time that the loop looks. */
	for (unsigned i = 0; i < 4; i++) {
		wait_from_to(one, at - 10, at);
		for (unsigned k = 0; k < 100; k++, at += 200, task += 2) {
			begin_call(one, at, task, READER, HAS_READ);
			put(one, UNWEAVE_EVENT_COMPLETE, at + 200, task, 0, 0);
		}
		at += 10;
	}
	wait_from_to(one, at, at + 10);
}

void put_callbacks(struct maker *maker)
{
	struct encoder *one = maker_stream(maker, 1, false, 0);
	struct encoder *two = maker_stream(maker, 2, false, 0);

	put_sites(maker);
	put_names(maker);
	put(one, UNWEAVE_EVENT_RESET, 0, 0, 0, 0);
	put(one, UNWEAVE_EVENT_CREATE, 0, LISTENER, 0, LISTEN);
	put(one, UNWEAVE_EVENT_CREATE, 0, TIMEOUT_TASK, 0, TIMEOUT);
	put(one, UNWEAVE_EVENT_CREATE, 0, TICKER, 0, TICK);
	put(one, UNWEAVE_EVENT_CREATE, 90, LOOP_TASK, 0, LOOP);
	put_first_requests(one, two);
	put_busy_requests(one);
	put_timer(one);
	put(one, UNWEAVE_EVENT_COMPLETE, 70030, READER, 0, UNWEAVE_CANCELLED);
	wait_from_to(one, 70030, 200000);
	put_samples(maker);
}

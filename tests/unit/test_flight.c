/* SPDX-License-Identifier: Apache-2.0 */
/* What a recorder keeps in memory that keeps only the last part. */
#include "trace/flight.h"

#include "check.h"

/* A block is its number, repeated; `length` of them. */
static void add(struct flight *flight, enum block_kind kind, uint64_t ticks, uint8_t number,
		size_t length)
{
	struct block block = {.kind = kind, .first = ticks, .last = ticks, .events = 10};
	uint8_t bytes[100];

	memset(bytes, number, sizeof(bytes));
	CHECK_EQ(flight_add(flight, &block, bytes, length), 0);
}

static int collect(void *data, const uint8_t *bytes, size_t length)
{
	char *order = data;
	size_t end = strlen(order);

	CHECK(length > 0 && bytes[length - 1] == bytes[0]);
	if (end < 31)
		order[end] = (char)bytes[0];
	return 0;
}

/* The numbers of the blocks that are there, in their order. */
static const char *kept(const struct flight *flight)
{
	static char order[32];

	memset(order, 0, sizeof(order));
	CHECK_EQ(flight_each(flight, collect, order), 0);
	return order;
}

static struct flight *with_limits(uint64_t ticks, uint64_t bytes)
{
	struct flight_limits limits = {ticks, bytes};
	struct flight *flight = NULL;

	CHECK_EQ(flight_new(&flight, &limits), 0);
	return flight;
}

static void drops_what_is_older(void)
{
	struct flight *flight = with_limits(100, 10000);

	add(flight, BLOCK_EVENTS, 1000, 'a', 10);
	add(flight, BLOCK_SAMPLES, 1010, 'b', 10);
	add(flight, BLOCK_EVENTS, 1090, 'c', 10);
	CHECK_STR_EQ(kept(flight), "abc");
	add(flight, BLOCK_EVENTS, 1101, 'd', 10);
	CHECK_STR_EQ(kept(flight), "bcd");
	add(flight, BLOCK_EVENTS, 5000, 'e', 10);
	CHECK_STR_EQ(kept(flight), "e");
	flight_free(flight);
}

static void drops_what_is_too_much(void)
{
	struct flight *flight = with_limits(0, 100);

	for (uint8_t i = 0; i < 5; i++)
		add(flight, BLOCK_EVENTS, i, (uint8_t)('a' + i), 40);
	CHECK_STR_EQ(kept(flight), "de");
	CHECK_EQ(flight_bytes(flight), FORMAT_FILE_HEADER_BYTES + 80);
	flight_free(flight);
}

static void keeps_what_a_reader_needs(void)
{
	struct flight *flight = with_limits(100, 1000);

	add(flight, BLOCK_CLOCK, 1, 'c', 10);
	add(flight, BLOCK_SESSION, 1, 's', 10);
	add(flight, BLOCK_MODULES, 1, 'm', 10);
	add(flight, BLOCK_CLOCK, 2, 'd', 10);
	add(flight, BLOCK_THREADS, 2, 't', 10);
	add(flight, BLOCK_EVENTS, 3, 'e', 10);
	add(flight, BLOCK_SESSION, 4, 'S', 10);
	add(flight, BLOCK_MODULES, 5, 'M', 10);
	CHECK_STR_EQ(kept(flight), "cmdteSM");
	add(flight, BLOCK_EVENTS, 5000, 'E', 10);
	add(flight, BLOCK_END, 5000, '.', 10);
	CHECK_STR_EQ(kept(flight), "cmSME.");
	flight_free(flight);
}

static void counts_what_it_has(void)
{
	struct flight *flight = with_limits(100, 1000);
	struct flight_totals totals;

	add(flight, BLOCK_EVENTS, 1, 'a', 10);
	add(flight, BLOCK_EVENTS, 1000, 'b', 10);
	add(flight, BLOCK_SAMPLES, 1020, 'c', 10);
	add(flight, BLOCK_EVENTS, 1010, 'd', 10);
	totals = flight_totals(flight);
	CHECK_EQ(totals.events, 20);
	CHECK_EQ(totals.samples, 10);
	CHECK_EQ(totals.first, 1000);
	CHECK_EQ(totals.last, 1020);
	flight_free(flight);
}

static void a_block_that_is_larger_than_all_is_dropped(void)
{
	struct flight *flight = with_limits(0, 50);

	add(flight, BLOCK_EVENTS, 1, 'a', 60);
	CHECK_STR_EQ(kept(flight), "");
	add(flight, BLOCK_EVENTS, 1, 'b', 50);
	CHECK_STR_EQ(kept(flight), "b");
	flight_free(flight);
}

int main(void)
{
	RUN(drops_what_is_older);
	RUN(drops_what_is_too_much);
	RUN(keeps_what_a_reader_needs);
	RUN(counts_what_it_has);
	RUN(a_block_that_is_larger_than_all_is_dropped);
	return check_done();
}

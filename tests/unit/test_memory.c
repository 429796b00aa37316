/* SPDX-License-Identifier: Apache-2.0 */
/* Reads pieces of this very process, as of another one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "drain/memory.h"

#define PAGE 4096u
#define PAGES 64u
#define PIECE 40u

static struct attachment attachment;
static char *pages; /* every third of them cannot be read */

static bool is_there(size_t at, size_t bytes)
{
	return at / PAGE % 3 != 2 && (at + bytes - 1) / PAGE % 3 != 2;
}

static void make_pages(void)
{
	pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	for (size_t i = 0; i < PAGES * PAGE; i++)
		pages[i] = (char)(i * 7 + i / 256);
	for (size_t i = 2; i < PAGES; i += 3)
		mprotect(pages + i * PAGE, PAGE, PROT_NONE);
	attachment = (struct attachment){.pid = (uint32_t)getpid()};
}

/* Reads `count` pieces that begin at these places, and compares each with what is there. */
static void check_pieces(const size_t *places, uint32_t count)
{
	char found[MEMORY_PIECES][PIECE];
	struct iovec local[MEMORY_PIECES], remote[MEMORY_PIECES];
	bool there[MEMORY_PIECES];
	int error = 0;

	memset(found, 0, sizeof(found));
	for (uint32_t i = 0; i < count; i++) {
		local[i] = (struct iovec){found[i], PIECE};
		remote[i] = (struct iovec){pages + places[i], PIECE};
	}
	memory_read_pieces(&attachment, local, remote, count, there, &error);
	CHECK_EQ(error, 0);
	for (uint32_t i = 0; i < count; i++) {
		CHECK_EQ(there[i], is_there(places[i], PIECE));
		if (there[i])
			CHECK_EQ(memcmp(found[i], pages + places[i], PIECE), 0);
	}
}

static void neighbours_are_read(void)
{
	size_t places[MEMORY_PIECES];

	for (uint32_t i = 0; i < MEMORY_PIECES; i++)
		places[i] = i * 120;
	check_pieces(places, MEMORY_PIECES);
}

static void in_any_order_too(void)
{
	size_t places[MEMORY_PIECES];

	for (uint32_t i = 0; i < MEMORY_PIECES; i++)
		places[i] = (MEMORY_PIECES - 1 - i) * 100 + (i % 3) * 13;
	check_pieces(places, MEMORY_PIECES);
}

static void a_hole_does_not_hide_what_is_beside_it(void)
{
	const size_t places[] = {2 * PAGE - PIECE, 2 * PAGE - PIECE + 1, 2 * PAGE, 3 * PAGE - 1,
				 3 * PAGE};

	check_pieces(places, sizeof(places) / sizeof(places[0]));
}

static void pieces_may_overlap(void)
{
	const size_t places[] = {100, 100, 110, 100, 120, 90};

	check_pieces(places, sizeof(places) / sizeof(places[0]));
}

static void random_pieces_are_what_is_there(void)
{
	size_t places[MEMORY_PIECES];
	uint64_t state = 1;

	for (int round = 0; round < 2000; round++) {
		uint32_t count = 1 + (uint32_t)round % MEMORY_PIECES;
		size_t spread = (size_t)PIECE << (round % 13);

		for (uint32_t i = 0; i < count; i++) {
			state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
			places[i] = (state >> 33) %
				    (spread < PAGES * PAGE - PIECE ? spread : PAGES * PAGE - PIECE);
		}
		check_pieces(places, count);
	}
}

static void without_a_process_there_is_an_error(void)
{
	const struct attachment nobody = {.pid = 0x7ffffff0};
	uint64_t word;
	int error = 0;

	CHECK_EQ(memory_read(&nobody, &word, (uintptr_t)pages, sizeof(word), &error), false);
	CHECK_EQ(error, ESRCH);
}

static bool read_kept(void *data, uint64_t address, void *to, size_t bytes)
{
	memcpy(to, data, bytes);
	return address == 1000;
}

static void what_was_kept_of_a_dead_one_is_read_instead(void)
{
	uint64_t kept = 42, word = 0;
	const struct attachment dead = {.pid = 0x7ffffff0, .kept = {read_kept, &kept}};
	int error = 0;

	CHECK_EQ(memory_read(&dead, &word, 1000, sizeof(word), &error), true);
	CHECK_EQ(word, 42);
	CHECK_EQ(memory_read(&dead, &word, 2000, sizeof(word), &error), false);
	CHECK_EQ(error, 0);
}

/* An emulator of another machine may not have the system call. */
static bool can_read(void)
{
	uint64_t word;
	int error = 0;

	memory_read(&attachment, &word, (uintptr_t)pages, sizeof(word), &error);
	return error != ENOSYS;
}

int main(void)
{
	make_pages();
	if (!can_read()) {
		puts("1..0 # SKIP there is no process_vm_readv()");
		return 0;
	}
	RUN(neighbours_are_read);
	RUN(in_any_order_too);
	RUN(a_hole_does_not_hide_what_is_beside_it);
	RUN(pieces_may_overlap);
	RUN(random_pieces_are_what_is_there);
	RUN(without_a_process_there_is_an_error);
	RUN(what_was_kept_of_a_dead_one_is_read_instead);
	return check_done();
}

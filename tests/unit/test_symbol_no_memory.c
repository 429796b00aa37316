/* SPDX-License-Identifier: Apache-2.0 */
/* What names addresses and unwinds, with every single allocation failing in turn. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "failing_alloc.h"
#include "symbol/maps.h"
#include "symbol/unwind.h"

static char folder[] = "/tmp/unweave-no-memory-XXXXXX";
static const char *cache = ""; /* "": none, so that all is looked up each time */

static int add_module(void *data, const struct symbol_module *module)
{
	return symbols_add_module(data, module);
}

/* Any name but a wrong one. */
static void find_name(struct symbols *symbols, void (*function)(void), const char *name)
{
	const struct symbol *symbol = symbols_find(symbols, (uintptr_t)function);

	CHECK(symbol && symbol->count >= 1 && symbol->frames);
	CHECK(!symbol->frames[0].function || strcmp(symbol->frames[0].function, name) == 0);
}

static void unwind_some(struct symbols *symbols)
{
	uint64_t stack[16] = {0}, addresses[8];
	struct unwind_input input = {.sp = 0x7000,
				     .stack = (const uint8_t *)stack,
				     .bytes = sizeof(stack),
				     .registers = {[7] = 0x7000, [16] = (uintptr_t)find_name}};
	struct unwinder *unwinder = NULL;
	struct unwind_result result;
	int r = unwinder_new(&unwinder, symbols);

	CHECK(r == 0 || (r == -ENOMEM && !unwinder));
	if (r < 0)
		return;
	result = unwind(unwinder, &input, addresses, NULL, 8);
	CHECK(result.count >= 1 && addresses[0] == (uintptr_t)find_name);
	unwinder_free(unwinder);
}

/* Returns whether an allocation failed. */
static bool look(unsigned left, unsigned most)
{
	struct symbols *symbols = NULL;
	struct symbols_options options = {.pid = (uint32_t)getpid(), .cache = cache};
	int r;

	alloc_watch(left, most);
	r = symbols_new(&symbols, &options);
	CHECK(r == 0 || (r == -ENOMEM && !symbols));
	if (r == 0) {
		r = maps_each(options.pid, add_module, symbols);
		CHECK(r == 0 || r == -ENOMEM);
		find_name(symbols, (void (*)(void))find_name, "find_name");
		find_name(symbols, (void (*)(void))look, "look");
		find_name(symbols, (void (*)(void))unwind_some, "unwind_some");
		r = symbols_add(symbols, 1, 1, &(struct symbol_frame){.function = "said"}, 1);
		CHECK(r == 0 || r == -ENOMEM);
		unwind_some(symbols);
	}
	symbols_free(symbols);
	alloc_watched = false;
	return alloc_failed;
}

/* Lets `most` allocations fail from each point on in turn. */
static void fail_everywhere(unsigned most)
{
	unsigned left = 0;

	while (look(left, most) && left < 10000)
		left++;
	CHECK(left > 20 && left < 10000);
	printf("# %u allocations\n", left);
}

static void each_allocation_may_fail(void)
{
	fail_everywhere(1);
}

static void all_of_them_may_fail_from_some_point_on(void)
{
	fail_everywhere(UINT_MAX);
}

static void so_may_those_of_the_cache(void)
{
	cache = folder;
	fail_everywhere(1);
}

int main(void)
{
	char command[128];

	if (!mkdtemp(folder))
		return 2;
	RUN(each_allocation_may_fail);
	RUN(all_of_them_may_fail_from_some_point_on);
	RUN(so_may_those_of_the_cache);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	CHECK_EQ(system(command), 0);
	return check_done();
}

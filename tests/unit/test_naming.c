/* SPDX-License-Identifier: Apache-2.0 */
#include "view/naming.h"

#include "check.h"

#define PROGRAM 0x10000u
#define LIBRARY 0x50000u

static struct symbols *make_symbols(void)
{
	struct symbols_options options = {.no_files = true, .cache = ""};
	struct symbol_module program = {PROGRAM, PROGRAM + 0x1000, 0, "/bin/program", NULL, 0};
	struct symbol_module library = {LIBRARY, LIBRARY + 0x1000, 0, "/lib/library", NULL, 0};
	struct symbol_frame frame = {.function = "work"};
	struct symbols *symbols = NULL;

	CHECK_EQ(symbols_new(&symbols, &options), 0);
	CHECK_EQ(symbols_add_module(symbols, &program), 0);
	CHECK_EQ(symbols_add_module(symbols, &library), 0);
	CHECK_EQ(symbols_add(symbols, PROGRAM + 16, PROGRAM + 16, &frame, 1), 0);
	CHECK_EQ(symbols_add(symbols, PROGRAM + 20, PROGRAM + 16, &frame, 1), 0);
	return symbols;
}

static void addresses_of_a_known_function_are_in_one(void)
{
	struct symbols *symbols = make_symbols();

	CHECK(naming_same_function(symbols, PROGRAM + 16, PROGRAM + 20));
	symbols_free(symbols);
}

/* Or a frame of the C library without a name would pass for the function of any task. */
static void what_has_no_name_is_in_no_function_that_is_known(void)
{
	struct symbols *symbols = make_symbols();

	CHECK(!naming_same_function(symbols, PROGRAM + 16, LIBRARY + 16));
	CHECK(!naming_same_function(symbols, LIBRARY + 16, PROGRAM + 20));
	CHECK(!naming_same_function(symbols, PROGRAM + 64, PROGRAM + 20));
	symbols_free(symbols);
}

static void what_has_no_name_may_be_in_one_function_if_it_is_in_one_file(void)
{
	struct symbols *symbols = make_symbols();

	CHECK(naming_same_function(symbols, PROGRAM + 64, PROGRAM + 128));
	CHECK(!naming_same_function(symbols, PROGRAM + 64, LIBRARY + 64));
	symbols_free(symbols);
}

int main(void)
{
	RUN(addresses_of_a_known_function_are_in_one);
	RUN(what_has_no_name_is_in_no_function_that_is_known);
	RUN(what_has_no_name_may_be_in_one_function_if_it_is_in_one_file);
	return check_done();
}

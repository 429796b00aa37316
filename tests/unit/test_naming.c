/* SPDX-License-Identifier: Apache-2.0 */
#include "view/naming.h"

#include "check.h"
#include "unweave/callback.h"

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

static void a_coroutine_is_where_it_waits(void)
{
	struct symbols *symbols = make_symbols();
	struct symbol_frame frame = {.function = "work", .file = "work.cpp", .line = 7};

	CHECK_EQ(symbols_add(symbols, PROGRAM + 24, PROGRAM + 24, &frame, 1), 0);
	CHECK_EQ(naming_chain_frame(symbols, PROGRAM + 24, 0).line, 7);
	CHECK_EQ(naming_chain_frame(symbols, PROGRAM + 24, 12).line, 7);
	CHECK_EQ(naming_chain_frame(symbols, PROGRAM + 24, UNWEAVE_STATE_LINE | 12).line, 12);
	/* One that runs is in no line that is known. */
	CHECK_EQ(naming_chain_frame(symbols, PROGRAM + 24, UNWEAVE_STATE_LINE).line, 7);
	/* Runtimes number their states downwards too. */
	CHECK_EQ(naming_line(-2), 0);
	symbols_free(symbols);
}

static const char *label(struct reader_site site)
{
	static char text[64];
	struct symbols *symbols = make_symbols();

	site.name = site.name ? site.name : "";
	site.function = site.function ? site.function : "";
	naming_label(symbols, &site, text, sizeof(text));
	symbols_free(symbols);
	return text;
}

static void callbacks_are_called_by_their_kind_and_function(void)
{
	CHECK_STR_EQ(label((struct reader_site){.kind = "read", .code = PROGRAM + 16}),
		     "read work");
	CHECK_STR_EQ(label((struct reader_site){.kind = "read", .code = LIBRARY + 16}),
		     "read library+0x10");
	CHECK_STR_EQ(label((struct reader_site){.kind = "read", .code = 0x99}), "read 0x99");
	CHECK_STR_EQ(label((struct reader_site){.code = PROGRAM + 16}), "work");
	CHECK_STR_EQ(label((struct reader_site){.kind = "read"}), "read");
	CHECK_STR_EQ(label((struct reader_site){.name = "", .kind = NULL}), "");
}

static void what_a_program_says_itself_goes_before(void)
{
	CHECK_STR_EQ(label((struct reader_site){.name = "accept", .function = "serve"}), "accept");
	CHECK_STR_EQ(label((struct reader_site){.kind = "db", .function = "query"}),
		     "task in query");
	CHECK_STR_EQ(
		label((struct reader_site){.name = "flush", .kind = "timer", .code = PROGRAM + 16}),
		"flush");
}

/* The place is where a call returns to: one byte before is surely in the function. */
static void a_loop_is_called_by_what_runs_it(void)
{
	struct reader_site site = {.kind = "uv loop",
				   .code = LIBRARY + 16,
				   .place = PROGRAM + 21,
				   .flags = UNWEAVE_SITE_STANDING | UNWEAVE_SITE_LOOP};

	CHECK_STR_EQ(label(site), "uv loop in work");
	site.kind = "";
	CHECK_STR_EQ(label(site), "loop in work");
	site.place = 0;
	CHECK_STR_EQ(label(site), "library+0x10");
}

static void only_functions_with_a_known_beginning_are_surely_one(void)
{
	struct symbols *symbols = make_symbols();

	CHECK(naming_surely_same(symbols, PROGRAM + 16, PROGRAM + 20));
	CHECK(!naming_surely_same(symbols, PROGRAM + 16, PROGRAM + 64));
	CHECK(!naming_surely_same(symbols, PROGRAM + 64, PROGRAM + 65));
	CHECK(naming_surely_same(symbols, PROGRAM + 64, PROGRAM + 64));
	symbols_free(symbols);
}

int main(void)
{
	RUN(a_coroutine_is_where_it_waits);
	RUN(callbacks_are_called_by_their_kind_and_function);
	RUN(what_a_program_says_itself_goes_before);
	RUN(a_loop_is_called_by_what_runs_it);
	RUN(only_functions_with_a_known_beginning_are_surely_one);
	RUN(addresses_of_a_known_function_are_in_one);
	RUN(what_has_no_name_is_in_no_function_that_is_known);
	RUN(what_has_no_name_may_be_in_one_function_if_it_is_in_one_file);
	return check_done();
}

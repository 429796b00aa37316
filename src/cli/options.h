/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a subcommand, by a table: short and long names, with and without
 * an argument, in any order with the operands. Every table has --help besides.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct cmd;

/* A table ends with an entry of id 0. */
struct option_entry {
	int id;      /* what options_next() returns, above 0 */
	char letter; /* 0: none */
	const char *name;
	const char *argument; /* what it is called in the help; NULL: it takes none */
	const char *help;
};

struct options {
	const struct cmd *cmd;
	char **arguments;    /* those left to look at; ended by NULL */
	const char *letters; /* the rest of a cluster such as -ab */
	char **operands;     /* those found so far; ended by NULL after the last option */
	int operand_count;
	const char *name;  /* of the option that options_next() returned, as it was written */
	const char *value; /* its argument */
	int status;        /* after a stop: how to exit */
};

/* `arguments` are those behind the subcommand's name; they are moved around. */
void options_init(struct options *options, const struct cmd *cmd, char **arguments);

/*
 * The id of the next option; 0 after the last, with the operands complete; -1
 * to exit with `status`: what was wrong, or the help, has been printed.
 */
int options_next(struct options *options);

/* Says that the value of the last option is not what it should be; returns EXIT_USAGE. */
int options_bad_value(const struct options *options, const char *expected);

/* The value of the last option as a number; false if it is none. */
bool options_number(const struct options *options, uint64_t *ret);

/* Prints what --help shows. */
void options_help(const struct cmd *cmd);

#endif /* CLI_OPTIONS_H */

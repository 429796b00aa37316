/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a subcommand, by a table: short and long names, with and without
 * an argument, in any order with the operands. Every table has --help besides.
 *
 * Each option has its line in the table, which also says where it goes: a member of the
 * struct that holds what the command line asks for.
 *
 *     {'j', "json", NULL, "as one JSON object", OPTION_FLAG(struct plan, json)},
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cmd;
struct options;

/* A table ends with an entry without a name. */
struct option_entry {
	char letter; /* 0: none */
	const char *name;
	const char *argument; /* what it is called in the help; NULL: it takes none */
	const char *help;
	/* Takes the option to where it goes. Returns EXIT_OK, or says why not, and how to exit. */
	int (*set)(const struct options *options, void *to);
	size_t at; /* where that is in the struct */
};

/* What most options do; the member must be of the type that is named here. */
#define OPTION_FLAG(type, member) option_flag, OPTION_AT(type, member, bool)
#define OPTION_TEXT(type, member) option_text, OPTION_AT(type, member, const char *)
#define OPTION_NUMBER(type, member) option_number, OPTION_AT(type, member, uint64_t)
#define OPTION_TASK(type, member) option_task, OPTION_AT(type, member, uint64_t)
#define OPTION_TIME(type, member) option_time, OPTION_AT(type, member, uint64_t)
#define OPTION_LIMITS(type, member) option_limits, OPTION_AT(type, member, struct lint_limits)
#define OPTION_AT(type, member, wanted)                                                            \
	(offsetof(type, member) + 0 * sizeof(_Generic(&((type *)0)->member, wanted * : 0)))

struct options {
	const struct cmd *cmd;
	char *to;         /* the struct that is filled */
	char **arguments; /* those left to look at; ended by NULL */
	char **operands;  /* those found so far; ended by NULL after the last option */
	int operand_count;
	const char *name;  /* of the last option */
	const char *value; /* its argument */
	int status;        /* after a stop: how to exit */
};

/* `arguments` are those behind the subcommand's name; they are moved around. */
void options_init(struct options *options, const struct cmd *cmd, char **arguments);

/*
 * Takes all options to the struct that the table is for. False: it is time to exit, with
 * `status`; what was wrong, or the help, has been printed.
 */
bool options_read(struct options *options, void *to);

/* Whether there is one operand, which must be a trace; if not, says so, with the hint. */
bool options_name_a_trace(const struct options *options, const char *hint);

/* Says that the value of the last option is not what it should be; returns EXIT_USAGE. */
int options_bad_value(const struct options *options, const char *expected);

/* The value of the last option as a number; false if it is none. */
bool options_number(const struct options *options, uint64_t *ret);

/* Behind OPTION_FLAG() and the others. */
int option_flag(const struct options *options, void *to);
int option_text(const struct options *options, void *to);
int option_number(const struct options *options, void *to);
int option_task(const struct options *options, void *to);
int option_time(const struct options *options, void *to);
int option_limits(const struct options *options, void *to);

/* Prints what --help shows. */
void options_help(const struct cmd *cmd);

#endif /* CLI_OPTIONS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* A subcommand: one table entry here, one file cmd_<name>.c. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include "cli/options.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct cmd {
	const char *name;
	const char *arguments; /* as in "unweave info [OPTION]... FILE..." */
	const char *summary;   /* one line, no full stop */
	const char *details;   /* more for --help, lines ended; may be NULL */
	const struct option_entry *options;
	bool command_follows; /* the first operand ends the options: the rest is a command */
	int (*run)(struct options *options); /* returns one of EXIT_* or a command's status */
};

extern const struct cmd cmd_cflags;
extern const struct cmd cmd_dump;
extern const struct cmd cmd_export;
extern const struct cmd cmd_flame;
extern const struct cmd cmd_info;
extern const struct cmd cmd_ps;
extern const struct cmd cmd_record;
extern const struct cmd cmd_report;
extern const struct cmd cmd_status;
extern const struct cmd cmd_splice;
extern const struct cmd cmd_top;
extern const struct cmd cmd_tree;
extern const struct cmd cmd_verify;

#endif /* CLI_CMD_H */

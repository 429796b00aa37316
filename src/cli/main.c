/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/say.h"

static const struct cmd *const cmds[] = {
	&cmd_cflags, &cmd_dump,   &cmd_export, &cmd_flame, &cmd_info, &cmd_ps,     &cmd_record,
	&cmd_report, &cmd_splice, &cmd_status, &cmd_top,   &cmd_tree, &cmd_verify,
};

#define CMD_COUNT (sizeof(cmds) / sizeof(cmds[0]))

static void usage(FILE *to)
{
	fputs("usage: unweave COMMAND [OPTION]... [ARGUMENT]...\n\n"
	      "Says what the async tasks of a program do, and what they wait for.\n\n",
	      to);
	for (size_t i = 0; i < CMD_COUNT; i++)
		fprintf(to, "  %-10s %s\n", cmds[i]->name, cmds[i]->summary);
	fputs("\n'unweave help COMMAND' says more; so does 'man unweave'.\n", to);
}

static const struct cmd *find(const char *name)
{
	const char *names[CMD_COUNT + 1];
	const char *close;

	for (size_t i = 0; i < CMD_COUNT; i++) {
		if (strcmp(cmds[i]->name, name) == 0)
			return cmds[i];
		names[i] = cmds[i]->name;
	}
	names[CMD_COUNT] = "help";
	close = say_closest(name, names, CMD_COUNT + 1);
	say_error(NULL, "there is no command '%s'", name);
	if (close)
		say_hint("did you mean 'unweave %s'?", close);
	else
		say_hint("'unweave help' lists the commands");
	return NULL;
}

static int help(char **arguments)
{
	const struct cmd *cmd;

	if (!arguments[0]) {
		usage(stdout);
		return EXIT_OK;
	}
	cmd = find(arguments[0]);
	if (!cmd)
		return EXIT_USAGE;
	options_help(cmd);
	return EXIT_OK;
}

static int run(char **arguments)
{
	const struct cmd *cmd;
	struct options options;

	if (!arguments[0]) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(arguments[0], "--version") == 0) {
		printf("unweave %s\n", UNWEAVE_VERSION);
		return EXIT_OK;
	}
	if (strcmp(arguments[0], "help") == 0 || strcmp(arguments[0], "--help") == 0 ||
	    strcmp(arguments[0], "-h") == 0)
		return help(arguments + 1);
	if (arguments[0][0] == '-') {
		say_error(NULL, "there is no option '%s' before the command", arguments[0]);
		say_hint("'unweave help' lists the commands");
		return EXIT_USAGE;
	}
	cmd = find(arguments[0]);
	if (!cmd)
		return EXIT_USAGE;
	options_init(&options, cmd, arguments + 1);
	return cmd->run(&options);
}

int main(int argc, char **argv)
{
	return say_finish(run(argc ? argv + 1 : argv));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/say.h"

#define ID_HELP (-2)

static const struct option_entry help_entry = {ID_HELP, 'h', "help", NULL, "show this help"};

void options_init(struct options *options, const struct cmd *cmd, char **arguments)
{
	/* Operands are gathered at the front, which the options have left free. */
	*options = (struct options){.cmd = cmd, .arguments = arguments, .operands = arguments};
}

static int stop(struct options *options, int status)
{
	options->status = status;
	return -1;
}

static const struct option_entry *find_letter(const struct cmd *cmd, char letter)
{
	for (const struct option_entry *entry = cmd->options; entry->id; entry++)
		if (entry->letter == letter)
			return entry;
	return letter == help_entry.letter ? &help_entry : NULL;
}

static const struct option_entry *find_name(const struct cmd *cmd, const char *name, size_t length)
{
	for (const struct option_entry *entry = cmd->options; entry->id; entry++)
		if (strlen(entry->name) == length && memcmp(entry->name, name, length) == 0)
			return entry;
	return length == 4 && memcmp(name, "help", 4) == 0 ? &help_entry : NULL;
}

static int unknown(struct options *options, const char *option, int length)
{
	const struct cmd *cmd = options->cmd;
	const char *names[64];
	size_t count = 0;
	const char *close;
	char *name = strndup(option, (size_t)length);

	for (const struct option_entry *entry = cmd->options; entry->id && count < 63; entry++)
		names[count++] = entry->name;
	names[count++] = "help";
	close = name && length > 2 ? say_closest(name + 2, names, count) : NULL;
	say_error(NULL, "%s has no option '%.*s'", cmd->name, length, option);
	if (close)
		say_hint("did you mean '--%s'?", close);
	else
		say_hint("'unweave help %s' lists its options", cmd->name);
	free(name);
	return stop(options, EXIT_USAGE);
}

/* Takes the argument that the entry wants, from `value` or from the next word. */
static int accept(struct options *options, const struct option_entry *entry, const char *value)
{
	if (entry->id == ID_HELP) {
		options_help(options->cmd);
		return stop(options, EXIT_OK);
	}
	if (entry->argument && !value)
		value = *options->arguments ? *options->arguments++ : NULL;
	if (entry->argument && !value) {
		say_error(NULL, "option '--%s' needs an argument: %s", entry->name,
			  entry->argument);
		return stop(options, EXIT_USAGE);
	}
	options->name = entry->name;
	options->value = value;
	return entry->id;
}

static int next_letter(struct options *options)
{
	char option[] = {'-', *options->letters++, 0};
	const struct option_entry *entry = find_letter(options->cmd, option[1]);
	const char *rest = *options->letters ? options->letters : NULL;

	if (!entry)
		return unknown(options, option, 2);
	if (!entry->argument)
		return accept(options, entry, NULL);
	options->letters = NULL;
	return accept(options, entry, rest);
}

static int next_name(struct options *options, const char *argument)
{
	const char *name = argument + 2;
	size_t length = strcspn(name, "=");
	const struct option_entry *entry = find_name(options->cmd, name, length);

	if (!entry)
		return unknown(options, argument, (int)length + 2);
	if (name[length] && !entry->argument) {
		say_error(NULL, "option '--%s' takes no argument", entry->name);
		return stop(options, EXIT_USAGE);
	}
	return accept(options, entry, name[length] ? name + length + 1 : NULL);
}

int options_next(struct options *options)
{
	if (options->letters && *options->letters)
		return next_letter(options);
	options->letters = NULL;
	while (*options->arguments) {
		char *argument = *options->arguments++;

		if (strcmp(argument, "--") == 0)
			break;
		if (argument[0] == '-' && argument[1] == '-')
			return next_name(options, argument);
		if (argument[0] == '-' && argument[1]) {
			options->letters = argument + 1;
			return next_letter(options);
		}
		options->operands[options->operand_count++] = argument;
		if (options->cmd->command_follows)
			break;
	}
	while (*options->arguments)
		options->operands[options->operand_count++] = *options->arguments++;
	options->operands[options->operand_count] = NULL;
	return 0;
}

int options_bad_value(const struct options *options, const char *expected)
{
	say_error(NULL, "option '--%s': '%s' is not %s", options->name, options->value, expected);
	return EXIT_USAGE;
}

bool options_number(const struct options *options, uint64_t *ret)
{
	char *end;

	if (options->value[0] < '0' || options->value[0] > '9')
		return false;
	errno = 0;
	*ret = strtoull(options->value, &end, 0);
	return !errno && !*end;
}

static void help_line(const struct option_entry *entry)
{
	char left[64];
	const char *argument = entry->argument ? entry->argument : "";
	const char *space = entry->argument ? " " : "";

	if (entry->letter)
		snprintf(left, sizeof(left), "-%c, --%s%s%s", entry->letter, entry->name, space,
			 argument);
	else
		snprintf(left, sizeof(left), "    --%s%s%s", entry->name, space, argument);
	printf("  %-24s %s\n", left, entry->help);
}

void options_help(const struct cmd *cmd)
{
	printf("usage: unweave %s [OPTION]... %s\n\n%s.\n", cmd->name, cmd->arguments,
	       cmd->summary);
	if (cmd->details)
		printf("%s", cmd->details);
	printf("\n");
	for (const struct option_entry *entry = cmd->options; entry->id; entry++)
		help_line(entry);
	help_line(&help_entry);
}

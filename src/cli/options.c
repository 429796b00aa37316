/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/say.h"
#include "view/lint.h"

static const struct option_entry help_entry = {'h', "help", NULL, "show this help", NULL, 0};

void options_init(struct options *options, const struct cmd *cmd, char **arguments)
{
	/* Operands are gathered at the front, which the options have left free. */
	*options = (struct options){.cmd = cmd, .arguments = arguments, .operands = arguments};
}

static bool stop(struct options *options, int status)
{
	options->status = status;
	return false;
}

static const struct option_entry *find_letter(const struct cmd *cmd, char letter)
{
	for (const struct option_entry *entry = cmd->options; entry->name; entry++)
		if (entry->letter == letter)
			return entry;
	return letter == help_entry.letter ? &help_entry : NULL;
}

static const struct option_entry *find_name(const struct cmd *cmd, const char *name, size_t length)
{
	for (const struct option_entry *entry = cmd->options; entry->name; entry++)
		if (strlen(entry->name) == length && memcmp(entry->name, name, length) == 0)
			return entry;
	return length == 4 && memcmp(name, "help", 4) == 0 ? &help_entry : NULL;
}

static bool unknown(struct options *options, const char *option, int length)
{
	const struct cmd *cmd = options->cmd;
	const char *names[64];
	size_t count = 0;
	const char *close;
	char *name = strndup(option, (size_t)length);

	for (const struct option_entry *entry = cmd->options; entry->name && count < 63; entry++)
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
static bool accept(struct options *options, const struct option_entry *entry, const char *value)
{
	if (entry == &help_entry) {
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
	options->status = entry->set(options, options->to + entry->at);
	return options->status == EXIT_OK;
}

/* A cluster such as -ab. */
static bool read_letters(struct options *options, const char *letters)
{
	while (*letters) {
		char option[] = {'-', *letters++, 0};
		const struct option_entry *entry = find_letter(options->cmd, option[1]);

		if (!entry)
			return unknown(options, option, 2);
		if (entry->argument)
			return accept(options, entry, *letters ? letters : NULL);
		if (!accept(options, entry, NULL))
			return false;
	}
	return true;
}

static bool read_name(struct options *options, const char *argument)
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

static bool read_word(struct options *options, const char *word)
{
	return word[1] == '-' ? read_name(options, word) : read_letters(options, word + 1);
}

bool options_read(struct options *options, void *to)
{
	options->to = to;
	while (*options->arguments) {
		char *word = *options->arguments++;

		if (strcmp(word, "--") == 0)
			break;
		if (word[0] == '-' && word[1]) {
			if (!read_word(options, word))
				return false;
			continue;
		}
		options->operands[options->operand_count++] = word;
		if (options->cmd->command_follows)
			break;
	}
	while (*options->arguments)
		options->operands[options->operand_count++] = *options->arguments++;
	options->operands[options->operand_count] = NULL;
	return true;
}

bool options_name_a_trace(const struct options *options, const char *hint)
{
	if (options->operand_count == 1)
		return true;
	say_error(NULL, "%s: %s", options->cmd->name,
		  options->operand_count ? "one trace at a time" : "which trace?");
	say_hint("%s", hint);
	return false;
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

int option_flag(const struct options *options, void *to)
{
	(void)options;
	*(bool *)to = true;
	return EXIT_OK;
}

int option_text(const struct options *options, void *to)
{
	*(const char **)to = options->value;
	return EXIT_OK;
}

int option_number(const struct options *options, void *to)
{
	return options_number(options, to) ? EXIT_OK : options_bad_value(options, "a number");
}

int option_task(const struct options *options, void *to)
{
	uint64_t *task = to;

	return options_number(options, task) && *task
		       ? EXIT_OK
		       : options_bad_value(options, "the number of a task");
}

int option_time(const struct options *options, void *to)
{
	return figures_time(options->value, to)
		       ? EXIT_OK
		       : options_bad_value(options, "a time such as 1.5s, 20ms or 300us");
}

int option_limits(const struct options *options, void *to)
{
	struct diag diag = {0};

	if (lint_limits_set(to, options->value, &diag) == 0)
		return EXIT_OK;
	say_diag(options->cmd->name, &diag);
	return EXIT_USAGE;
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
	for (const struct option_entry *entry = cmd->options; entry->name; entry++)
		help_line(entry);
	help_line(&help_entry);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cmd.h"
#include "cli/look.h"
#include "cli/say.h"
#include "util/cleanup.h"
#include "view/json.h"

/* One line of the list. */
struct process {
	struct look look;
	char user[32];
};

static void name_user(struct process *process)
{
	const struct passwd *user;
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u", process->look.pid);
	if (stat(path, &st) < 0)
		return;
	user = getpwuid(st.st_uid);
	if (user)
		snprintf(process->user, sizeof(process->user), "%s", user->pw_name);
	else
		snprintf(process->user, sizeof(process->user), "%u", (unsigned)st.st_uid);
}

static void show_head(void)
{
	printf("%7s  %-8s  %9s  %7s  %-8s  %-8s  %-16s  %s\n", "pid", "user", "tasks", "threads",
	       "detail", "recorder", "adapters", "command");
}

static void show(const struct process *process)
{
	const struct look *look = &process->look;
	int width;

	printf("%7u  %-8s  %9s  %7u  %-8s  ", look->pid, process->user, say_count(look->tasks).text,
	       look->threads, look->recording ? look->detail : "-");
	if (look->recorder)
		printf("%-8u  ", look->recorder);
	else
		printf("%-8s  ", "-");
	width = say_text(stdout, look->adapters[0] ? look->adapters : "-");
	printf("%*s  ", width < 16 ? 16 - width : 0, "");
	say_text(stdout, look->command);
	if (look->inner_pid)
		printf("  (pid %u in its container)", look->inner_pid);
	printf("\n");
}

static void show_json(const struct process *process)
{
	const struct look *look = &process->look;
	struct json json = {.to = stdout};

	json_open(&json, NULL, '{');
	json_number(&json, "pid", look->pid);
	if (look->inner_pid)
		json_number(&json, "inner_pid", look->inner_pid);
	json_text(&json, "user", process->user);
	json_text(&json, "program", look->program);
	json_text(&json, "command", look->command);
	json_text(&json, "adapters", look->adapters);
	json_number(&json, "tasks", look->tasks);
	json_number(&json, "tasks_lost", look->tasks_lost);
	json_number(&json, "threads", look->threads);
	json_bool(&json, "recording", look->recording);
	json_text(&json, "detail", look->detail);
	json_number(&json, "recorder", look->recorder);
	if (look->output[0])
		json_text(&json, "output", look->output);
	json_text(&json, "arena", look->in_file ? look->path : "memfd");
	json_close(&json, '}');
	json_line(&json);
}

static int is_process(const struct dirent *entry)
{
	return isdigit((unsigned char)entry->d_name[0]);
}

/* What was met on the way. */
struct walk {
	bool as_json;
	uint32_t shown;
	uint32_t refused; /* processes of others */
};

static void visit(struct walk *walk, uint32_t pid)
{
	struct diag diag = {0};
	struct process process = {0};
	int r = look_at(&process.look, pid, &diag);

	walk->refused += r == -EACCES;
	if (r < 0)
		return;
	name_user(&process);
	if (!walk->as_json && !walk->shown)
		show_head();
	walk->shown++;
	if (walk->as_json)
		show_json(&process);
	else
		show(&process);
}

static int list(struct walk *walk)
{
	struct dirent **entries;
	int count = scandir("/proc", &entries, is_process, versionsort);

	if (count < 0) {
		say_error("/proc", "%s", strerror(errno));
		return EXIT_FAILED;
	}
	for (int i = 0; i < count; i++) {
		visit(walk, (uint32_t)strtoul(entries[i]->d_name, NULL, 10));
		free(entries[i]);
	}
	free(entries);
	return EXIT_OK;
}

static int run(struct options *options)
{
	struct walk walk = {0};
	int status;

	if (!options_read(options, &walk))
		return options->status;
	if (options->operand_count) {
		say_error(NULL, "ps: takes no operands");
		say_hint("unweave status PID... looks at one program");
		return EXIT_USAGE;
	}
	status = list(&walk);
	if (status == EXIT_OK && !walk.as_json && !walk.shown)
		printf("no process carries libunweave%s\n",
		       walk.refused ? ", of those that you may look at" : "");
	return say_finish(status);
}

static const struct option_entry entries[] = {
	{'j', "json", NULL, "one JSON object a process", OPTION_FLAG(struct walk, as_json)},
	{0},
};

const struct cmd cmd_ps = {
	.name = "ps",
	.arguments = "",
	.summary = "List the programs that can be recorded",
	.details = "Also those in containers, if you may look at them. It only reads memory.\n",
	.options = entries,
	.run = run,
};

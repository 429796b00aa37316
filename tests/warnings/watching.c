/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watching PID SECONDS [LIMITS]: watches a program for so long, as top does, and says of each
 * warning, on a line of its own: its kind, what the tasks are called, how many tasks of the
 * picture are marked by it, the names of its stack, innermost first, and its sentence.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "drain/find.h"
#include "view/naming.h"
#include "watch/lint.h"

#define MS UINT64_C(1000000)
#define REFRESH (500 * MS)

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000 * MS + (uint64_t)time.tv_nsec;
}

static void must(int r, const struct diag *diag)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s\n", diag->text[0] ? diag->text : "failed");
	exit(1);
}

static unsigned count_marked(struct watch *watch, enum lint_kind kind)
{
	unsigned marked = 0;

	for (uint32_t i = 0; i < watch_task_count(watch); i++)
		marked += watch_task_at(watch, i)->warnings >> kind & 1;
	return marked;
}

static void print_all(struct watch *watch, const struct watch_lint *lint)
{
	for (uint32_t i = 0; i < watch_lint_count(lint); i++) {
		const struct watch_warning *warning = watch_lint_at(lint, i);
		char name[256];

		printf("%s\t%s\t%u\t", lint_rule(warning->lint.kind)->name, warning->lint.label,
		       count_marked(watch, warning->lint.kind));
		for (uint32_t j = 0; j < warning->stack_count; j++) {
			naming_function(watch_symbols(watch), warning->stack[j], name,
					sizeof(name));
			printf("%s ", name);
		}
		printf("%s\t", warning->lint.function ? warning->lint.function : "");
		lint_say(stdout, &warning->lint);
		printf("\t%s\n", warning->kernel);
	}
}

static void watch_for(struct watch *watch, struct watch_lint *lint, uint64_t ns)
{
	uint64_t end = now() + ns, refresh = 0;
	struct diag none = {0};

	while (now() < end) {
		struct timespec pause = {0, (long)watch_pause_ns(watch)};

		if (pause.tv_nsec > (long)(20 * MS))
			pause.tv_nsec = (long)(20 * MS);
		must(watch_pass(watch), &none);
		watch_lint_pass(lint);
		if (now() >= refresh) {
			must(watch_refresh(watch), &none);
			must(watch_lint_refresh(lint), &none);
			refresh = now() + REFRESH;
		}
		nanosleep(&pause, NULL);
	}
	must(watch_refresh(watch), &none);
	must(watch_lint_refresh(lint), &none);
}

int main(int argc, char **argv)
{
	struct attachment attachment;
	struct lint_limits limits;
	struct watch *watch = NULL;
	struct watch_lint *lint = NULL;
	struct diag diag = {0};

	if (argc < 3)
		return 2;
	lint_limits_init(&limits);
	if (argc > 3)
		must(lint_limits_set(&limits, argv[3], &diag), &diag);
	must(find_pid(&attachment, (uint32_t)atoi(argv[1]), &diag), &diag);
	must(watch_new(&watch, &attachment, &diag), &diag);
	must(watch_lint_new(&lint, watch, &limits, NULL, &diag), &diag);
	watch_for(watch, lint, (uint64_t)(atof(argv[2]) * 1000) * MS);
	print_all(watch, lint);
	watch_lint_free(lint);
	watch_free(watch);
	attach_fini(&attachment);
	return 0;
}

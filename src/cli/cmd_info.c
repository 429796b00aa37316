/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/cmd.h"
#include "cli/info.h"
#include "cli/say.h"
#include "util/cleanup.h"
#include "view/naming.h"

DEFINE_FREEP(struct reader, reader_free)

struct plan {
	bool json;
	bool no_files; /* names only from the trace */
};

static int show(const char *path, const struct plan *plan, struct diag *diag)
{
	cleanup(reader_freep) struct reader *reader = NULL;
	cleanup(info_fini) struct info info = {0};
	int r;

	r = reader_open(&reader, path, NULL, NULL, diag);
	if (r == 0)
		r = naming_new(&info.symbols, reader, plan->no_files, diag);
	if (r < 0)
		return r;
	r = info_count(&info, reader, diag);
	if (r < 0)
		return r;
	if (plan->json)
		info_json(&info, path, reader);
	else
		info_text(&info, path, reader);
	return 0;
}

static int run(struct options *options)
{
	struct plan plan = {0};
	int status = EXIT_OK;

	if (!options_read(options, &plan))
		return options->status;
	if (!options->operand_count) {
		say_error(NULL, "info: which trace?");
		say_hint("unweave info FILE...");
		return EXIT_USAGE;
	}
	for (int i = 0; i < options->operand_count; i++) {
		struct diag diag = {0};

		if (i && !plan.json)
			printf("\n");
		if (show(options->operands[i], &plan, &diag) < 0) {
			fflush(stdout);
			say_diag(options->operands[i], &diag);
			status = EXIT_FAILED;
		}
	}
	return status;
}

static const struct option_entry entries[] = {
	{'j', "json", NULL, "one JSON object a file", OPTION_FLAG(struct plan, json)},
	{0, "no-files", NULL, "names only from the trace, not from files",
	 OPTION_FLAG(struct plan, no_files)},
	{0},
};

const struct cmd cmd_info = {
	.name = "info",
	.arguments = "FILE...",
	.summary = "Say what a trace holds",
	.options = entries,
	.run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "trace/reader.h"
#include "util/cleanup.h"

/* More are counted only: a file of noise has one every few bytes. */
#define FAULTS_SHOWN 1000u

DEFINE_FREEP(struct reader, reader_free)

struct fault {
	uint64_t offset;
	char *what;
};

/* In the order in which they were met: first those of the headers, then those inside. */
struct faults_met {
	struct fault at[FAULTS_SHOWN];
	size_t count;
	uint64_t total;
};

static void faults_met_free(struct faults_met **faults)
{
	for (size_t i = 0; *faults && i < (*faults)->count; i++)
		free((*faults)->at[i].what);
	free(*faults);
}

static void note(void *data, const struct reader_fault *fault)
{
	struct faults_met *faults = data;
	char *what = faults->count < FAULTS_SHOWN ? strdup(fault->what) : NULL;

	faults->total++;
	if (what)
		faults->at[faults->count++] = (struct fault){fault->offset, what};
}

static int by_offset(const void *a, const void *b)
{
	const struct fault *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void show(const char *path, struct faults_met *faults)
{
	qsort(faults->at, faults->count, sizeof(faults->at[0]), by_offset);
	for (size_t i = 0; i < faults->count; i++) {
		say_text(stdout, path);
		printf(": offset %" PRIu64 ": %s\n", faults->at[i].offset, faults->at[i].what);
	}
	if (faults->total > faults->count) {
		say_text(stdout, path);
		printf(": and %s faults more\n", say_count(faults->total - faults->count).text);
	}
}

struct verdict {
	uint64_t events;
	uint64_t samples;
	uint64_t damaged; /* records that are missing because of the faults */
};

static int read_all(struct reader *reader, struct verdict *ret, struct diag *diag)
{
	struct progress progress;
	struct unweave_event event;
	struct sample sample;
	int r;

	progress_start(&progress, "verifying", reader);
	while ((r = reader_next(reader, &event, diag)) == 0) {
		if (event.kind == UNWEAVE_EVENT_LOST && event.other == UNWEAVE_LOSS_DAMAGE)
			ret->damaged += event.value;
		else
			ret->events++;
		progress_step(&progress, event.time);
	}
	progress_end(&progress);
	if (r == READER_END)
		while ((r = reader_next_sample(reader, &sample, diag)) == 0)
			ret->samples++;
	return r == READER_END ? 0 : r;
}

static void judge(const char *path, const struct reader *reader, const struct faults_met *faults,
		  const struct verdict *verdict)
{
	say_text(stdout, path);
	if (faults->total)
		printf(": %s fault%s", say_count(faults->total).text,
		       faults->total == 1 ? "" : "s");
	else
		printf(": good");
	printf("; %s events", say_count(verdict->events).text);
	if (verdict->samples)
		printf(" and %s samples", say_count(verdict->samples).text);
	printf(" in %s blocks", say_count(reader_summary(reader)->blocks).text);
	if (verdict->damaged)
		printf("; %s events are missing", say_count(verdict->damaged).text);
	printf("\n");
}

/* Returns 1 if there are faults. */
static int verify(const char *path, struct diag *diag)
{
	cleanup(reader_freep) struct reader *reader = NULL;
	cleanup(faults_met_free) struct faults_met *faults = calloc(1, sizeof(*faults));
	struct verdict verdict = {0};
	int r;

	if (!faults)
		return diag_set(diag, -ENOMEM, "out of memory");
	r = reader_open(&reader, path, note, faults, diag);
	if (r < 0)
		return r;
	r = read_all(reader, &verdict, diag);
	if (r < 0)
		return r;
	if (!reader_summary(reader)->closed)
		note(faults, &(struct reader_fault){
				     .offset = reader_summary(reader)->file_bytes,
				     .what = "not closed: the recorder ended early, or still runs",
			     });
	show(path, faults);
	judge(path, reader, faults, &verdict);
	return faults->total ? 1 : 0;
}

static int run(struct options *options)
{
	int status = EXIT_OK;

	if (!options_read(options, NULL))
		return options->status;
	if (!options->operand_count) {
		say_error(NULL, "verify: which trace?");
		say_hint("unweave verify FILE...");
		return EXIT_USAGE;
	}
	for (int i = 0; i < options->operand_count; i++) {
		struct diag diag = {0};
		int r = verify(options->operands[i], &diag);

		if (r < 0) {
			fflush(stdout);
			say_diag(options->operands[i], &diag);
		}
		if (r)
			status = EXIT_FAILED;
	}
	return status;
}

static const struct option_entry entries[] = {{0}};

const struct cmd cmd_verify = {
	.name = "verify",
	.arguments = "FILE...",
	.summary = "Find every fault of a trace",
	.details = "Exits with 1 if there is one.\n",
	.options = entries,
	.run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* One program under record, from its arena to its trace, and what is said of it. */
#ifndef CLI_RECORDING_H
#define CLI_RECORDING_H

#include "cli/record.h"
#include "drain/attach.h"
#include "drain/recorder.h"
#include "sample/sampler.h"

struct recording_totals {
	uint64_t events;
	uint64_t samples;
	uint64_t lost; /* events, for any reason, and samples */
	uint64_t bytes;
	uint64_t unwritten; /* events that the file refused */
};

struct recording {
	const struct record_plan *plan;
	const char *output;
	const struct adapters *adapters; /* that were chosen for this program; or NULL */
	struct attachment attachment;    /* found; locked here if it is not */
	struct recorder *recorder;
	struct sampler *sampler; /* NULL: the program had ended already */
	uint64_t started;
	uint64_t ended;
	uint64_t due;       /* the recorder's next pass */
	uint32_t snapshots; /* that were begun */
	bool asked;         /* for another one */
	pid_t copy;         /* that writes one; 0: none */

	/* Called every few ms, after what was due; true: it is enough. */
	bool (*each)(struct recording *recording, void *data);
	void *data;
};

/*
 * Records until the program ends, the trace is large enough, or `each` says so.
 * Then the trace is closed, and the arena of a program that ended removed.
 * On failure (no lock, no file, no memory) `diag` says what happened.
 */
int recording_run(struct recording *recording, struct diag *diag);
/* Lets go of everything. */
void recording_fini(struct recording *recording);

/*
 * Has what is kept (--flight) written to a file of its own, FILE-1, FILE-2 and so
 * on with the ending behind; by a copy of this process, so that nothing is held up.
 */
void recording_snapshot(struct recording *recording);

struct recording_totals recording_totals(const struct recording *recording);

/* The last words, on stderr; and those about the last part, in a file of its own. */
void recording_summarise(const struct recording *recording);
void recording_say_kept(const struct recording *recording, const char *path);

/* The name of another trace: `file` with `infix` before its ending. */
void recording_name(char *to, size_t size, const char *file, const char *infix);

/* What there is now, as a line on a terminal that is written over; every half second. */
struct live_line {
	bool on; /* stderr is a terminal */
	uint64_t started;
	uint64_t shown;
};

void live_line_show(struct live_line *line, const struct recording_totals *totals,
		    uint32_t processes);
/* If there is one. */
void live_line_clear(void);

#endif /* CLI_RECORDING_H */

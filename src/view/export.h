/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes traces for other programs to show. One table entry here, one file
 * export_<format>.c; docs/exports.md says what is where in each.
 *
 * What a format's writer reads is streamed. It keeps live tasks, distinct
 * stacks and what the format wants at its end.
 */
#ifndef VIEW_EXPORT_H
#define VIEW_EXPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/model.h"
#include "symbol/symbol.h"
#include "util/diag.h"
#include "view/profile.h"

struct export
{
	struct reader *reader;
	struct symbols *symbols;
	FILE *to;
	unsigned values; /* 1 << enum profile_value for each that was asked for; 0: as usual */
	bool plain;      /* no annotations in the names of frames */
	/* NULL, or as struct model_sink's progress. */
	void (*progress)(void *data, uint64_t done, uint64_t all);
	void *progress_data;
	uint64_t left_out; /* result: pieces that the format has no room for */
	bool empty;        /* result: of what was asked for there is nothing in the trace */
};

struct export_format {
	const char *name;
	const char *opens; /* what opens it, for the user */
	unsigned values;   /* 1 << enum profile_value: those that can be asked for */
	bool one_value;    /* only one of them at a time */
	bool binary;
	/*
	 * Returns 0 or what reading met: -ENOMEM, -EIO. That `to` could not be
	 * written is for the caller to see by its ferror(); writing ends then.
	 */
	int (*write)(struct export *export, struct diag *diag);
};

/* Ended by NULL. */
extern const struct export_format *const export_formats[];

/* NULL if there is none of this name. */
const struct export_format *export_find(const char *name);

/* For the formats: the facts that most of them want. */

/* Of the program; never 0, which some consumers take for the idle process. */
uint32_t export_pid(const struct export *export);
/* The last part of the program's path, "program" if it is unknown. */
void export_program(const struct export *export, char *to, size_t room);
/* A tid for a thread's number; a number beyond any tid if it is unknown. */
uint32_t export_tid(const struct export *export, uint32_t thread);
/* What it is called; "" if unknown. */
const char *export_thread_name(const struct export *export, uint32_t thread);
/* Never "". */
const char *export_label(const struct model_task *task);
/* How a task ended; what stands and was not closed is open, and not incomplete. */
const char *export_end(const struct model_task *task);
/* What woke a task. */
const char *export_source(uint32_t source);

#define EXPORT_LOOP_FIGURES 7u

/* What a loop did, for the end of its life. */
struct export_loop {
	uint64_t task; /* 0: none */
	uint64_t figures[EXPORT_LOOP_FIGURES];
};
extern const char *const export_loop_figures[EXPORT_LOOP_FIGURES];
struct export_loop export_loop(const struct model_loop *loop);

/* A model of the trace, with what it needs to judge samples. Returns -ENOMEM. */
int export_model(const struct export *export, struct model **ret);
/* Reads the trace through `sink`, whose data begins with a pointer to `export`. */
int export_read(struct export *export, struct model *model, struct model_sink *sink,
		struct diag *diag);
/* For what a sink's functions return: not 0 if `to` has failed. */
int export_status(const struct export *export);

/* Whether a value is wanted. */
static inline bool export_wants(const struct export *export, enum profile_value value)
{
	return export->values == 0 || (export->values >> value & 1);
}

#endif /* VIEW_EXPORT_H */

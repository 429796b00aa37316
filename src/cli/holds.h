/* SPDX-License-Identifier: Apache-2.0 */
/* Which adapters took hold in the programs under record, and what is said of that. */
#ifndef CLI_HOLDS_H
#define CLI_HOLDS_H

#include "cli/adapters.h"
#include "drain/attach.h"
#include "drain/recorder.h"
#include "util/diag.h"

/* Adapters that took hold, in one program or several. */
struct holds {
	uint32_t count;
	struct {
		char name[24];
		char version[40];
	} of[8];
};

/* Adds those of a program that is under record, or was. */
void holds_find(struct holds *holds, const struct attachment *attachment);
/* Adds those that are not there. */
void holds_add(struct holds *holds, const struct holds *more);

/* Puts into a trace what became of those that were wanted. What is written says the rest. */
int holds_put(const struct adapters *adapters, struct recorder *recorder);

/*
 * On stderr: one line for all that took hold, and one for each that was wanted and
 * did not; `adapters` may be NULL.
 */
void holds_say(const struct holds *holds, const struct adapters *adapters);

/* Why nothing came of a program: fills `diag`, returns -ENOENT. */
int holds_explain(const struct adapters *adapters, const char *command, struct diag *diag);

#endif /* CLI_HOLDS_H */

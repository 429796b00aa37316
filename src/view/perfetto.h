/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perfetto's trace packets, one at a time, on one sequence: what they refer to
 * by number (names, stacks) is written with the first packet that needs it.
 */
#ifndef VIEW_PERFETTO_H
#define VIEW_PERFETTO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/tree.h"
#include "util/buffer.h"
#include "view/code.h"

/* Fields of TrackEvent.type. */
enum { PERFETTO_BEGIN = 1, PERFETTO_END = 2, PERFETTO_INSTANT = 3 };

struct perfetto {
	FILE *to;
	struct code *code;
	struct buffer packet;    /* the one being written */
	struct buffer interned;  /* its InternedData */
	struct buffer callstack; /* one of that */
	struct texts *names;     /* of events; the number is the iid, so 0 is none */
	uint8_t *stacks_told;    /* a bit for each node of the tree */
	uint32_t stacks_room;    /* nodes it has bits for */
	uint32_t functions_told, modules_told;
	uint8_t *frames_told; /* two bits for each line of the code's locations: called, awaits */
	uint32_t frames_room;
	struct perfetto_step {
		uint32_t location;
		bool awaits;
	} * path; /* of the stack being written, outermost first */
	uint32_t path_room;
	bool no_memory;
};

/* `code` is borrowed. Returns -ENOMEM; perfetto_fini() in any case. */
int perfetto_init(struct perfetto *perfetto, FILE *to, struct code *code);
void perfetto_fini(struct perfetto *perfetto);

/* Begins a packet; fields of it are appended to `packet`. */
void perfetto_open(struct perfetto *perfetto);
/* The same, of something that happened at `time`, ns. */
void perfetto_open_at(struct perfetto *perfetto, uint64_t time);
/* Writes it. Returns -ENOMEM. */
int perfetto_close(struct perfetto *perfetto);

/* The number of an event's name; 0 if too many are known: to be given as text instead. */
uint64_t perfetto_name(struct perfetto *perfetto, const char *name);
/* The number of a stack of `tree`; 0 for none. */
uint64_t perfetto_stack(struct perfetto *perfetto, const struct tree *tree, uint32_t stack);

#endif /* VIEW_PERFETTO_H */

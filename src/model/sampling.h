/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a trace in the order of time, each with its logical stack. The
 * file has them in that order but for a few ms, so some are read ahead.
 */
#ifndef MODEL_SAMPLING_H
#define MODEL_SAMPLING_H

#include "model/causes.h"
#include "model/model.h"

/* A sample whose stack is in the tree. */
struct sampling_sample {
	uint64_t time;
	uint64_t weight;
	uint64_t task; /* innermost; 0: none */
	uint32_t site; /* of that task; 0: unknown */
	uint32_t tid;
	uint32_t stack;
	uint32_t flags;
	enum splice_outcome outcome;
};

/* What the last sample with these frames became. */
struct sampling_known {
	uint32_t native, chains[2], sites[2];
	uint32_t segments;
	uint32_t flags;
	uint32_t block; /* + 1 */
	uint32_t stack;
	enum splice_outcome outcome;
};

#define SAMPLING_KNOWN 1024u

struct sampling {
	uint64_t due; /* time of the next sample; UINT64_MAX: there is none */
	struct reader *reader;
	struct tree *tree;
	struct causes *causes;
	struct splice_options splice;
	struct sampling_sample *heap; /* the earliest at the top */
	uint32_t count;
	uint32_t capacity;
	uint64_t latest; /* time that the file has been read up to */
	bool ended;
	struct splice_frame *frames;
	struct sampling_known *known;
};

/* From the first sample on. All are borrowed. Returns -ENOMEM. */
int sampling_init(struct sampling *sampling, struct reader *reader, struct tree *tree,
		  struct causes *causes);
void sampling_fini(struct sampling *sampling);

/* Reads ahead, so that `due` is right; to be called once, first. As reader_next(), without END. */
int sampling_start(struct sampling *sampling, struct diag *diag);

/* The one that is due, of which there must be one. */
int sampling_next(struct sampling *sampling, struct sampling_sample *ret, struct diag *diag);

#endif /* MODEL_SAMPLING_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was sampled: where a thread was at a moment, natively and logically.
 *
 * Native stacks are lists of frames like chains, innermost first, `awaiter`
 * being the caller. Addresses are such that each lies inside of its
 * instruction: that of the innermost frame is its pc, that of the others the
 * return address less one.
 */
#ifndef TRACE_SAMPLE_H
#define TRACE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/meta.h"
#include "unweave/event.h"

/* The native stack ends early: more of it was there than could be copied, or understood. */
#define SAMPLE_CUT 1u
/* The thread was asleep: wall-clock samples only. */
#define SAMPLE_ASLEEP 2u
/* Taken by another tool, and put in later: the chain is as of the last event before it. */
#define SAMPLE_FOREIGN 4u
/* A chain of it was too long to be copied whole. */
#define SAMPLE_CHAIN_CUT 8u

#define SAMPLE_SEGMENTS_MAX 48u

/* A run that the thread was inside of. */
struct sample_segment {
	uint64_t task;
	uint32_t site; /* 0: unknown */
	/* Innermost first, beginning with the function that runs; NULL: unknown. */
	const struct unweave_frame *chain;
};

struct sample {
	uint64_t time;   /* ns; ticks while it is encoded */
	uint64_t weight; /* ns that it stands for */
	uint32_t tid;
	uint32_t flags;                        /* SAMPLE_* */
	const struct unweave_frame *native;    /* NULL: unknown */
	const struct sample_segment *segments; /* innermost run first */
	uint32_t segment_count;                /* 0: no task is known to run */
	uint32_t block; /* frames of samples with the same number share ids */
};

/* How samples were taken. */
enum sampler_driver {
	SAMPLER_NONE,
	SAMPLER_PERF,  /* a perf event (cpu-clock) a thread */
	SAMPLER_TIMER, /* a timer a thread on its CPU clock */
	SAMPLER_WALL,  /* asked by the recorder, also while asleep */
	SAMPLER_OTHER, /* by another tool */
	SAMPLER_MIXED, /* a perf event for some threads, a timer for those that switch often */
};

/* SAMPLER: what a reader must know to judge the samples. */
struct meta_sampler {
	uint64_t driver;       /* enum sampler_driver */
	uint64_t hz;           /* as asked for */
	uint64_t user_only;    /* 1: the kernel's part of the CPU time was not to be had */
	uint64_t lost;         /* samples that found no room, as of the last such block */
	struct meta_text note; /* what the user should know, sentences; or empty */
};

/* MODULES: one mapping of code. */
struct meta_module {
	uint64_t start, end;       /* addresses in the program */
	uint64_t offset;           /* in the file */
	struct meta_text path;     /* as in /proc/PID/maps: "[vdso]" too */
	struct meta_text build_id; /* raw bytes; empty if it has none */
};

/* SYMBOLS: what an address is called; more than one frame where functions were inlined. */
struct meta_symbol_frame {
	struct meta_text function; /* demangled; empty if unknown */
	struct meta_text file;     /* empty if unknown */
	uint64_t line;             /* 0: unknown */
};

/* Each appends one struct's fields, as in meta.h. -ENOMEM. */
int meta_sampler_encode(struct buffer *to, const struct meta_sampler *sampler);
int meta_module_encode(struct buffer *to, const struct meta_module *module);
/* A symbol: its address, where its function begins, its frames. */
int meta_symbol_encode(struct buffer *to, uint64_t address, uint64_t start,
		       const struct meta_symbol_frame *frames, uint32_t count);

void meta_sampler_decode(struct wire *from, struct meta_sampler *ret);
void meta_module_decode(struct wire *from, struct meta_module *ret);
/* At most META_SYMBOL_FRAMES of the frames are kept; how many there are of those. */
#define META_SYMBOL_FRAMES 64u
uint32_t meta_symbol_decode(struct wire *from, uint64_t *ret_address, uint64_t *ret_start,
			    struct meta_symbol_frame frames[META_SYMBOL_FRAMES]);

#endif /* TRACE_SAMPLE_H */

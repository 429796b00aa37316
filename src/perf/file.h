/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what `perf record` wrote, record by record, in the order of the file:
 * that of time only for each buffer of the kernel. Both forms that perf has, for
 * files and for pipes; not those that are compressed.
 *
 * Nothing in the file is believed: a field that is not there is 0, a record that
 * is not whole is left out and counted.
 */
#ifndef PERF_FILE_H
#define PERF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/diag.h"

struct perf_file;

#define PERF_END 1

#define PERF_REGISTERS 64u

/* One thing that was counted; what its samples mean. */
struct perf_attr {
	uint32_t type;   /* PERF_TYPE_* */
	uint64_t config; /* PERF_COUNT_* */
	uint64_t period; /* or a frequency, if `by_frequency` */
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t branch_type;
	uint64_t registers; /* mask of those that samples have */
	uint32_t stack_bytes;
	int32_t clock;
	bool by_frequency;
	bool own_clock;      /* `clock` counts */
	bool without_kernel; /* its part of the time was not counted */
};

struct perf_sample {
	uint32_t attr; /* which one of the file's */
	uint32_t pid, tid;
	uint64_t time;
	uint64_t ip;
	uint64_t period;
	bool in_kernel;            /* where `ip` is */
	const uint64_t *callchain; /* as the kernel gives it, with its context marks */
	uint32_t callchain_count;
	uint64_t registers_mask;   /* 0: none are there */
	const uint64_t *registers; /* PERF_REGISTERS of them, by perf's numbers for the machine */
	const uint8_t *stack;      /* from the stack pointer on; NULL: none */
	uint32_t stack_bytes;
};

/* A mapping of code. */
struct perf_mapping {
	uint32_t pid;
	uint64_t start, bytes, offset;
	const char *path; /* ended by a NUL */
	const uint8_t *build_id;
	size_t build_id_bytes; /* 0: it does not say */
};

struct perf_name {
	uint32_t pid, tid;
	const char *name;
};

enum perf_kind { PERF_SAMPLE, PERF_MAPPING, PERF_NAME, PERF_LOST };

/* Pointers stay until the next call. */
struct perf_record {
	enum perf_kind kind;
	union {
		struct perf_sample sample;
		struct perf_mapping mapping;
		struct perf_name name;
		uint64_t lost; /* records that the kernel had no room for */
	};
};

/* Returns -EBADMSG for what is no perf.data, -ENOMEM, or what opening met. */
int perf_open(struct perf_file **ret, const char *path, struct diag *diag);
struct perf_file *perf_free(struct perf_file *file);

/* The next record that is one of these kinds. 0, PERF_END, or -EIO, -EBADMSG, -EOPNOTSUPP. */
int perf_next(struct perf_file *file, struct perf_record *ret, struct diag *diag);
void perf_rewind(struct perf_file *file);

/* What was counted. In a file that was written to a pipe, known once the first sample was read. */
uint32_t perf_attr_count(const struct perf_file *file);
const struct perf_attr *perf_attr(const struct perf_file *file, uint32_t index);

/* Records that were not whole, and whether the file ends in the middle of one. */
uint64_t perf_damaged(const struct perf_file *file);
bool perf_torn(const struct perf_file *file);

#endif /* PERF_FILE_H */

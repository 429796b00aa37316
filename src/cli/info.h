/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace holds, by counting all of it. */
#ifndef CLI_INFO_H
#define CLI_INFO_H

#include "cli/names.h"
#include "cli/tasks.h"
#include "trace/reader.h"
#include "util/map.h"

/* Tasks that were made at one place. */
struct info_site {
	uint32_t site;
	uint64_t tasks;
};

struct info {
	struct symbols *symbols; /* for the sites of callbacks */
	uint64_t events;         /* not the LOST ones that the reader made */
	uint64_t kinds[NAMES_KINDS];
	uint64_t lost[NAMES_LOSSES];
	uint64_t samples;
	uint64_t sampled_ns; /* that they stand for */
	uint64_t *threads;   /* events by the reader's index of threads */
	struct tasks tasks;
	struct map site_index; /* site to where it is in `sites` */
	struct info_site *sites;
	uint32_t site_count;
	uint32_t site_capacity;
};

/* Reads all of the trace into what is zeroed, but for `symbols`. -errno with `diag` filled. */
int info_count(struct info *info, struct reader *reader, struct diag *diag);
/* Also `symbols`. */
void info_fini(struct info *info);

uint64_t info_lost(const struct info *info);
double info_bytes_per_event(const struct reader_summary *summary, const struct info *info);
/* From the first event to the last. */
uint64_t info_duration(const struct reader_summary *summary);

/* Both print to stdout. */
void info_text(const struct info *info, const char *path, const struct reader *reader);
void info_json(const struct info *info, const char *path, const struct reader *reader);

#endif /* CLI_INFO_H */

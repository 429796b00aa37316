/* SPDX-License-Identifier: Apache-2.0 */
/* Which events to show: by task, thread, kind and time. */
#ifndef CLI_FILTER_H
#define CLI_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/reader.h"

/* Numbers of which one must match, if there are any. */
struct filter_list {
	uint64_t *at;
	size_t count;
};

struct filter {
	struct filter_list tasks;
	struct filter_list threads; /* numbers within the trace, or tids */
	uint32_t kinds;             /* a bit each; 0: all */
	uint64_t from, to;          /* ns after the first event of the trace */
};

#define FILTER_INIT ((struct filter){.to = UINT64_MAX})

void filter_fini(struct filter *filter);

/* Returns -ENOMEM. */
int filter_add(struct filter_list *list, uint64_t number);

/* Adds "wake,frame_resume"; returns the word that is no kind, or NULL. */
const char *filter_add_kinds(struct filter *filter, const char *words, char *ret, size_t size);

/* Whether the number is among those that may pass. */
bool filter_passes(const struct filter_list *list, uint64_t number);

bool filter_match(const struct filter *filter, const struct reader *reader,
		  const struct unweave_event *event);

#endif /* CLI_FILTER_H */

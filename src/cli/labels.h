/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tasks are called: by a name of their own, else as naming_label() has it for
 * their site. Learned from the events, in their order.
 */
#ifndef CLI_LABELS_H
#define CLI_LABELS_H

#include "symbol/symbol.h"
#include "trace/reader.h"
#include "util/map.h"

struct labels_entry;

struct labels {
	struct map index; /* task to entry */
	struct labels_entry *entries;
	uint32_t count;
	uint32_t done; /* of them have completed */
	uint32_t capacity;
};

struct label {
	char text[300];                 /* "": nothing is known */
	const struct reader_site *site; /* or NULL; of the reader */
};

/* Returns -ENOMEM. */
int labels_init(struct labels *labels);
void labels_fini(struct labels *labels);

/* Learns from an event. What there is no memory for is not known later. */
void labels_note(struct labels *labels, const struct unweave_event *event);

struct label labels_of_task(const struct labels *labels, const struct reader *reader,
			    struct symbols *symbols, uint64_t task);

/* What the tasks of a site are called that have no name of their own. */
struct label label_of_site(const struct reader *reader, struct symbols *symbols, uint64_t site);

#endif /* CLI_LABELS_H */

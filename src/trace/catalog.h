/* SPDX-License-Identifier: Apache-2.0 */
/* What the metadata blocks of a trace say, the latest word on each thing. */
#ifndef TRACE_CATALOG_H
#define TRACE_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/reader.h"
#include "util/map.h"

#define CATALOG_CAUSES (UNWEAVE_LOSS_DAMAGE + 1)

struct catalog {
	struct meta_session session; /* its strings are owned, and end with a zero */
	bool session_known;
	bool closed;

	struct reader_thread *threads; /* `name` is owned */
	uint32_t thread_count;
	uint32_t thread_capacity;
	struct map thread_index;

	struct reader_site *sites; /* `name` owns that and the next two; `kind` itself */
	uint32_t site_count;
	uint32_t site_capacity;
	struct map site_index;

	struct reader_adapter *adapters; /* texts are in `adapter_texts`, and the sites */
	uint32_t adapter_count;
	char *adapter_texts;

	struct reader_waits waits; /* of the last WAITS block; `at` is owned, sorted by task */

	struct meta_stream_end *ends; /* of the last END block */
	uint64_t ends_left_out;       /* streams that it had no room for */
	uint32_t end_count;
	uint64_t lost[CATALOG_CAUSES];
};

/* Returns -ENOMEM. */
int catalog_init(struct catalog *catalog);
void catalog_fini(struct catalog *catalog);

/* Each reads one block's payload; -EBADMSG if it is not whole, -ENOMEM. */
int catalog_read_session(struct catalog *catalog, struct wire *from);
int catalog_read_threads(struct catalog *catalog, struct wire *from);
int catalog_read_sites(struct catalog *catalog, struct wire *from);
int catalog_read_adapters(struct catalog *catalog, struct wire *from);
int catalog_read_waits(struct catalog *catalog, struct wire *from, uint64_t ticks);
int catalog_read_end(struct catalog *catalog, struct wire *from);

/* A thread that has events; unnamed until a THREADS block names it. -ENOMEM. */
int catalog_note_thread(struct catalog *catalog, uint32_t thread);

/* To be called after the last block: puts the threads in order, and the adapters together.
 * -ENOMEM. */
int catalog_finish(struct catalog *catalog);

/* NULL if it is not there. */
const struct reader_thread *catalog_thread(const struct catalog *catalog, uint32_t thread);
const struct reader_site *catalog_site(const struct catalog *catalog, uint32_t site);

#endif /* TRACE_CATALOG_H */

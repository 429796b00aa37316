/* SPDX-License-Identifier: Apache-2.0 */
/* What a recorder knows besides the events: threads, sites, and how streams ended. */
#ifndef DRAIN_CATALOGUE_H
#define DRAIN_CATALOGUE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/meta.h"
#include "util/buffer.h"

struct catalogue_thread {
	uint32_t thread;
	uint32_t tid;
	bool ended;
	bool told; /* in its present state */
	char name[24];
};

#define CATALOGUE_SITE_PARTS 3

struct catalogue {
	struct catalogue_thread *threads;
	uint32_t thread_count;
	uint32_t thread_capacity;
	struct buffer sites;     /* encoded, one after the other */
	struct buffer kinds;     /* of the same sites */
	struct buffer callbacks; /* what they are of those */
	uint32_t site_count;
	size_t sites_told[CATALOGUE_SITE_PARTS]; /* bytes of these three, and how many they are */
	uint32_t sites_told_count;
	struct buffer ends; /* encoded */
	uint32_t end_count;
	uint64_t ends_left_out; /* streams that found no room there */
	char program[256];
};

/* Returns -ENOMEM. */
int catalogue_init(struct catalogue *catalogue, const char program[256]);
void catalogue_fini(struct catalogue *catalogue);

int catalogue_add_thread(struct catalogue *catalogue, uint32_t thread, uint32_t tid,
			 const char *name, bool ended);
int catalogue_add_site(struct catalogue *catalogue, const struct meta_site *site);
/* A stream is over; past some thousands they are not listed any more. */
void catalogue_add_end(struct catalogue *catalogue, uint32_t thread, bool aside, uint64_t number);

/*
 * The payload of a THREADS or SITES block: `all`, or what is new since the last
 * time. False if there is nothing to say. Threads that have ended are forgotten
 * once that was said.
 */
bool catalogue_threads(struct catalogue *catalogue, struct buffer *payload, bool all);
bool catalogue_sites(struct catalogue *catalogue, struct buffer *payload, bool all);

/* The payload of the END block. */
void catalogue_end(const struct catalogue *catalogue, struct buffer *payload, uint64_t orphans,
		   uint64_t reentries);

/*
 * At most so many bytes will be the payloads of what is still to be said at the end; or, `all`,
 * of everything.
 */
uint64_t catalogue_bytes(const struct catalogue *catalogue, bool all);

#endif /* DRAIN_CATALOGUE_H */

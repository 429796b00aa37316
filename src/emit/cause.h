/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes: how callbacks come about. One for each distinct way, made at its first
 * use and kept for good, so that to find it is all that arming costs.
 */
#ifndef EMIT_CAUSE_H
#define EMIT_CAUSE_H

#include "emit/emit.h"
#include "unweave/callback.h"

#define CAUSES_MAX 4096u

struct cause {
	struct unweave_priv_cause seen; /* by the inline hooks; its task is that of `is` */
	struct cause *is; /* the one whose sites count: itself, or the one that it leads back to */
	uint32_t depth;   /* of its chain */
	struct unweave_site site;
	struct unweave_site fired; /* of its calls, if it stands; without a kind: not told yet */
	_Atomic bool fires;        /* somebody tells of that, or has done so */
};

/* `under` is the site of what runs; 0: nothing, or what has none. */
static inline uint64_t cause_how(uint32_t under, unsigned flags)
{
	return (under ? table_light(under) : 0) | flags;
}

static inline uint32_t cause_under(const struct unweave_priv_way *way)
{
	return table_light_site(way->how);
}

/* Finds the cause, or makes it. NULL: there is no arena. [signal-safe] */
struct cause *cause_find_slowly(const struct unweave_priv_way *way);

/* The same, if it is where it is looked for first; else NULL. [hot] */
static inline struct unweave_priv_cause *cause_known(const struct unweave_priv_way *way)
{
	struct unweave_priv_cause *cause =
		__atomic_load_n(&unweave_priv_causes[unweave_priv_way_hash(way)], __ATOMIC_ACQUIRE);

	return emit_likely(cause && unweave_priv_is_way(&cause->way, way)) ? cause : NULL;
}

/*
 * The same in any case; where there is no room for one more, it is one that says less. Its `is`
 * has the sites. [hot]
 */
static inline struct cause *cause_find(const struct unweave_priv_way *way)
{
	struct unweave_priv_cause *cause = cause_known(way);

	return emit_likely(cause != NULL) ? (struct cause *)cause : cause_find_slowly(way);
}

/* That which a site is of; NULL: none, or it is not known. */
struct cause *cause_of(uint32_t site);

/* The site of the calls of a standing task, by the site of that; NULL if it is not known. */
struct unweave_site *cause_fired(uint32_t standing);

#endif /* EMIT_CAUSE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes: how callbacks come about. One for each distinct way, made at its first
 * use and kept for good, so that to find it is all that arming costs.
 */
#ifndef EMIT_CAUSE_H
#define EMIT_CAUSE_H

#include "emit/emit.h"

#define CAUSES_MAX 4096u
#define CAUSES_HASH_BITS 13u

/* A way in which callbacks come about. */
struct cause_key {
	const char *kind;
	const void *code;
	const void *place;
	uint64_t how; /* site of what runs, 0: none, or one without << 8 | UNWEAVE_SITE_* */
};

struct cause {
	struct cause_key key;
	struct cause *is; /* the one whose sites count: itself, or the one that it leads back to */
	uint64_t light;   /* what is armed while nothing but samples is wanted; of that one */
	uint32_t depth;   /* of its chain */
	struct unweave_site site;
	struct unweave_site fired; /* of its calls, if it stands; without a kind: not told yet */
	_Atomic bool fires;        /* somebody tells of that, or has done so */
};

extern struct cause causes[CAUSES_MAX]; /* the first one is none */
extern _Atomic(struct cause *) causes_by_hash[1u << CAUSES_HASH_BITS];

static inline uint64_t cause_how(uint32_t under, unsigned flags)
{
	return (uint64_t)under << 8 | flags;
}

static inline uint32_t cause_under(const struct cause_key *key)
{
	return (uint32_t)(key->how >> 8);
}

static inline uint32_t cause_hash(const struct cause_key *key)
{
	uint64_t place = (uintptr_t)key->place;
	uint64_t word = (uintptr_t)key->code ^ (place << 20 | place >> 44) ^ key->how << 40;

	return (uint32_t)(word * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CAUSES_HASH_BITS));
}

static inline bool cause_is(const struct cause *cause, const struct cause_key *key)
{
	return cause->key.code == key->code && cause->key.place == key->place &&
	       cause->key.how == key->how && cause->key.kind == key->kind;
}

/* Finds the cause, or makes it. NULL: there is no arena. [signal-safe] */
struct cause *cause_find_slowly(const struct cause_key *key);

/*
 * The same; where there is no room for one more, it is one that says less. Its `is`
 * has the sites. [hot]
 */
static inline struct cause *cause_find(const struct cause_key *key)
{
	struct cause *cause =
		atomic_load_explicit(&causes_by_hash[cause_hash(key)], memory_order_acquire);

	return emit_likely(cause && cause_is(cause, key)) ? cause : cause_find_slowly(key);
}

/* That which a site is of; NULL: none, or it is not known. */
struct cause *cause_of(uint32_t site);

/* The site of the calls of a standing task, by the site of that; NULL if it is not known. */
struct unweave_site *cause_fired(uint32_t standing);

#endif /* EMIT_CAUSE_H */

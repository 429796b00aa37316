/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of causes that only grows. Entries are taken one after the other and
 * filled before anybody can find them; an index of hashes leads to them.
 *
 * Whoever adds one fills an entry of its own, then stores its number in the index
 * by compare-and-swap with release, which pairs with the acquire of whoever looks
 * there. If somebody else was first with the same cause, that one counts and the
 * entry is wasted. Nobody waits, so a signal handler may do all of this as well.
 */
#include "emit/cause.h"

#include "unweave/callback.h"

#define PROBES 64u
#define LAST_RESORT 64u /* entries that are kept for kinds alone */
#define DEPTH_MAX 64u
#define SITES_MAX 16384u /* sites that can be looked up; there is no room in an arena for more */

struct cause causes[CAUSES_MAX];
_Atomic(struct cause *) causes_by_hash[1u << CAUSES_HASH_BITS];
static _Atomic uint16_t by_site[SITES_MAX];
static _Atomic uint32_t used = 1;

struct cause *cause_of(uint32_t site)
{
	uint32_t index = 0;

	if (site && site < SITES_MAX)
		index = atomic_load_explicit(&by_site[site], memory_order_acquire);
	return index ? &causes[index] : NULL;
}

static bool is_same_way(const struct cause_key *a, const struct cause_key *b)
{
	return a->kind == b->kind && a->code == b->code && a->place == b->place &&
	       (uint8_t)a->how == (uint8_t)b->how;
}

/* The cause of the same kind, code and place that `key` goes back to; NULL: it is a new way. */
static struct cause *earlier(const struct cause_key *key)
{
	struct cause *cause = cause_of(cause_under(key));

	for (uint32_t i = 0; cause && i <= DEPTH_MAX;
	     i++, cause = cause_of(cause_under(&cause->key)))
		if (is_same_way(&cause->key, key))
			return cause;
	return NULL;
}

/* Room for one more; NULL if there is none. */
static struct cause *take(const struct cause_key *key)
{
	uint32_t most = CAUSES_MAX - (key->code ? LAST_RESORT : 0);
	uint32_t next = atomic_load_explicit(&used, memory_order_relaxed);

	do {
		if (next >= most)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		&used, &next, next + 1, memory_order_relaxed, memory_order_relaxed));
	return &causes[next];
}

static void tell_site(struct unweave_site *site, const struct cause *cause,
		      const struct cause_key *key)
{
	site->kind = key->kind;
	emit_site_of_callbacks(site, key);
	/* Pairs with the acquire in cause_of(). */
	if (site->id && site->id < SITES_MAX)
		atomic_store_explicit(&by_site[site->id], (uint16_t)(cause - causes),
				      memory_order_release);
}

/* As much as is told of the cause. */
static struct cause_key key_of(const struct cause *cause)
{
	struct cause_key key = cause->key;

	if (cause->depth > DEPTH_MAX)
		key.how = cause_how(0, (uint8_t)key.how | UNWEAVE_SITE_CUT);
	return key;
}

static void tell_fired(struct cause *cause)
{
	struct cause_key key = key_of(cause);
	struct unweave_site site = {0};

	key.how &= ~(uint64_t)UNWEAVE_SITE_STANDING;
	key.how |= UNWEAVE_SITE_FIRED;
	tell_site(&site, cause, &key);
	cause->fired.id = site.id;
	/* Pairs with the acquire in cause_fired(). */
	__atomic_store_n(&cause->fired.kind, site.kind, __ATOMIC_RELEASE);
}

/* Tells the arena of the cause. */
static void tell(struct cause *cause)
{
	struct cause_key key = key_of(cause);

	tell_site(&cause->site, cause, &key);
	if (key.how & UNWEAVE_SITE_STANDING) {
		atomic_store_explicit(&cause->fires, true, memory_order_relaxed);
		tell_fired(cause);
	}
}

/* A new entry, which nobody can find yet; NULL if there is no room. */
static struct cause *make(const struct cause_key *key)
{
	const struct cause *under = cause_of(cause_under(key));
	struct cause *before = earlier(key), *cause = take(key);

	if (!cause)
		return NULL;
	cause->key = *key;
	cause->is = before ? before : cause;
	if (!before) {
		cause->depth = under ? under->depth + 1 : 1;
		tell(cause);
	}
	cause->light = table_light(cause->is->site.id);
	return cause;
}

/* Where there is no room: the kind alone, or nothing. */
static struct cause *say_less(const struct cause_key *key)
{
	const struct cause_key kind = {.kind = key->kind, .how = (uint8_t)key->how};

	atomic_fetch_add(&emit_process.control->names_lost, 1);
	return key->code ? cause_find_slowly(&kind) : NULL;
}

EMIT_COLD struct cause *cause_find_slowly(const struct cause_key *key)
{
	struct cause *made = NULL;
	uint32_t hash = cause_hash(key);

	if (!emit_birth())
		return NULL;
	for (uint32_t i = 0; i < PROBES; i++) {
		_Atomic(struct cause *) *at =
			&causes_by_hash[(hash + i) % (1u << CAUSES_HASH_BITS)];
		struct cause *found = atomic_load_explicit(at, memory_order_acquire);

		if (!found) {
			if (!made)
				made = make(key);
			if (!made)
				break;
			if (atomic_compare_exchange_strong_explicit(
				    at, &found, made, memory_order_acq_rel, memory_order_acquire))
				return made;
		}
		if (cause_is(found, key))
			return found;
	}
	return say_less(key);
}

struct unweave_site *cause_fired(uint32_t standing)
{
	struct cause *cause = cause_of(standing);

	if (!cause)
		return NULL;
	/* One that turned out to stand when it was called. Who comes second meanwhile goes without.
	 */
	if (emit_unlikely(!__atomic_load_n(&cause->fired.kind, __ATOMIC_ACQUIRE)) &&
	    !atomic_exchange(&cause->fires, true))
		tell_fired(cause);
	return __atomic_load_n(&cause->fired.kind, __ATOMIC_ACQUIRE) ? &cause->fired : NULL;
}

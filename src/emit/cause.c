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

#define PROBES 64u
#define LAST_RESORT 64u /* entries that are kept for kinds alone */
#define DEPTH_MAX 64u
#define SITES_MAX 16384u /* sites that can be looked up; there is no room in an arena for more */

static struct cause all_causes[CAUSES_MAX]; /* the first one is none */
struct unweave_priv_cause *unweave_priv_causes[1u << UNWEAVE_PRIV_CAUSES_BITS];
static _Atomic uint16_t by_site[SITES_MAX];
static _Atomic uint32_t used = 1;

struct cause *cause_of(uint32_t site)
{
	uint32_t index = 0;

	if (site && site < SITES_MAX)
		index = atomic_load_explicit(&by_site[site], memory_order_acquire);
	return index ? &all_causes[index] : NULL;
}

static bool is_same_way(const struct unweave_priv_way *a, const struct unweave_priv_way *b)
{
	return a->kind == b->kind && a->code == b->code && a->place == b->place &&
	       (uint8_t)a->how == (uint8_t)b->how;
}

/* The cause of the same kind, code and place that `way` goes back to; NULL: it is a new way. */
static struct cause *earlier(const struct unweave_priv_way *way)
{
	struct cause *cause = cause_of(cause_under(way));

	for (uint32_t i = 0; cause && i <= DEPTH_MAX;
	     i++, cause = cause_of(cause_under(&cause->seen.way)))
		if (is_same_way(&cause->seen.way, way))
			return cause;
	return NULL;
}

/* Room for one more; NULL if there is none. */
static struct cause *take(const struct unweave_priv_way *way)
{
	uint32_t most = CAUSES_MAX - (way->code ? LAST_RESORT : 0);
	uint32_t next = atomic_load_explicit(&used, memory_order_relaxed);

	do {
		if (next >= most)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		&used, &next, next + 1, memory_order_relaxed, memory_order_relaxed));
	return &all_causes[next];
}

static void tell_site(struct unweave_site *site, const struct cause *cause,
		      const struct unweave_priv_way *way)
{
	site->kind = way->kind;
	emit_site_of_callbacks(site, way);
	/* Pairs with the acquire in cause_of(). */
	if (site->id && site->id < SITES_MAX)
		atomic_store_explicit(&by_site[site->id], (uint16_t)(cause - all_causes),
				      memory_order_release);
}

/*
 * The callback that runs, where the address is not that of a place: it armed by a jump, or what it
 * jumped to did. As an address that a call in it could return to; NULL: it is not known.
 */
static const void *place_of(const struct unweave_priv_way *way)
{
	const struct cause *under;

	if (!emit_only_calls(way->place))
		return way->place;
	under = cause_of(cause_under(way));
	return under && under->seen.way.code ? (const char *)under->seen.way.code + 1 : NULL;
}

/* As much as is told of the cause. */
static struct unweave_priv_way way_of(const struct cause *cause)
{
	struct unweave_priv_way way = cause->seen.way;

	way.place = place_of(&cause->seen.way);
	if (cause->depth > DEPTH_MAX)
		way.how = cause_how(0, (uint8_t)way.how | UNWEAVE_SITE_CUT);
	return way;
}

static void tell_fired(struct cause *cause)
{
	struct unweave_priv_way way = way_of(cause);
	struct unweave_site site = {0};

	way.how &= ~(uint64_t)UNWEAVE_SITE_STANDING;
	way.how |= UNWEAVE_SITE_FIRED;
	tell_site(&site, cause, &way);
	cause->fired.id = site.id;
	/* Pairs with the acquire in cause_fired(). */
	__atomic_store_n(&cause->fired.kind, site.kind, __ATOMIC_RELEASE);
}

/* Tells the arena of the cause. */
static void tell(struct cause *cause)
{
	struct unweave_priv_way way = way_of(cause);

	tell_site(&cause->site, cause, &way);
	if (way.how & UNWEAVE_SITE_STANDING) {
		atomic_store_explicit(&cause->fires, true, memory_order_relaxed);
		tell_fired(cause);
	}
}

/* A new entry, which nobody can find yet; NULL if there is no room. */
static struct cause *make(const struct unweave_priv_way *way)
{
	const struct cause *under = cause_of(cause_under(way));
	struct cause *before = earlier(way), *cause = take(way);

	if (!cause)
		return NULL;
	cause->seen.way = *way;
	cause->is = before ? before : cause;
	if (!before) {
		cause->depth = under ? under->depth + 1 : 1;
		tell(cause);
	}
	cause->seen.light = table_light(cause->is->site.id);
	return cause;
}

/* Where there is no room: the kind alone, or nothing. */
static struct cause *say_less(const struct unweave_priv_way *way)
{
	const struct unweave_priv_way kind = {.kind = way->kind, .how = (uint8_t)way->how};

	atomic_fetch_add(&emit_process.control->names_lost, 1);
	return way->code ? cause_find_slowly(&kind) : NULL;
}

EMIT_COLD struct cause *cause_find_slowly(const struct unweave_priv_way *way)
{
	struct cause *made = NULL;
	uint32_t hash = unweave_priv_way_hash(way);

	if (!emit_birth())
		return NULL;
	for (uint32_t i = 0; i < PROBES; i++) {
		struct unweave_priv_cause **at =
			&unweave_priv_causes[(hash + i) % (1u << UNWEAVE_PRIV_CAUSES_BITS)];
		struct unweave_priv_cause *found = __atomic_load_n(at, __ATOMIC_ACQUIRE);

		if (!found) {
			if (!made)
				made = make(way);
			if (!made)
				break;
			if (__atomic_compare_exchange_n(at, &found, &made->seen, false,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
				return made;
		}
		if (unweave_priv_is_way(&found->way, way))
			return (struct cause *)found;
	}
	return say_less(way);
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

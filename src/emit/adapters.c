/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapters that said who they are. Some do so when they are loaded, into programs
 * that will never have a task: that is kept until there is an arena.
 *
 * Who adds one looks for the arena after that, and who makes the arena looks for
 * them after that, both sequentially consistent: one of them tells it.
 *
 * And the code in which they call callbacks, which is no place that arms.
 */
#include "emit/cause.h"
#include "emit/links.h"
#include "unweave/callback.h"

#define KEPT 8u

static struct {
	_Atomic(const char *) library;
	const char *version;
	_Atomic bool told; /* to this arena, or to the one that it has its sites from */
} kept[KEPT];
static _Atomic uint32_t kept_count;

void emit_adapters_tell(void)
{
	static const struct unweave_priv_way way = {.how = UNWEAVE_SITE_ADAPTER};

	for (uint32_t i = 0; i < KEPT; i++) {
		const char *library = atomic_load(&kept[i].library);
		struct unweave_site site = {.name = library, .kind = kept[i].version};

		if (library && !atomic_exchange(&kept[i].told, true))
			emit_site_of_callbacks(&site, &way);
	}
}

void emit_adapters_forget(void)
{
	for (uint32_t i = 0; i < KEPT; i++)
		atomic_store(&kept[i].told, false);
}

void unweave_adapter(const char *library, const char *version)
{
	uint32_t place = atomic_fetch_add(&kept_count, 1);

	if (place >= KEPT)
		return;
	kept[place].version = version;
	atomic_store(&kept[place].library, library);
	if (!emit_is_unborn() && emit_birth())
		emit_adapters_tell();
}

/* By the end, which is stored last: pairs with the acquire in emit_only_calls(). */
static struct {
	_Atomic uintptr_t start, end;
} callers[KEPT];

void unweave_priv_only_calls(const void *start, const void *end)
{
	for (uint32_t i = 0; i < KEPT; i++) {
		uintptr_t none = 0;

		if (atomic_compare_exchange_strong(&callers[i].start, &none, (uintptr_t)start)) {
			atomic_store_explicit(&callers[i].end, (uintptr_t)end,
					      memory_order_release);
			return;
		}
		if (none == (uintptr_t)start)
			return;
	}
}

bool emit_only_calls(const void *place)
{
	struct links_code own = links_code();
	uintptr_t at = (uintptr_t)place;

	for (uint32_t i = 0; i < KEPT; i++) {
		uintptr_t end = atomic_load_explicit(&callers[i].end, memory_order_acquire);

		if (at < end && at >= atomic_load_explicit(&callers[i].start, memory_order_relaxed))
			return true;
	}
	return at >= own.start && at < own.end;
}

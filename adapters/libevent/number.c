/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of programs have numbers, since a gap of an event has no room for an address. */
#include "libevent/state.h"

#define PLACES (STATE_NUMBER + 1)
#define FAR 64u /* how far from its own place a callback may be */

/* The first place stays empty, so that 0 is no number. */
struct number numbers[PLACES];

static uint32_t first_place(event_callback_fn callback)
{
	return (uint32_t)(((uintptr_t)callback * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % PLACES;
}

/* All who put it there find the same out about it. */
static uint32_t note(uint32_t number)
{
	struct number *at = &numbers[number];

	if (adapter_is_inside(&libevent, (const void *)at->callback))
		at->is_inner = true;
	return number;
}

uint32_t number_of(event_callback_fn callback)
{
	uint32_t first = first_place(callback);

	for (uint32_t i = 0; i < FAR; i++) {
		uint32_t number = (first + i) % PLACES;
		event_callback_fn *at = &numbers[number].callback;
		event_callback_fn there = __atomic_load_n(at, __ATOMIC_RELAXED);

		if (number == 0)
			continue;
		if (there == callback)
			return number;
		if (!there && (__atomic_compare_exchange_n(at, &there, callback, false,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
			       there == callback))
			return note(number);
	}
	return 0;
}

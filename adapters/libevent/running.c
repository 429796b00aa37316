/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which event is it whose callback is called? libevent keeps it in its base, and
 * has a function that tells it. That one takes the base's lock; so it is asked a
 * few times only, to see where in the base the event stands, and then that place
 * is read, by the one thread that writes it. What is read there is compared with
 * what the call was given, each time.
 */
#include <stdatomic.h>
#include <sys/uio.h>
#include <unistd.h>

#include "libevent/state.h"

#define NEXT(function) ADAPTER_NEXT(&libevent, function)

#define WORDS 64u /* of a base that are looked at; it has more than these */
#define SURE 8u   /* so often one place alone was right */
#define BASES 1024u

/* Bases that events belong to: for a loop that was called where we could not see it. */
static _Atomic(struct event_base *) bases[BASES];

uint32_t running_place;

bool running_know_base(struct event_base *base)
{
	for (unsigned i = 0; i < BASES; i++) {
		struct event_base *there = atomic_load_explicit(&bases[i], memory_order_relaxed);

		if (there == base)
			return true;
		if (!there && atomic_compare_exchange_strong(&bases[i], &there, base))
			return true;
	}
	return false;
}

void running_forget_base(struct event_base *base)
{
	for (unsigned i = 0; i < BASES; i++) {
		struct event_base *there = base;

		atomic_compare_exchange_strong(&bases[i], &there, NULL);
	}
}

/* The place is one of those where this event stands, as all those before it did. */
static void learn(struct event_base *base, const struct event *event)
{
	static _Atomic uint64_t candidates = UINT64_MAX;
	static _Atomic uint32_t seen;
	const void *const *words = (const void *const *)base;
	uint64_t here = 0;

	for (unsigned i = 1; i < WORDS; i++)
		here |= (uint64_t)(words[i] == event) << i;
	here &= atomic_fetch_and(&candidates, here);
	if (atomic_fetch_add(&seen, 1) + 1 >= SURE && __builtin_popcountll(here) == 1)
		__atomic_store_n(&running_place, (uint32_t)__builtin_ctzll(here), __ATOMIC_RELAXED);
}

/* A word of a base is a pointer or not: nothing but the kernel can read there safely. */
static bool peek(struct event *to, const void *from)
{
	struct iovec ours = {to, sizeof(*to)}, theirs = {(void *)(uintptr_t)from, sizeof(*to)};

	return (uintptr_t)from % sizeof(void *) == 0 &&
	       process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0) == (ssize_t)sizeof(*to);
}

static struct event *search(struct event_base *base, evutil_socket_t fd, const void *argument)
{
	uint32_t word = __atomic_load_n(&running_place, __ATOMIC_RELAXED);
	struct event **words = (struct event **)base;
	struct event copy;

	if (word)
		return words[word] && running_is(words[word], fd, argument) ? words[word] : NULL;
	for (unsigned i = 1; i < WORDS; i++)
		if (words[i] && peek(&copy, words[i]) && copy.ev_base == base &&
		    running_is(&copy, fd, argument))
			return words[i];
	return NULL;
}

static struct event *search_all(evutil_socket_t fd, const void *argument)
{
	for (unsigned i = 0; i < BASES; i++) {
		struct event_base *base = atomic_load_explicit(&bases[i], memory_order_relaxed);
		struct event *event = base ? search(base, fd, argument) : NULL;

		if (event) {
			learn(base, event);
			return event;
		}
	}
	return NULL;
}

struct event *running_search(evutil_socket_t fd, const void *argument)
{
	struct event *event = NULL;

	if (self.base)
		event = NEXT(event_base_get_running_event)(self.base);
	if (!event || !running_is(event, fd, argument))
		return search_all(fd, argument);
	learn(self.base, event);
	return event;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session on the process's own arena that no thread drains: for tests that
 * look at the arena itself, and at what is left in it.
 */
#ifndef TESTS_HAND_H
#define TESTS_HAND_H

#include <errno.h>

#include "check.h"
#include "drain/drain.h"
#include "emit/emit.h"
#include "emit/place.h"

struct hand {
	struct attachment attachment;
	struct drain *drain;
	uint64_t events; /* that a hook was called for */
	uint64_t aside;  /* of those, from a handler inside a hook */
	uint64_t resets;
	uint64_t lost;              /* of streams */
	uint64_t threads;           /* that ended */
	uint32_t refuse;            /* deliveries to come, with -ENOMEM */
	uint64_t refused;           /* events in those */
	struct drain_totals totals; /* at the end */
};

static inline void hand_event(struct hand *hand, const struct unweave_event *event)
{
	/* Tasks that earlier tests left behind. */
	if (event->flags & UNWEAVE_EVENT_BEFORE)
		return;
	if (event->kind == UNWEAVE_EVENT_LOST)
		hand->lost += event->value;
	else if (event->kind == UNWEAVE_EVENT_RESET || event->kind == UNWEAVE_EVENT_REPLAY)
		hand->resets++;
	else
		hand->events++;
	hand->aside += event->flags & UNWEAVE_EVENT_ASIDE && event->kind != UNWEAVE_EVENT_LOST &&
		       event->kind != UNWEAVE_EVENT_RESET;
}

static inline int hand_events(void *data, struct stream *stream, const struct unweave_event *events,
			      uint32_t count)
{
	struct hand *hand = data;

	(void)stream;
	if (hand->refuse) {
		hand->refuse--;
		hand->refused += count;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		hand_event(hand, &events[i]);
	return 0;
}

static inline int hand_thread(void *data, uint32_t thread, uint32_t tid, const char *name,
			      bool ended)
{
	struct hand *hand = data;

	(void)thread;
	(void)name;
	hand->threads += ended && tid;
	return 0;
}

static inline int hand_site(void *data, const struct meta_site *site)
{
	(void)data;
	(void)site;
	return 0;
}

static inline int hand_stream_end(void *data, struct stream *stream)
{
	(void)data;
	(void)stream;
	return 0;
}

static inline void hand_begin(struct hand *hand, enum unweave_policy policy, uint64_t buffer_bytes)
{
	struct drain_options options = {.policy = policy, .buffer_bytes = buffer_bytes};
	struct drain_sink sink = {.thread = hand_thread,
				  .site = hand_site,
				  .events = hand_events,
				  .end = hand_stream_end,
				  .data = hand};

	*hand = (struct hand){0};
	CHECK(emit_birth());
	CHECK_EQ(attach_own(&hand->attachment, emit_process.control, place_file(), NULL), 0);
	CHECK_EQ(attach_lock(&hand->attachment, NULL), 0);
	CHECK_EQ(drain_new(&hand->drain, &hand->attachment, &options, &sink, NULL), 0);
}

static inline void hand_end(struct hand *hand)
{
	CHECK(drain_stop(hand->drain) >= 0);
	hand->totals = drain_totals(hand->drain);
	drain_note_told(hand->drain, &hand->totals);
	CHECK_EQ(hand->totals.damaged, 0);
	hand->drain = drain_free(hand->drain);
	attach_fini(&hand->attachment);
}

/* Events that are accounted for, one way or the other. After hand_end(). */
static inline uint64_t hand_accounted(const struct hand *hand)
{
	return hand->events + hand->lost + hand->totals.reentries + hand->totals.orphans;
}

#endif /* TESTS_HAND_H */

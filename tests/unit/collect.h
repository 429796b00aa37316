/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listener that keeps what it is told, for tests to look at after
 * unweave_flush() or unweave_stop().
 */
#ifndef TESTS_COLLECT_H
#define TESTS_COLLECT_H

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "unweave.h"

/* An event and what it pointed to. */
struct seen {
	struct unweave_event event;
	struct unweave_frame *frames; /* innermost first; not linked */
	uint32_t frame_count;
	char text[256];
};

struct collection {
	struct seen *seen;
	size_t count;
	size_t capacity;
};

static struct collection collected;

static inline void collect_stack(struct seen *seen, const struct unweave_frame *stack)
{
	uint32_t capacity = stack ? stack->depth : 0;

	seen->frames = calloc(capacity + 1, sizeof(*seen->frames));
	for (; stack && seen->frame_count < capacity; stack = stack->awaiter)
		seen->frames[seen->frame_count++] = *stack;
	CHECK(!stack);
}

static inline void collect(const struct unweave_event *event, void *data)
{
	struct collection *collection = data;
	struct seen *seen;

	/* Tasks that earlier tests left behind. */
	if (event->flags & UNWEAVE_EVENT_BEFORE)
		return;
	if (collection->count == collection->capacity) {
		collection->capacity = collection->capacity * 2 + 1024;
		collection->seen = reallocarray(collection->seen, collection->capacity,
						sizeof(*collection->seen));
	}
	seen = &collection->seen[collection->count++];
	memset(seen, 0, sizeof(*seen));
	seen->event = *event;
	if (event->stack)
		collect_stack(seen, event->stack);
	if (event->text)
		snprintf(seen->text, sizeof(seen->text), "%s", event->text);
}

static inline void collect_forget(void)
{
	for (size_t i = 0; i < collected.count; i++)
		free(collected.seen[i].frames);
	free(collected.seen);
	collected = (struct collection){0};
}

/* Begins a session that is collected, and nothing else; `keywords` 0: all. */
static inline void collect_begin_with(uint64_t keywords, enum unweave_policy policy,
				      size_t buffer_bytes)
{
	struct unweave_options options;

	collect_forget();
	unweave_options_init(&options);
	options.listener = collect;
	options.listener_data = &collected;
	options.keywords = keywords;
	options.policy = policy;
	options.buffer_bytes = buffer_bytes;
	CHECK_EQ(unweave_start(&options), 0);
}

static inline void collect_begin(uint64_t keywords)
{
	collect_begin_with(keywords, UNWEAVE_POLICY_DROP, 0);
}

static inline size_t collect_count(enum unweave_event_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < collected.count; i++)
		count += collected.seen[i].event.kind == kind;
	return count;
}

/* The n-th event of a kind, from 0; one that is all zero if there are fewer. */
static inline const struct seen *collect_nth(enum unweave_event_kind kind, size_t n)
{
	static const struct seen nothing;

	for (size_t i = 0; i < collected.count; i++)
		if (collected.seen[i].event.kind == kind && n-- == 0)
			return &collected.seen[i];
	return &nothing;
}

static inline uint64_t collect_lost(void)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < collected.count; i++)
		if (collected.seen[i].event.kind == UNWEAVE_EVENT_LOST)
			lost += collected.seen[i].event.value;
	return lost;
}

/* Events that a hook was called for: all but resets, what they repeat, and losses. */
static inline bool is_of_a_hook(uint16_t kind)
{
	return kind != UNWEAVE_EVENT_RESET && kind != UNWEAVE_EVENT_REPLAY &&
	       kind != UNWEAVE_EVENT_LOST;
}

static inline size_t collect_count_hooks(void)
{
	size_t count = 0;

	for (size_t i = 0; i < collected.count; i++)
		count += is_of_a_hook(collected.seen[i].event.kind);
	return count;
}

#endif /* TESTS_COLLECT_H */

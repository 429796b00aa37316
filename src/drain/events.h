/* SPDX-License-Identifier: Apache-2.0 */
/* What raw records mean: words in, events out to the shop's sink. */
#ifndef DRAIN_EVENTS_H
#define DRAIN_EVENTS_H

#include <stdint.h>

#include "drain/stream.h"

/*
 * Decodes the records at hand that are due at `limit`. Damage ends it: what
 * follows it in the words at hand counts as missing later. Returns what the sink
 * returned.
 */
int events_decode(struct stream *stream, struct stream_shop *shop, uint64_t limit);

/* When the first record at hand is due. */
uint64_t events_due(const struct stream *stream);

/* `records` records are missing here. */
int events_lost(struct stream *stream, struct stream_shop *shop, uint64_t records,
		enum unweave_loss cause);

/* Nothing follows: says what waited for the next record. */
int events_end(struct stream *stream, struct stream_shop *shop);

/* How many records the words hold. */
uint64_t events_count(const uint64_t *words, uint32_t count);

#endif /* DRAIN_EVENTS_H */

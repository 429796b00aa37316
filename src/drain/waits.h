/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tasks wait for at a moment, as far as the table tells: of those that wait for
 * a task, a lock or a moment, since from these it follows whether anything can wake them.
 */
#ifndef DRAIN_WAITS_H
#define DRAIN_WAITS_H

#include "arena/table.h"
#include "util/buffer.h"

#define WAITS_MOST 4096u /* tasks that are told of; those that wait for tasks go first */

/* Makes `payload`, which is empty, that of a WAITS block. */
void waits_collect(const struct table *table, struct buffer *payload);

#endif /* DRAIN_WAITS_H */

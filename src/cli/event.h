/* SPDX-License-Identifier: Apache-2.0 */
/* One event in words, or as JSON. */
#ifndef CLI_EVENT_H
#define CLI_EVENT_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/labels.h"
#include "trace/reader.h"
#include "view/json.h"

/* One line; `label` is its task's, `stacks` adds the addresses of the event's chain. */
void event_show(FILE *to, const struct reader *reader, const struct unweave_event *event,
		const struct label *label, bool stacks);

/* One object, with all that the event says. */
void event_json(struct json *json, const struct reader *reader, const struct unweave_event *event,
		const struct label *label);

/* A chain: its addresses, or how many frames it has. */
void event_show_stack(FILE *to, const struct unweave_frame *frame, bool whole);
void event_json_stack(struct json *json, const char *key, const struct unweave_frame *frame);

#endif /* CLI_EVENT_H */

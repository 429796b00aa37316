/* SPDX-License-Identifier: Apache-2.0 */
/* One event in words, or as JSON. */
#ifndef CLI_EVENT_H
#define CLI_EVENT_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/labels.h"
#include "trace/reader.h"
#include "view/json.h"

/* What is known besides an event. */
struct event_context {
	const struct reader *reader;
	struct symbols *symbols;
	const struct label *label; /* of its task */
};

/* One line; `stacks` adds the addresses of the event's chain. */
void event_show(FILE *to, const struct unweave_event *event, const struct event_context *about,
		bool stacks);

/* One object, with all that the event says. */
void event_json(struct json *json, const struct unweave_event *event,
		const struct event_context *about);

/* A chain: its addresses, or how many frames it has. */
void event_show_stack(FILE *to, const struct unweave_frame *frame, bool whole);
void event_json_stack(struct json *json, const char *key, const struct unweave_frame *frame);

#endif /* CLI_EVENT_H */

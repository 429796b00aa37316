/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/event.h"

#include <inttypes.h>

#include "cli/names.h"
#include "cli/say.h"
#include "unweave/callback.h"
#include "view/naming.h"

#define NS_PER_S UINT64_C(1000000000)
#define CAUSES_MOST 128u /* programs tell half as many; a file may have them in a circle */
#define NAME_WIDTH 15    /* the longest that a thread's name can be */

/* Of a callback: what it is, and where it was armed. Its label has the kind. */
static void show_callback(FILE *to, const struct reader_site *site, struct symbols *symbols)
{
	struct symbol_frame origin = naming_origin(symbols, site);
	char function[300];

	if (site->flags & UNWEAVE_SITE_LOOP)
		fprintf(to, " [loop]");
	else if (site->flags & UNWEAVE_SITE_STANDING)
		fprintf(to, " [standing]");
	if (!site->place)
		return;
	naming_function(symbols, site->place - 1, function, sizeof(function));
	fprintf(to, "  armed in ");
	say_text(to, function);
	if (origin.file[0]) {
		fprintf(to, " (");
		say_text(to, origin.file);
		fprintf(to, ":%" PRIu32 ")", origin.line);
	}
}

/* A file and a line, and what sort of task is made there. */
static void show_site(FILE *to, const struct reader_site *site, struct symbols *symbols)
{
	if (site->code) {
		show_callback(to, site, symbols);
		return;
	}
	if (site->kind && site->kind[0]) {
		fprintf(to, " [");
		say_text(to, site->kind);
		fprintf(to, "]");
	}
	if (site->file[0]) {
		fprintf(to, " (");
		say_text(to, site->file);
		fprintf(to, ":%" PRIu32 ")", site->line);
	}
}

/* Where a task comes from: with all that is known of it, once. */
static void show_origin(FILE *to, const struct unweave_event *event,
			const struct event_context *about)
{
	const struct label *label = about->label;

	if (label->text[0]) {
		fprintf(to, "  ");
		say_text(to, label->text);
	}
	if (label->site)
		show_site(to, label->site, about->symbols);
	else if (event->value)
		fprintf(to, "  site %" PRIu64, event->value);
	if (event->other)
		fprintf(to, "  parent %" PRIu64, event->other);
}

static void show_omission(FILE *to, const struct unweave_frame *frame)
{
	if (frame->address)
		fprintf(to, " ... %" PRIu64 " frames left out ...", frame->address);
	else
		fprintf(to, " ... unknown%s", frame->awaiter ? " ..." : "");
}

void event_show_stack(FILE *to, const struct unweave_frame *frame, bool whole)
{
	if (!whole) {
		fprintf(to, "  stack of %" PRIu32, frame->depth);
		return;
	}
	fprintf(to, "  stack");
	for (; frame; frame = frame->awaiter) {
		if (frame->kind == UNWEAVE_FRAME_OMITTED)
			show_omission(to, frame);
		else
			fprintf(to, " %#" PRIx64, frame->address);
		if (UNWEAVE_STATE_IS_LINE(frame->state))
			fprintf(to, " line %" PRIu32, naming_line(frame->state));
		else if (frame->state)
			fprintf(to, ":%" PRId32, frame->state);
	}
}

static bool is_origin(const struct unweave_event *event)
{
	return event->kind == UNWEAVE_EVENT_CREATE || event->kind == UNWEAVE_EVENT_TASK;
}

/*
 * Why a callback runs: the callback, and where it was armed; then the callback that did that,
 * unless the place is in it, and where that one was armed; and so on.
 */
static void show_causes(FILE *to, const struct reader_site *site, const struct event_context *about)
{
	uint64_t armed_at = 0;

	fprintf(to, "  stack");
	for (unsigned i = 0; site && site->code && i < CAUSES_MOST; i++) {
		if (!armed_at || !naming_surely_same(about->symbols, armed_at - 1, site->code))
			fprintf(to, " %#" PRIx64, site->code);
		if (site->place)
			fprintf(to, " %#" PRIx64, site->place);
		if (site->flags & UNWEAVE_SITE_CUT)
			fprintf(to, " ...");
		armed_at = site->place;
		site = reader_site(about->reader, site->under);
	}
}

static void show_waker(FILE *to, const struct unweave_event *event)
{
	if (event->value != UNWEAVE_SOURCE_TASK)
		fprintf(to, "  by %s", name_source(event->value));
	else if (!event->other)
		fprintf(to, "  by thread");
	if (event->other)
		fprintf(to, "  by task %" PRIu64, event->other);
}

static void show_awaiter(FILE *to, const struct unweave_event *event)
{
	if (event->other)
		fprintf(to, "  awaited by task %" PRIu64, event->other);
	if (event->kind == UNWEAVE_EVENT_AWAIT)
		fprintf(to, event->other ? " too" : "  awaited by one more");
}

/* What this kind of event has to say besides its task. */
static void show_details(FILE *to, const struct unweave_event *event)
{
	switch (event->kind) {
	case UNWEAVE_EVENT_COMPLETE:
		fprintf(to, "  %s", name_status(event->value));
		break;
	case UNWEAVE_EVENT_WAKE:
		show_waker(to, event);
		break;
	case UNWEAVE_EVENT_UNWIND:
		fprintf(to, "  %" PRIu64 " frame%s, %s", event->value >> 1,
			event->value >> 1 == 1 ? "" : "s",
			event->value & 1 ? "handled" : "not handled");
		break;
	case UNWEAVE_EVENT_APPEND:
	case UNWEAVE_EVENT_AWAIT:
		show_awaiter(to, event);
		break;
	case UNWEAVE_EVENT_NAME:
		fprintf(to, "  \"");
		say_text(to, event->text ? event->text : "");
		fprintf(to, "\"");
		break;
	case UNWEAVE_EVENT_RESET:
		fprintf(to, "  %s", name_reset(event->value));
		break;
	case UNWEAVE_EVENT_DUE:
		fprintf(to, "  %" PRIu64 " ns ago", event->value);
		break;
	case UNWEAVE_EVENT_LOST:
		fprintf(to, "  %" PRIu64 " events: %s", event->value,
			name_loss_reason(event->other));
		break;
	default:
		break;
	}
}

static void show_task(FILE *to, const struct unweave_event *event,
		      const struct event_context *about)
{
	const struct label *label = about->label;

	fprintf(to, "%-14s  %" PRIu64, name_kind(event->kind), event->task);
	if (is_origin(event)) {
		show_origin(to, event, about);
	} else if (label->text[0] && event->kind != UNWEAVE_EVENT_NAME) {
		fprintf(to, "  ");
		say_text(to, label->text);
	}
}

static void show_flags(FILE *to, uint16_t flags)
{
	if (flags & UNWEAVE_EVENT_LATE)
		fprintf(to, "  (late)");
	if (flags & UNWEAVE_EVENT_ASIDE)
		fprintf(to, "  (aside)");
	if (flags & UNWEAVE_EVENT_TIME_UNKNOWN)
		fprintf(to, "  (time unknown)");
}

void event_show(FILE *to, const struct unweave_event *event, const struct event_context *about,
		bool stacks)
{
	const struct reader *reader = about->reader;
	const struct reader_thread *thread = reader_thread(reader, event->thread);
	uint64_t time = event->time - reader_summary(reader)->first;
	int width;

	fprintf(to, "%5" PRIu64 ".%09u  %3" PRIu32 " ", time / NS_PER_S,
		(unsigned)(time % NS_PER_S), event->thread);
	width = say_text(to, thread ? thread->name : "");
	fprintf(to, "%*s  ", width < NAME_WIDTH ? NAME_WIDTH - width : 0, "");
	if (event->task)
		show_task(to, event, about);
	else
		fprintf(to, "%s", name_kind(event->kind));
	show_details(to, event);
	if (event->stack)
		event_show_stack(to, event->stack, stacks);
	else if (stacks && is_origin(event) && about->label->site && about->label->site->code)
		show_causes(to, about->label->site, about);
	show_flags(to, event->flags);
	putc_unlocked('\n', to);
}

static void json_callback(struct json *json, const struct reader_site *site,
			  struct symbols *symbols)
{
	struct symbol_frame origin = naming_origin(symbols, site);
	char function[300];

	json_address(json, "code", site->code);
	if (site->place) {
		naming_function(symbols, site->place - 1, function, sizeof(function));
		json_address(json, "place", site->place);
		json_text(json, "armed_in", function);
		json_text(json, "armed_file", origin.file);
		json_number(json, "armed_line", origin.line);
	}
	if (site->under)
		json_number(json, "under", site->under);
	json_bool(json, "standing", site->flags & UNWEAVE_SITE_STANDING);
	json_bool(json, "loop", site->flags & UNWEAVE_SITE_LOOP);
}

static void json_site(struct json *json, const struct reader_site *site, struct symbols *symbols)
{
	json_text(json, "name", site->name);
	if (site->kind && site->kind[0])
		json_text(json, "kind", site->kind);
	json_text(json, "function", site->function);
	json_text(json, "file", site->file);
	json_number(json, "line", site->line);
	if (site->code)
		json_callback(json, site, symbols);
}

static void json_origin(struct json *json, const struct unweave_event *event,
			const struct event_context *about)
{
	if (event->other)
		json_number(json, "parent", event->other);
	if (!event->value)
		return;
	json_open(json, "site", '{');
	json_number(json, "id", event->value);
	if (about->label->site)
		json_site(json, about->label->site, about->symbols);
	json_close(json, '}');
}

void event_json_stack(struct json *json, const char *key, const struct unweave_frame *frame)
{
	json_open(json, key, '[');
	for (; frame; frame = frame->awaiter) {
		json_open(json, NULL, '{');
		if (frame->kind == UNWEAVE_FRAME_OMITTED && frame->address)
			json_number(json, "omitted", frame->address);
		else if (frame->kind == UNWEAVE_FRAME_OMITTED)
			json_null(json, "omitted");
		else
			json_address(json, "address", frame->address);
		if (UNWEAVE_STATE_IS_LINE(frame->state))
			json_number(json, "line", naming_line(frame->state));
		else if (frame->state)
			json_signed(json, "state", frame->state);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_details(struct json *json, const struct unweave_event *event,
			 const struct event_context *about)
{
	switch (event->kind) {
	case UNWEAVE_EVENT_CREATE:
	case UNWEAVE_EVENT_TASK:
		json_origin(json, event, about);
		break;
	case UNWEAVE_EVENT_COMPLETE:
		json_text(json, "status", name_status(event->value));
		break;
	case UNWEAVE_EVENT_WAKE:
		json_text(json, "source", name_source(event->value));
		if (event->other)
			json_number(json, "waker", event->other);
		break;
	case UNWEAVE_EVENT_UNWIND:
		json_number(json, "frames", event->value >> 1);
		json_bool(json, "handled", event->value & 1);
		break;
	case UNWEAVE_EVENT_APPEND:
	case UNWEAVE_EVENT_AWAIT:
		if (event->other)
			json_number(json, "awaiter", event->other);
		break;
	case UNWEAVE_EVENT_NAME:
		json_text(json, "name", event->text ? event->text : "");
		break;
	case UNWEAVE_EVENT_RESET:
		json_text(json, "reason", name_reset(event->value));
		break;
	case UNWEAVE_EVENT_DUE:
		json_number(json, "late_ns", event->value);
		break;
	case UNWEAVE_EVENT_LOST:
		json_number(json, "events", event->value);
		json_text(json, "cause", name_loss(event->other));
		break;
	default:
		break;
	}
}

void event_json(struct json *json, const struct unweave_event *event,
		const struct event_context *about)
{
	const struct reader_thread *thread = reader_thread(about->reader, event->thread);

	json_open(json, NULL, '{');
	json_number(json, "time", event->time);
	json_number(json, "thread", event->thread);
	if (thread && thread->tid)
		json_number(json, "tid", thread->tid);
	json_text(json, "kind", name_kind(event->kind));
	if (event->task)
		json_number(json, "task", event->task);
	if (about->label->text[0])
		json_text(json, "label", about->label->text);
	json_details(json, event, about);
	if (event->stack)
		event_json_stack(json, "stack", event->stack);
	if (event->flags & UNWEAVE_EVENT_LATE)
		json_bool(json, "late", true);
	if (event->flags & UNWEAVE_EVENT_ASIDE)
		json_bool(json, "aside", true);
	if (event->flags & UNWEAVE_EVENT_TIME_UNKNOWN)
		json_bool(json, "time_unknown", true);
	json_close(json, '}');
	json_line(json);
}

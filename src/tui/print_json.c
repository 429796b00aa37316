/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/print_json.h"

#include <string.h>

#include "tui/list.h"
#include "tui/view.h"
#include "tui/warning.h"
#include "view/json.h"

#define SHARE_DIGITS 6 /* of a cell's number, if it is a share */

static void put_number(struct json *json, const char *key, uint64_t number)
{
	if (number == WATCH_UNKNOWN)
		json_null(json, key);
	else
		json_number(json, key, number);
}

static void put_text(struct json *json, const char *key, const char *text)
{
	if (text && text[0])
		json_text(json, key, text);
	else
		json_null(json, key);
}

static void put_totals(struct json *json, const struct top *top)
{
	const struct watch_totals *totals = watch_totals(top->watch);

	put_text(json, "program", totals->program);
	put_number(json, "pid", totals->pid ? totals->pid : WATCH_UNKNOWN);
	json_number(json, "at_ns", totals->now - totals->first);
	json_bool(json, "ended", totals->over);
	put_text(json, "note", watch_note(top->watch));
	json_number(json, "tasks", totals->alive);
	json_open(json, "states", '{');
	for (int i = 0; i < WATCH_STATES; i++)
		json_number(json, watch_state_name((enum watch_state)i), totals->states[i]);
	json_close(json, '}');
	put_number(json, "new_per_s", top_rate(top, totals->created_now));
	put_number(json, "ended_per_s", top_rate(top, totals->ended_now));
	put_number(json, "runs_per_s", top_rate(top, totals->runs_now));
	json_number(json, "threads", totals->threads);
	put_number(json, "silent_threads",
		   totals->source == WATCH_EVENTS ? totals->silent : WATCH_UNKNOWN);
	put_number(json, "lost_events", totals->lost);
	put_number(json, "lost_tasks", totals->slotless);
}

/* Its title, or the word for what is only a mark. */
static const char *key_of(const struct column *column)
{
	return strcmp(column->title, "!") == 0 ? "warning" : column->title;
}

/* Marks for the eye are left out, and a dash is what is not there. */
static void put_words(struct json *json, const char *key, const char *text)
{
	if (strncmp(text, "! ", 2) == 0)
		text += 2;
	put_text(json, key, strcmp(text, "-") == 0 ? NULL : text);
}

static void put_row(struct json *json, struct top *top, const struct view *view, uint32_t item)
{
	json_open(json, NULL, '{');
	for (int i = 0; i < view->column_count; i++) {
		const char *key = key_of(&view->columns[i]);
		struct cell cell = {0};

		view->cell(top, item, i, &cell);
		if (cell.by_text)
			put_words(json, key, cell.text);
		else if (cell.share && cell.number != WATCH_UNKNOWN)
			json_fixed(json, key, cell.number, SHARE_DIGITS);
		else
			put_number(json, key, cell.number);
	}
	json_close(json, '}');
}

static int put_rows(struct json *json, struct top *top)
{
	const struct view *view = view_get(top->view);
	struct list *list = &top->lists[top->view];
	uint32_t rows = (uint32_t)top->options->rows;
	int r = view->fetch ? view->fetch(top, list, rows) : list_fetch(top, view, list, rows);

	if (r < 0)
		return r;
	json_text(json, "view", view->name);
	json_number(json, "row_count", list->total);
	json_open(json, "rows", '[');
	for (uint32_t i = 0; i < list->shown; i++)
		put_row(json, top, view, list->items[i]);
	json_close(json, ']');
	return 0;
}

static void put_warning(struct json *json, const struct watch_warning *warning)
{
	const struct lint_warning *lint = &warning->lint;
	char text[WARNING_TEXT];

	warning_sentence(warning, text);
	json_open(json, NULL, '{');
	json_text(json, "kind", lint_rule(lint->kind)->name);
	json_text(json, "text", text);
	put_text(json, "label", lint->label);
	json_number(json, "count", lint->count);
	json_number(json, "worst", lint->worst);
	json_number(json, "limit", lint->limit);
	put_text(json, "function", lint->function);
	put_text(json, "caller", lint->caller);
	put_text(json, "file", lint->file);
	put_number(json, "line", lint->file ? lint->line : WATCH_UNKNOWN);
	json_open(json, "tasks", '[');
	for (uint32_t i = 0; i < lint->task_count; i++)
		json_number(json, NULL, lint->tasks[i]);
	json_close(json, ']');
	json_close(json, '}');
}

int print_json(struct top *top, FILE *to)
{
	struct json json = {.to = to};
	int r;

	json_open(&json, NULL, '{');
	put_totals(&json, top);
	r = put_rows(&json, top);
	json_open(&json, "warnings", '[');
	for (uint32_t i = 0; i < watch_lint_count(top->lint); i++)
		put_warning(&json, watch_lint_at(top->lint, i));
	json_close(&json, ']');
	json_close(&json, '}');
	json_line(&json);
	return r;
}

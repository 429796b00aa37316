/* SPDX-License-Identifier: Apache-2.0 */
/* What looks wrong, the worst first; and of the selected one, what it means and where to look. */
#include <inttypes.h>

#include "tui/list.h"
#include "tui/view.h"
#include "tui/warning.h"
#include "view/naming.h"

#define STACK_SHOWN 6u
#define BELOW_ROWS 13 /* sentence and meaning, two or three lines each, and the stack */

enum { WARNING, TIMES, WORST, TASKS, WHERE, COLUMN_COUNT };

static const struct column columns[COLUMN_COUNT] = {
	[WARNING] = {"warning", 14, 14, 1, false, 1}, [TIMES] = {"times", 7, 7, 1, true, 1},
	[WORST] = {"worst", 8, 8, 2, true, 1},        [TASKS] = {"tasks", 14, 40, 1, false, 1},
	[WHERE] = {"where", 20, 80, 1, false, 1},
};

static uint32_t count(struct top *top)
{
	return watch_lint_count(top->lint);
}

/* It has none of its own: kind, site and place are one. */
static uint64_t id(struct top *top, uint32_t item)
{
	const struct watch_warning *warning = watch_lint_at(top->lint, item);

	return (uint64_t)warning->lint.kind << 60 ^ (uint64_t)warning->lint.site << 28 ^
	       (warning->stack_count ? warning->stack[0] : 0);
}

/* The worst first, as they come. */
static void kind_cell(const struct lint_warning *lint, uint32_t item, struct cell *ret)
{
	cell_text(ret, "! %s", lint_rule(lint->kind)->title);
	ret->style = STYLE_WARNING;
	ret->by_text = false;
	ret->number = item;
}

static void where_cell(const struct lint_warning *lint, struct cell *ret)
{
	const char *function = lint->caller ? lint->caller : lint->function;

	char place[2 * WATCH_TEXT];

	snprintf(place, sizeof(place), "%s", function ? function : "");
	if (lint->file)
		snprintf(place, sizeof(place), "%s %s:%" PRIu32, function ? function : "",
			 lint->file, lint->line);
	cell_place(ret, place);
}

static void cell(struct top *top, uint32_t item, int column, struct cell *ret)
{
	const struct lint_warning *lint = &watch_lint_at(top->lint, item)->lint;

	switch (column) {
	case WARNING:
		kind_cell(lint, item, ret);
		break;
	case TIMES:
		cell_count(ret, lint->count);
		break;
	case WORST:
		cell_text(ret, "%s", lint_limit_text(lint->kind, lint->worst).text);
		ret->by_text = false;
		ret->number = lint->worst;
		break;
	case TASKS:
		cell_text(ret, "%s", lint->label ? lint->label : "");
		break;
	case WHERE:
		where_cell(lint, ret);
		break;
	default:
		break;
	}
}

static int open_place(struct top *top, uint32_t item)
{
	const struct lint_warning *lint = &watch_lint_at(top->lint, item)->lint;

	if (lint->task_count)
		return top_open_task(top, lint->tasks[0]);
	top_open_site(top, lint->site);
	return 0;
}

static int below_rows(const struct top *top, int rows)
{
	return watch_lint_count(top->lint) && rows >= BELOW_ROWS + 4 ? BELOW_ROWS : 0;
}

static int draw_stack(struct top *top, const struct watch_warning *warning, int y)
{
	struct symbols *symbols = watch_symbols(top->watch);
	char name[WATCH_TEXT];

	if (warning->kernel[0])
		canvas_print(&top->canvas, y++, 2, STYLE_FAINT, "%s, in the kernel",
			     warning->kernel);
	for (uint32_t i = 0; symbols && i < warning->stack_count && i < STACK_SHOWN; i++) {
		naming_function(symbols, warning->stack[i], name, sizeof(name));
		canvas_text(&top->canvas, y++, 2, top->canvas.width - 2, STYLE_FAINT, name);
	}
	return y;
}

static int below(struct top *top, int y)
{
	const struct list *list = &top->lists[VIEW_WARNINGS];
	const struct watch_warning *warning;
	char text[WARNING_TEXT];
	int width = top->canvas.width;

	if (list->row - list->first >= list->shown)
		return y;
	warning = watch_lint_at(top->lint, list->items[list->row - list->first]);
	warning_sentence(warning, text);
	y += canvas_wrap(&top->canvas, y + 1, 0, width, STYLE_STRONG, text) + 1;
	y += canvas_wrap(&top->canvas, y, 0, width, STYLE_PLAIN,
			 lint_rule(warning->lint.kind)->meaning);
	return draw_stack(top, warning, y);
}

const struct view view_warnings = {
	.name = "warnings",
	.keys = "Enter its task",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.sort = WARNING,
	.ascending = true,
	.count = count,
	.id = id,
	.cell = cell,
	.open = open_place,
	.below_rows = below_rows,
	.below = below,
	.below_all = true,
	.empty = "nothing to warn of",
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tui/list.h"
#include "tui/term.h"
#include "tui/view.h"

static void list_names(char *to, size_t room, const char *name)
{
	size_t length = strlen(to);

	snprintf(to + length, room - length, "%s%s", length ? ", " : "", name);
}

int tui_check(const struct tui_options *options, struct diag *diag)
{
	enum view_id id = options->view ? view_find(options->view) : VIEW_TASKS;
	char names[sizeof(diag->hint)] = "";
	const struct view *view;

	if (id == VIEW_COUNT) {
		for (int i = 0; i < VIEW_COUNT; i++)
			list_names(names, sizeof(names), view_get((enum view_id)i)->name);
		diag_set(diag, -EINVAL, "there is no view '%s'", options->view);
		return diag_hint(diag, -EINVAL, "the views are %s", names);
	}
	view = view_get(id);
	if (options->json && (options->task || !view->columns))
		return diag_set(diag, -EINVAL, "the view task is not told as JSON");
	if (options->sort && view_column(view, options->sort) < 0) {
		for (int i = 0; i < view->column_count; i++)
			list_names(names, sizeof(names), view->columns[i].title);
		diag_set(diag, -EINVAL, "the view %s has no column '%s'", view->name,
			 options->sort);
		return view->columns ? diag_hint(diag, -EINVAL, "its columns are %s", names)
				     : -EINVAL;
	}
	return 0;
}

int top_init(struct top *top, struct watch *watch, struct watch_lint *lint,
	     const struct tui_options *options, struct diag *diag)
{
	int r = tui_check(options, diag);

	if (r < 0)
		return r;
	*top = (struct top){.watch = watch, .lint = lint, .options = options, .slider_y = -1};
	top->canvas.ascii = !term_locale();
	for (int i = 0; i < VIEW_COUNT; i++) {
		top->lists[i].sort = view_get((enum view_id)i)->sort;
		top->lists[i].ascending = view_get((enum view_id)i)->ascending;
	}
	if (options->view)
		top->view = view_find(options->view);
	if (options->sort) {
		int column = view_column(view_get(top->view), options->sort);

		top->lists[top->view].sort = column;
		top->lists[top->view].ascending = !view_get(top->view)->columns[column].to_right;
	}
	if (options->filter)
		snprintf(top->filter, sizeof(top->filter), "%s", options->filter);
	return options->task ? top_open_task(top, options->task) : 0;
}

void top_fini(struct top *top)
{
	for (int i = 0; i < VIEW_COUNT; i++)
		list_fini(&top->lists[i]);
	canvas_fini(&top->canvas);
	free(top->rows);
	top->rows = NULL;
}

int top_pass(struct top *top)
{
	int r = watch_pass(top->watch);

	if (r >= 0)
		watch_lint_pass(top->lint);
	return r;
}

int top_refresh(struct top *top)
{
	int r = watch_refresh(top->watch);

	return r < 0 ? r : watch_lint_refresh(top->lint);
}

int top_listen(struct top *top)
{
	bool listens = watch_totals(top->watch)->source == WATCH_EVENTS;
	int r;

	if (watch_totals(top->watch)->over)
		return 0;
	r = watch_listen(top->watch, listens ? WATCH_NO_EVENTS : WATCH_ALL_EVENTS);

	if (r == 0)
		r = watch_lint_renew(top->lint);
	return r < 0 ? r : top_refresh(top);
}

/* What fails for another reason than memory is no reason to end. */
static int forgive(struct top *top, int error, const char *why)
{
	if (error >= 0 || error == -ENOMEM)
		return error;
	snprintf(top->message, sizeof(top->message), "%s", why);
	return 0;
}

int top_seek(struct top *top, uint64_t time)
{
	struct diag diag = {0};
	int r = watch_seek(top->watch, time, &diag);

	top->reading = 0;
	top->goal = top->pending.kind == TERM_TIME ? 0 : time;
	return r < 0 ? forgive(top, r, diag.text) : watch_lint_refresh(top->lint);
}

void top_go(struct top *top, enum view_id view)
{
	if (view == top->view)
		return;
	top->back = top->view;
	top->view = view;
	top->scroll = 0;
}

int top_open_task(struct top *top, uint64_t task)
{
	int r = watch_choose(top->watch, task);

	top->reading = 0;
	if (r == 0)
		top_go(top, VIEW_TASK);
	return forgive(top, r, "the trace can no longer be read");
}

/* Other rows: those of before mean nothing there. */
static void start_over(struct top *top)
{
	struct list *list = &top->lists[VIEW_TASKS];

	list->hold = HOLD_ROW;
	list->row = list->first = 0;
	top->filter[0] = '\0';
}

void top_open_site(struct top *top, uint32_t site)
{
	top->query = (struct watch_query){.of_site = true, .site = site};
	start_over(top);
	top_go(top, VIEW_TASKS);
}

void top_open_children(struct top *top, uint64_t parent)
{
	top->query = (struct watch_query){.of_parent = true, .parent = parent};
	start_over(top);
	top_go(top, VIEW_TASKS);
}

bool top_is_trace(const struct top *top)
{
	return watch_totals(top->watch)->source == WATCH_TRACE;
}

uint64_t top_rate(const struct top *top, uint64_t count)
{
	uint64_t interval = watch_totals(top->watch)->interval;

	if (count == WATCH_UNKNOWN || !interval)
		return WATCH_UNKNOWN;
	return (uint64_t)((double)count * 1e9 / (double)interval + 0.5);
}

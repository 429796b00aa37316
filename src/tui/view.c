/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/view.h"

#include <stdarg.h>
#include <string.h>

#include "tui/figure.h"

static const struct view *const views[VIEW_COUNT] = {
	[VIEW_TASKS] = &view_tasks,     [VIEW_TASK] = &view_task,
	[VIEW_SITES] = &view_sites,     [VIEW_WAITS] = &view_waits,
	[VIEW_THREADS] = &view_threads, [VIEW_WARNINGS] = &view_warnings,
};

const struct view *view_get(enum view_id id)
{
	return views[id];
}

enum view_id view_find(const char *name)
{
	enum view_id id = 0;

	while (id < VIEW_COUNT && strcmp(views[id]->name, name) != 0)
		id++;
	return id;
}

int view_column(const struct view *view, const char *title)
{
	for (int i = 0; i < view->column_count; i++)
		if (strcmp(view->columns[i].title, title) == 0)
			return i;
	return -1;
}

void cell_span(struct cell *cell, uint64_t ns)
{
	snprintf(cell->text, sizeof(cell->text), "%s", figure_span(ns).text);
	cell->number = ns;
	if (ns == WATCH_UNKNOWN)
		cell->style = STYLE_FAINT;
}

void cell_count(struct cell *cell, uint64_t count)
{
	snprintf(cell->text, sizeof(cell->text), "%s", figure_count(count).text);
	cell->number = count;
	if (count == WATCH_UNKNOWN || count == 0)
		cell->style = STYLE_FAINT;
}

void cell_share(struct cell *cell, uint64_t part, uint64_t whole)
{
	bool known = part != WATCH_UNKNOWN && whole != WATCH_UNKNOWN && whole;

	snprintf(cell->text, sizeof(cell->text), "%s", figure_share(part, whole).text);
	cell->number = known ? (uint64_t)(1e6 * (double)part / (double)whole) : WATCH_UNKNOWN;
	cell->share = true;
	if (!known)
		cell->style = STYLE_FAINT;
}

void cell_text(struct cell *cell, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(cell->text, sizeof(cell->text), format, arguments);
	va_end(arguments);
	cell->by_text = true;
}

void cell_place(struct cell *cell, const char *place)
{
	const char *file = strrchr(place, ' ');
	const char *slash = strrchr(place, '/');

	if (file && slash && slash > file)
		cell_text(cell, "%.*s %s", (int)(file - place), place, slash + 1);
	else
		cell_text(cell, "%s", place);
	cell->tail = true;
}

enum style cell_state_style(enum watch_state state)
{
	switch (state) {
	case WATCH_RUNNING:
		return STYLE_RUNNING;
	case WATCH_QUEUED:
		return STYLE_QUEUED;
	case WATCH_UNTOLD:
	case WATCH_STILL:
	case WATCH_STANDING:
		return STYLE_FAINT;
	default:
		return STYLE_PLAIN;
	}
}

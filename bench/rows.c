/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

enum bound { AT_MOST, AT_LEAST, REPORTED };

/* Which figure is held against the budget. */
enum judged { BY_BEST, BY_MEDIAN };

struct row {
	const char *name;
	enum bound bound;
	double budget;
	enum judged judged;
	int decimals;
};

static const struct row rows[] = {
	{"emit.event.x_clock", AT_MOST, 1.20, BY_BEST, 2},
	{"emit.wake_from.x_clock", AT_MOST, 1.20, BY_BEST, 2},
	{"emit.stack8.x_clock", AT_MOST, 1.8, BY_BEST, 2},
	{"emit.stack32.x_clock", AT_MOST, 2.1, BY_BEST, 2},
	{"hook.off.ns", AT_MOST, 1.0, BY_BEST, 2},
	{"pair.samples.ns", AT_MOST, 3, BY_BEST, 2},
	{"pair.tasks.x_clock", AT_MOST, 2.6, BY_BEST, 2},
	{"pair.full8.x_clock", AT_MOST, 2.8, BY_BEST, 2},
	{"pair.loop.tasks.x_clock", REPORTED, 0, BY_BEST, 2},
	{"task.new_end.ns", AT_MOST, 5, BY_BEST, 2},
	{"task.new_end.x_clock", AT_MOST, 2.6, BY_BEST, 2},
	{"anchor.ns", AT_MOST, 5, BY_BEST, 2},
	{"dispatch.off.ns", REPORTED, 0, BY_BEST, 2},
	{"callback.off.ns", REPORTED, 0, BY_BEST, 2},
	{"callback.samples.ns", AT_MOST, 10, BY_BEST, 2},
	{"callback.tasks.ns", AT_MOST, 40, BY_BEST, 2},
	{"callback.fire.samples.ns", REPORTED, 0, BY_BEST, 2},
	{"callback.fire.tasks.ns", REPORTED, 0, BY_BEST, 2},
	{"loop.hot.least.x_2clock", REPORTED, 0, BY_MEDIAN, 2},
	{"loop.hot.floor.tasks.x_2clock", REPORTED, 0, BY_MEDIAN, 2},
	{"loop.hot.floor.full.x_2clock", REPORTED, 0, BY_MEDIAN, 2},
	{"loop.hot.tasks.x_2clock", AT_MOST, 0.8, BY_MEDIAN, 2},
	{"loop.hot.full.x_2clock", AT_MOST, 1.2, BY_MEDIAN, 2},
	{"loop.cold.least.x_2clock", REPORTED, 0, BY_MEDIAN, 2},
	{"loop.cold.floor.tasks.x_2clock", REPORTED, 0, BY_MEDIAN, 2},
	{"loop.cold.floor.full.x_2clock", REPORTED, 0, BY_MEDIAN, 2},
	{"loop.cold.tasks.x_2clock", AT_MOST, 0.8, BY_MEDIAN, 2},
	{"loop.cold.full.x_2clock", AT_MOST, 1.2, BY_MEDIAN, 2},
	{"loop.hot.machine.least.x_2clock", REPORTED, 0, BY_MEDIAN, 2},
	{"loop.hot.machine.floor.tasks.x_2clock", REPORTED, 0, BY_MEDIAN, 2},
	{"loop.hot.machine.floor.full.x_2clock", REPORTED, 0, BY_MEDIAN, 2},
	{"loop.hot.machine.tasks.x_2clock", AT_MOST, 0.8, BY_MEDIAN, 2},
	{"loop.hot.machine.full.x_2clock", AT_MOST, 1.2, BY_MEDIAN, 2},
	{"loop.cold.machine.least.x_2clock", REPORTED, 0, BY_MEDIAN, 2},
	{"loop.cold.machine.floor.tasks.x_2clock", REPORTED, 0, BY_MEDIAN, 2},
	{"loop.cold.machine.floor.full.x_2clock", REPORTED, 0, BY_MEDIAN, 2},
	{"loop.cold.machine.tasks.x_2clock", AT_MOST, 0.8, BY_MEDIAN, 2},
	{"loop.cold.machine.full.x_2clock", AT_MOST, 1.2, BY_MEDIAN, 2},
	{"overhead.1M.samples.pct", AT_MOST, 0.5, BY_MEDIAN, 2},
	{"overhead.1M.tasks.pct", AT_MOST, 2, BY_MEDIAN, 2},
	{"overhead.1M.full.pct", AT_MOST, 4, BY_MEDIAN, 2},
	{"overhead.1M.again.pct", REPORTED, 0, BY_MEDIAN, 2},
	{"overhead.1M.off.pct", REPORTED, 0, BY_MEDIAN, 2},
	{"overhead.1M.cold.samples.pct", AT_MOST, 1, BY_MEDIAN, 2},
	{"overhead.1M.cold.tasks.pct", AT_MOST, 3.5, BY_MEDIAN, 2},
	{"overhead.1M.cold.full.pct", AT_MOST, 7, BY_MEDIAN, 2},
	{"overhead.1M.cold.again.pct", REPORTED, 0, BY_MEDIAN, 2},
	{"overhead.1M.cold.off.pct", REPORTED, 0, BY_MEDIAN, 2},
	{"overhead.1M.machine.samples.pct", AT_MOST, 0.5, BY_MEDIAN, 2},
	{"overhead.1M.machine.tasks.pct", AT_MOST, 2, BY_MEDIAN, 2},
	{"overhead.1M.machine.full.pct", AT_MOST, 4, BY_MEDIAN, 2},
	{"overhead.1M.machine.again.pct", REPORTED, 0, BY_MEDIAN, 2},
	{"overhead.1M.machine.off.pct", REPORTED, 0, BY_MEDIAN, 2},
	{"overhead.1M.cold.machine.samples.pct", AT_MOST, 1, BY_MEDIAN, 2},
	{"overhead.1M.cold.machine.tasks.pct", AT_MOST, 3.5, BY_MEDIAN, 2},
	{"overhead.1M.cold.machine.full.pct", AT_MOST, 7, BY_MEDIAN, 2},
	{"overhead.1M.cold.machine.again.pct", REPORTED, 0, BY_MEDIAN, 2},
	{"overhead.1M.cold.machine.off.pct", REPORTED, 0, BY_MEDIAN, 2},
	{"overhead.100k.full.pct", AT_MOST, 1, BY_MEDIAN, 2},
	{"overhead.100k.again.pct", REPORTED, 0, BY_MEDIAN, 2},
	{"overhead.100k.off.pct", REPORTED, 0, BY_MEDIAN, 2},
	{"sample.x_empty", AT_MOST, 1.25, BY_MEDIAN, 2},
	{"sample.ns", REPORTED, 0, BY_BEST, 0},
	{"sample.server.99.pct", AT_MOST, 0.5, BY_MEDIAN, 2},
	{"bytes.pair.full8", AT_MOST, 7, BY_BEST, 2},
	{"bytes.pair.full8.zstd", AT_MOST, 5.5, BY_BEST, 2},
	{"loss.1M.full", AT_MOST, 0, BY_BEST, 0},
	{"decode.mevents_s", AT_LEAST, 90, BY_BEST, 1},
	{"report.40M.s", AT_MOST, 5, BY_BEST, 2},
	{"report.40M.mb", AT_MOST, 500, BY_BEST, 0},
	{"flame.40M.s", AT_MOST, 10, BY_BEST, 2},
	{"flame.40M.mb", AT_MOST, 500, BY_BEST, 0},
	{"drain.core.pct", AT_MOST, 10, BY_BEST, 1},
	{"vs.lttng.x", AT_LEAST, 7, BY_BEST, 1},
	{"vs.syscall.x", AT_LEAST, 18, BY_BEST, 1},
	{"ev.pair.tasks.ns", AT_MOST, 40, BY_BEST, 1},
	{"ev.pair.samples.ns", AT_MOST, 10, BY_BEST, 1},
	{"ev.pair.off.ns", REPORTED, 0, BY_BEST, 1},
	{"ev.iteration.ns", REPORTED, 0, BY_BEST, 1},
	{"uv.pair.tasks.ns", AT_MOST, 40, BY_BEST, 1},
	{"uv.pair.samples.ns", AT_MOST, 10, BY_BEST, 1},
	{"uv.pair.off.ns", REPORTED, 0, BY_BEST, 1},
	{"uv.iteration.ns", REPORTED, 0, BY_BEST, 1},
	{"glib.pair.tasks.ns", AT_MOST, 40, BY_BEST, 1},
	{"glib.pair.samples.ns", AT_MOST, 10, BY_BEST, 1},
	{"glib.pair.off.ns", REPORTED, 0, BY_BEST, 1},
	{"glib.iteration.ns", REPORTED, 0, BY_BEST, 1},
	{"top.refresh.ms", AT_MOST, 200, BY_MEDIAN, 0},
	{"top.refresh.table.ms", AT_MOST, 200, BY_MEDIAN, 0},
	{"top.attached.pct", AT_MOST, 1, BY_MEDIAN, 2},
	{"top.again.pct", REPORTED, 0, BY_MEDIAN, 2},
	{"top.table.pct", REPORTED, 0, BY_MEDIAN, 2},
	{"coro.mixin.off.ns", REPORTED, 0, BY_BEST, 1},
	{"coro.mixin.samples.ns", AT_MOST, 20, BY_BEST, 1},
	{"coro.mixin.tasks.ns", AT_MOST, 40, BY_BEST, 1},
	{"coro.mixin.full.ns", AT_MOST, 45, BY_BEST, 1},
	{"coro.shim.off.ns", REPORTED, 0, BY_BEST, 1},
	{"coro.shim.samples.ns", AT_MOST, 40, BY_BEST, 1},
	{"coro.shim.tasks.ns", AT_MOST, 60, BY_BEST, 1},
	{"coro.shim.full.ns", AT_MOST, 65, BY_BEST, 1},
	{"asio.handler.x_stock", AT_LEAST, 20, BY_BEST, 1},
	{"tree.1M.s", AT_MOST, 3, BY_MEDIAN, 2},
	{"tree.1M.json.s", AT_MOST, 3, BY_MEDIAN, 2},
	{"tree.1M.folded.s", AT_MOST, 3, BY_MEDIAN, 2},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

struct figure {
	bool wanted;
	bool measured;
	double best;
	double median;
	char note[160];
};
static struct figure *figures; /* one for each row; shared with the groups */

int rows_init(void)
{
	void *memory = mmap(NULL, ROWS * sizeof(*figures), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -ENOMEM;
	figures = memory;
	return 0;
}

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

void rows_select(char *const *names, int count)
{
	for (size_t i = 0; i < ROWS; i++) {
		figures[i].wanted = count == 0;
		for (int n = 0; n < count; n++)
			figures[i].wanted |= begins_with(rows[i].name, names[n]);
	}
}

bool rows_wanted(const char *prefix)
{
	for (size_t i = 0; i < ROWS; i++)
		if (figures[i].wanted && begins_with(rows[i].name, prefix))
			return true;
	return false;
}

static struct figure *figure_of(const char *name)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &figures[i];
	assert(!"a row of this name");
	return NULL;
}

void rows_set(const char *name, double best, double median)
{
	struct figure *figure = figure_of(name);

	figure->best = best;
	figure->median = median;
	figure->measured = true;
}

void rows_note(const char *name, const char *format, ...)
{
	struct figure *figure = figure_of(name);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(figure->note, sizeof(figure->note), format, arguments);
	va_end(arguments);
}

static bool is_met(const struct row *row, const struct figure *figure)
{
	double value = row->judged == BY_MEDIAN ? figure->median : figure->best;

	if (!figure->measured)
		return false;
	return row->bound == AT_LEAST ? value >= row->budget : value <= row->budget;
}

static const char *verdict(const struct row *row, const struct figure *figure, bool judge)
{
	if (!figure->measured)
		return "not measured";
	if (!judge || row->bound == REPORTED)
		return "";
	return is_met(row, figure) ? "ok" : "MISSED";
}

/* The figures of a row as text; the one that is judged has a mark. */
struct cells {
	char best[24], median[24], budget[24];
};

static struct cells cells_of(const struct row *row, const struct figure *figure)
{
	bool marked = row->bound != REPORTED;
	struct cells cells = {"-", "-", "-"};

	if (figure->measured) {
		snprintf(cells.best, sizeof(cells.best), "%.*f%s", row->decimals, figure->best,
			 marked && row->judged == BY_BEST ? "*" : " ");
		snprintf(cells.median, sizeof(cells.median), "%.*f%s", row->decimals,
			 figure->median, marked && row->judged == BY_MEDIAN ? "*" : " ");
	}
	if (marked)
		snprintf(cells.budget, sizeof(cells.budget), "%s %g",
			 row->bound == AT_LEAST ? ">=" : "<=", row->budget);
	return cells;
}

void rows_print(FILE *to, enum rows_form form, bool judge)
{
	const char *format = form == ROWS_MARKDOWN ? "| `%s` | %s | %s | %s | %s | %s |\n"
						   : "%-29s %9s %9s %9s  %-12s %s\n";

	fprintf(to, form == ROWS_MARKDOWN ? "| %s | %s | %s | %s | %s | %s |\n" : format, "name",
		"best", "median", "budget", "verdict", "");
	if (form == ROWS_MARKDOWN)
		fputs("|---|---:|---:|---:|---|---|\n", to);
	for (size_t i = 0; i < ROWS; i++) {
		struct cells cells = cells_of(&rows[i], &figures[i]);

		if (figures[i].wanted)
			fprintf(to, format, rows[i].name, cells.best, cells.median, cells.budget,
				verdict(&rows[i], &figures[i], judge), figures[i].note);
	}
}

static void print_number(FILE *to, const char *key, bool known, double value)
{
	if (known)
		fprintf(to, "\"%s\": %.6g, ", key, value);
	else
		fprintf(to, "\"%s\": null, ", key);
}

static void print_object(FILE *to, const struct row *row, const struct figure *figure, bool judge)
{
	fprintf(to, "\t\"%s\": {", row->name);
	print_number(to, "best", figure->measured, figure->best);
	print_number(to, "median", figure->measured, figure->median);
	print_number(to, "budget", row->bound != REPORTED, row->budget);
	if (!judge || row->bound == REPORTED)
		fputs("\"ok\": null}", to);
	else
		fprintf(to, "\"ok\": %s}", is_met(row, figure) ? "true" : "false");
}

int rows_write_json(const char *path, bool judge)
{
	FILE *to = fopen(path, "we");
	const char *between = "";
	bool failed;

	if (!to)
		return -errno;
	fputs("{\n", to);
	for (size_t i = 0; i < ROWS; i++) {
		if (!figures[i].wanted)
			continue;
		fputs(between, to);
		print_object(to, &rows[i], &figures[i], judge);
		between = ",\n";
	}
	fputs("\n}\n", to);
	failed = ferror(to);
	return fclose(to) != 0 || failed ? -EIO : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/warning.h"

void warning_cell(uint32_t warnings, struct cell *ret)
{
	size_t length = 0;

	ret->style = STYLE_WARNING;
	ret->by_text = true;
	for (unsigned kind = 0; kind < LINT_KINDS && length < sizeof(ret->text); kind++)
		if (warnings & 1u << kind)
			length += (size_t)snprintf(ret->text + length, sizeof(ret->text) - length,
						   "%s%s", length ? ", " : "! ",
						   lint_rule((enum lint_kind)kind)->title);
}

void warning_sentence(const struct watch_warning *warning, char to[WARNING_TEXT])
{
	FILE *text = fmemopen(to, WARNING_TEXT, "w");

	to[0] = '\0';
	if (!text)
		return;
	lint_say(text, &warning->lint);
	fclose(text);
	to[WARNING_TEXT - 1] = '\0';
}

static bool names(const struct watch_warning *warning, uint64_t task)
{
	for (uint32_t i = 0; i < warning->lint.task_count; i++)
		if (warning->lint.tasks[i] == task)
			return true;
	return false;
}

int warning_lines(struct top *top, uint64_t task, int y, int x, int width)
{
	for (uint32_t i = 0; i < watch_lint_count(top->lint); i++) {
		const struct watch_warning *warning = watch_lint_at(top->lint, i);
		char text[WARNING_TEXT];

		if (!names(warning, task))
			continue;
		canvas_text(&top->canvas, y, x, 2, STYLE_WARNING, "!");
		warning_sentence(warning, text);
		y += canvas_wrap(&top->canvas, y, x + 2, width - 2, STYLE_WARNING, text);
	}
	return y;
}

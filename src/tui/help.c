/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/help.h"

#define KEY_WIDTH 16
#define WORD_WIDTH 11
#define MIDDLE 43 /* where the second half begins, if there is room for two */

struct entry {
	const char *key; /* NULL: `text` is a title */
	const char *text;
};

static const struct entry keys[] = {
	{NULL, "Views"},
	{"1 … 6, Tab", "tasks, task, sites, …"},
	{"Enter", "open what is selected"},
	{"Escape", "back; all tasks again"},
	{"q", "quit"},
	{NULL, "Rows"},
	{"Up Down j k", "select"},
	{"PgUp PgDn g G", "a page, first, last"},
	{"Left Right", "sort by another column"},
	{"r", "reverse the order"},
	{"/", "filter: part of a text"},
	{"b", "group tasks: site, parent"},
	{"mouse", "titles sort, rows open"},
	{NULL, "Time"},
	{"Space", "pause; a trace: play"},
	{"e", "take events, or do without"},
	{", . < >", "a trace: 1 %, 10 %"},
};

static const struct entry words[] = {
	{NULL, "Words"},
	{"for", "in this state"},
	{"age", "since it was created"},
	{"busy", "ran, in all"},
	{"queued", "could run, and did not"},
	{"waited", "nothing had woken it"},
	{"runs", "stretches that it ran"},
	{"wakes", "waits that ended"},
	{"self", "of them by itself"},
	{"site", "where tasks are created"},
	{"lag", "ready until called"},
	{"standing", "there to be called"},
	{"idle", "known not to run"},
	{"-", "not known"},
	{"!", "see the warnings"},
};

static int draw(struct canvas *canvas, int y, int x, const struct entry *entries, int count,
		int key_width)
{
	for (int i = 0; i < count; i++, y++) {
		if (!entries[i].key) {
			canvas_text(canvas, y, x, canvas->width - x, STYLE_STRONG, entries[i].text);
			continue;
		}
		canvas_text(canvas, y, x + 2, key_width - 2, STYLE_PLAIN, entries[i].key);
		canvas_text(canvas, y, x + key_width, canvas->width - x - key_width, STYLE_FAINT,
			    entries[i].text);
	}
	return y;
}

void help_draw(struct canvas *canvas)
{
	int first = (int)(sizeof(keys) / sizeof(keys[0]));
	int second = (int)(sizeof(words) / sizeof(words[0]));
	int y = 2;

	canvas_clear(canvas);
	canvas_text(canvas, 0, 0, canvas->width, STYLE_STRONG, "unweave top: any key leads back");
	y = draw(canvas, y, 0, keys, first, KEY_WIDTH);
	if (canvas->width >= MIDDLE + WORD_WIDTH + 24)
		draw(canvas, 2, MIDDLE, words, second, WORD_WIDTH);
	else
		draw(canvas, y + 1, 0, words, second, KEY_WIDTH);
}

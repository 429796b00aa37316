/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `top` that need no terminal: what fits, how figures read, what text may do. */
#include <locale.h>
#include <math.h>

#include "check.h"
#include "tui/bars.h"
#include "tui/canvas.h"
#include "tui/columns.h"
#include "tui/figure.h"
#include "tui/glyph.h"
#include "tui/list.h"
#include "tui/palette.h"
#include "tui/tui.h"
#include "watch_trace.h"

/* The only line of a canvas of this width, after `text` was drawn there. */
static const char *drawn(int width, bool ascii, const char *text,
			 int (*draw)(struct canvas *, int, int, int, enum style, const char *))
{
	static char line[256];
	struct canvas canvas = {.ascii = ascii};
	FILE *to = fmemopen(line, sizeof(line), "w");

	memset(line, 0, sizeof(line));
	CHECK_EQ(canvas_resize(&canvas, width, 1), 0);
	draw(&canvas, 0, 0, width, STYLE_PLAIN, text);
	canvas_write(&canvas, 1, to);
	fclose(to);
	canvas_fini(&canvas);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static void text_that_a_terminal_would_obey_is_spelled_out(void)
{
	CHECK_STR_EQ(drawn(40, false, "a\033[2Jb", canvas_text), "a\\x1b[2Jb");
	CHECK_STR_EQ(drawn(40, false, "a\nb\tc\x7f", canvas_text), "a\\x0ab\\x09c\\x7f");
	/* CSI as one character, and bytes that are no UTF-8. */
	CHECK_STR_EQ(drawn(40, false, "\xc2\x9b", canvas_text), "\\x9b");
	CHECK_STR_EQ(drawn(40, false, "\xff\xc3", canvas_text), "\\xff\\xc3");
}

static void what_turns_the_direction_of_text_is_left_out(void)
{
	CHECK_STR_EQ(drawn(40, false,
			   "a\xe2\x80\xae"
			   "b\xe2\x81\xa6"
			   "c\xef\xbb\xbf",
			   canvas_text),
		     "abc");
}

static void text_too_long_ends_in_an_ellipsis(void)
{
	CHECK_STR_EQ(drawn(5, false, "abcde", canvas_text), "abcde");
	CHECK_STR_EQ(drawn(5, false, "abcdef", canvas_text), "abcd…");
	CHECK_STR_EQ(drawn(5, false, "abcdef", canvas_tail), "…cdef");
	CHECK_STR_EQ(drawn(5, false, "ab", canvas_right), "   ab");
	CHECK_STR_EQ(drawn(1, false, "! run", canvas_text), "!");
	/* Two columns each: a half is not shown. */
	CHECK_STR_EQ(drawn(4, false, "日本語", canvas_text), "日…");
	CHECK_STR_EQ(drawn(6, false, "日本語", canvas_text), "日本語");
}

static void long_text_is_broken_between_words(void)
{
	struct canvas canvas = {0};

	CHECK_EQ(canvas_resize(&canvas, 10, 6), 0);
	CHECK_EQ(canvas_wrap(&canvas, 0, 0, 10, STYLE_PLAIN, "one two three incomprehensibly 4"),
		 4);
	CHECK_EQ(canvas_at(&canvas, 1, 0)->glyph, 't');
	CHECK_EQ(canvas_at(&canvas, 1, 6)->glyph, ' ');
	CHECK_EQ(canvas_at(&canvas, 2, 9)->glyph, 'e');
	CHECK_EQ(canvas_at(&canvas, 3, 0)->glyph, 'n');
	CHECK_EQ(canvas_wrap(&canvas, 0, 0, 0, STYLE_PLAIN, "no room"), 0);
	CHECK_EQ(canvas_wrap(&canvas, 0, 0, 10, STYLE_PLAIN, ""), 0);
	canvas_fini(&canvas);
}

/* Each line is as wide as it may be, and no column is without a character of its own. */
static void wide_and_odd_text_is_broken_by_its_columns(void)
{
	struct canvas canvas = {0};

	CHECK_EQ(canvas_resize(&canvas, 4, 6), 0);
	CHECK_EQ(canvas_wrap(&canvas, 0, 0, 4, STYLE_PLAIN, "日本語日本"), 3);
	CHECK_EQ(canvas_at(&canvas, 0, 2)->glyph, 0x672c);
	CHECK_EQ(canvas_at(&canvas, 2, 0)->glyph, 0x672c);
	CHECK_EQ(canvas_wrap(&canvas, 3, 0, 4, STYLE_PLAIN, "a\033b"), 3);
	CHECK_EQ(canvas_at(&canvas, 4, 3)->glyph, 'b');
	/* Where not one fits, it goes on all the same. */
	CHECK_EQ(canvas_wrap(&canvas, 0, 0, 1, STYLE_PLAIN, "日\033\033日"), 4);
	CHECK_EQ(canvas_wrap(&canvas, 0, 0, 1, STYLE_PLAIN, "\xe2\x80\xae"), 1);
	canvas_fini(&canvas);
}

/* How many columns a terminal takes for a line. */
static int columns_of(const struct canvas *canvas, int y)
{
	int columns = 0;

	for (int x = 0; x < canvas->width; x++) {
		uint32_t glyph = canvas_at(canvas, y, x)->glyph;

		columns += !glyph ? 0 : glyph >= 0x3000 ? 2 : 1;
	}
	return columns;
}

static void half_of_what_is_wide_is_never_left(void)
{
	struct canvas canvas = {0};

	CHECK_EQ(canvas_resize(&canvas, 6, 1), 0);
	for (int x = -2; x < 7; x++) {
		canvas_clear(&canvas);
		canvas_text(&canvas, 0, x, 10, STYLE_PLAIN, "日本語");
		CHECK_EQ(columns_of(&canvas, 0), 6);
		for (int over = 0; over < 6; over++) {
			canvas_text(&canvas, 0, over, 10, STYLE_PLAIN, "x");
			CHECK_EQ(columns_of(&canvas, 0), 6);
			canvas_text(&canvas, 0, 5 - over, 2, STYLE_PLAIN, "語");
			CHECK_EQ(columns_of(&canvas, 0), 6);
		}
	}
	canvas_fini(&canvas);
}

static void without_utf8_everything_is_ascii(void)
{
	CHECK_STR_EQ(drawn(20, true, "1.5 µs ▼ é 日", canvas_text), "1.5 us v ? ?");
	CHECK_STR_EQ(drawn(4, true, "abcdef", canvas_text), "abc~");
}

static void what_lies_outside_is_cut_off(void)
{
	struct canvas canvas = {0};

	CHECK_EQ(canvas_resize(&canvas, 4, 2), 0);
	canvas_text(&canvas, 5, 0, 10, STYLE_PLAIN, "below");
	canvas_text(&canvas, -1, 0, 10, STYLE_PLAIN, "above");
	canvas_text(&canvas, 0, 2, 10, STYLE_PLAIN, "right");
	canvas_restyle(&canvas, 0, -3, 100, STYLE_HEAD);
	canvas_clip(&canvas, 1, 2);
	canvas_text(&canvas, 0, 0, 2, STYLE_PLAIN, "no");
	CHECK_EQ(canvas_at(&canvas, 0, 0)->glyph, ' ');
	CHECK_EQ(canvas_at(&canvas, 0, 2)->glyph, 'r');
	CHECK_EQ(canvas_at(&canvas, 0, 3)->glyph, 'i');
	CHECK_EQ(canvas_at(&canvas, 1, 0)->glyph, ' ');
	canvas_fini(&canvas);
}

static void any_bytes_can_be_drawn(void)
{
	uint32_t random = 1;

	for (int i = 0; i < 20000; i++) {
		char text[24];
		int width = i % 30;

		for (size_t j = 0; j < sizeof(text) - 1; j++) {
			random = random * 1664525 + 1013904223;
			text[j] = (char)(random >> 24);
		}
		text[sizeof(text) - 1] = '\0';
		for (const char *at = drawn(width, i % 2, text, i % 3 ? canvas_text : canvas_tail);
		     *at; at++)
			CHECK((unsigned char)*at >= ' ' && *at != 0x7f);
	}
}

static void figures_are_short_and_unknown_ones_a_dash(void)
{
	CHECK_STR_EQ(figure_span(0).text, "0 ns");
	CHECK_STR_EQ(figure_span(999).text, "999 ns");
	CHECK_STR_EQ(figure_span(1234).text, "1.23 µs");
	CHECK_STR_EQ(figure_span(999499).text, "999 µs");
	CHECK_STR_EQ(figure_span(999500).text, "1.00 ms");
	CHECK_STR_EQ(figure_span(12345678).text, "12.3 ms");
	CHECK_STR_EQ(figure_span(59949999999).text, "59.9 s");
	CHECK_STR_EQ(figure_span(59950000000).text, "1m 00s");
	CHECK_STR_EQ(figure_span(UINT64_C(3599600000000)).text, "1h 00m");
	CHECK_STR_EQ(figure_span(UINT64_C(90000000000000)).text, "1d 01h");
	CHECK_STR_EQ(figure_span(FIGURE_UNKNOWN).text, "-");
	CHECK_STR_EQ(figure_count(0).text, "0");
	CHECK_STR_EQ(figure_count(1234).text, "1,234");
	CHECK_STR_EQ(figure_count(999999).text, "999,999");
	CHECK_STR_EQ(figure_count(1000000).text, "1.00 M");
	CHECK_STR_EQ(figure_count(FIGURE_UNKNOWN).text, "-");
	CHECK_STR_EQ(figure_share(0, 10).text, "0 %");
	CHECK_STR_EQ(figure_share(1, 1000).text, "<1 %");
	CHECK_STR_EQ(figure_share(9999, 10000).text, "99 %");
	CHECK_STR_EQ(figure_share(10, 10).text, "100 %");
	CHECK_STR_EQ(figure_share(1, 0).text, "-");
	CHECK_STR_EQ(figure_share(FIGURE_UNKNOWN, 10).text, "-");
}

static void no_figure_is_wider_than_its_column(void)
{
	for (uint64_t value = 1; value < UINT64_C(1) << 59; value = value * 11 / 8 + 1) {
		CHECK(canvas_width(figure_span(value).text) <= FIGURE_WIDTH);
		CHECK(value > UINT64_C(900000000000000) ||
		      canvas_width(figure_count(value).text) <= FIGURE_WIDTH);
	}
}

static const struct column columns[] = {
	{"task", 10, 10, 2, true, 1},
	{"name", 10, 30, 1, false, 1},
	{"site", 10, 50, 4, false, 1},
	{"busy", 7, 7, 3, true, 1},
};

static void columns_leave_by_their_rank(void)
{
	struct place places[4];

	columns_fit(columns, 4, 40, places);
	for (int i = 0; i < 4; i++)
		CHECK(places[i].width >= columns[i].least);
	columns_fit(columns, 4, 39, places);
	CHECK_EQ(places[2].width, 0);
	CHECK_EQ(places[3].width, 7);
	CHECK_EQ(places[3].x, places[1].x + places[1].width + 1);
	columns_fit(columns, 4, 22, places);
	CHECK_EQ(places[3].width, 0);
	CHECK_EQ(places[0].width, 10);
	columns_fit(columns, 4, 5, places);
	CHECK_EQ(places[0].width, 0);
	CHECK_EQ(places[1].width, 10);
}

static void columns_never_overlap_nor_leave_the_line(void)
{
	for (int room = 10; room < 300; room++) {
		struct place places[4];
		int end = -1;

		columns_fit(columns, 4, room, places);
		for (int i = 0; i < 4; i++) {
			if (!places[i].width)
				continue;
			CHECK(places[i].x == end + 1);
			CHECK(places[i].width >= columns[i].least);
			CHECK(places[i].width <= columns[i].most);
			end = places[i].x + places[i].width;
			CHECK_EQ(columns_find(places, 4, places[i].x), i);
			CHECK_EQ(columns_find(places, 4, end - 1), i);
		}
		CHECK(end <= room);
	}
}

static void room_that_is_left_is_shared(void)
{
	struct place places[4];

	columns_fit(columns, 4, 60, places);
	CHECK_EQ(places[1].width, 20);
	CHECK_EQ(places[2].width, 20);
	columns_fit(columns, 4, 1000, places);
	CHECK_EQ(places[1].width, 30);
	CHECK_EQ(places[2].width, 50);
}

static void a_histogram_keeps_every_value(void)
{
	struct histogram histogram = {0};
	uint64_t columns_of[BARS_MOST], sum = 0;
	int used;

	CHECK_EQ(bars_spread(&histogram, 40, columns_of), 0);
	for (uint64_t value = 1; value < 5000000; value = value * 5 / 4 + 1)
		histogram_add(&histogram, value);
	used = bars_spread(&histogram, 40, columns_of);
	CHECK_EQ(used, 40);
	for (int i = 0; i < used; i++)
		sum += columns_of[i];
	CHECK_EQ(sum, histogram.count);
	CHECK(columns_of[0] > 0 && columns_of[used - 1] > 0);
}

static void a_rare_long_run_shows(void)
{
	struct histogram histogram = {0};
	struct canvas canvas = {0};

	CHECK_EQ(canvas_resize(&canvas, 40, BARS_ROWS), 0);
	for (int i = 0; i < 100000; i++)
		histogram_add(&histogram, 1000);
	histogram_add(&histogram, 1000000000);
	bars_draw(&canvas, 0, 0, 40, "runs", &histogram);
	CHECK_EQ(canvas_at(&canvas, BARS_ROWS - 2, 39)->glyph, 0x2581);
	CHECK_EQ(canvas_at(&canvas, BARS_ROWS - 2, 0)->glyph, 0x2588);
	CHECK_EQ(canvas_at(&canvas, BARS_ROWS - 2, 20)->glyph, ' ');
	canvas_fini(&canvas);
}

/* Luminance of a colour of xterm's cube, and contrast, as the WCAG defines them. */
static double channel(int step)
{
	static const int values[] = {0, 95, 135, 175, 215, 255};
	double value = values[step] / 255.0;

	return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

static void colours_can_be_read_on_black_and_on_white(void)
{
	int seen = 0;

	for (int style = 0; style < STYLE_COUNT; style++) {
		const struct palette_look *look = palette_look((enum style)style);
		int cube = look->of_256 - 16;
		double light;

		if (!look->colour)
			continue;
		seen++;
		CHECK(cube >= 0 && cube < 216);
		light = 0.2126 * channel(cube / 36) + 0.7152 * channel(cube / 6 % 6) +
			0.0722 * channel(cube % 6);
		CHECK((light + 0.05) / 0.05 >= 3.8);
		CHECK(1.05 / (light + 0.05) >= 3.8);
	}
	CHECK(seen >= 4);
}

static void a_list_scrolls_with_its_selection(void)
{
	struct list list = {.total = 100};

	list_move_to(&list, 50);
	list_scroll(&list, 10);
	CHECK_EQ(list.first, 41);
	list_move(&list, -20);
	list_scroll(&list, 10);
	CHECK_EQ(list.first, 30);
	list_move(&list, INT32_MAX);
	list_scroll(&list, 10);
	CHECK_EQ(list.row, 99);
	CHECK_EQ(list.first, 90);
	list_move(&list, -INT32_MAX);
	CHECK_EQ(list.row, 0);
	/* Rows went away under it. */
	list.row = 99;
	list.first = 90;
	list.total = 5;
	list_scroll(&list, 10);
	CHECK_EQ(list.row, 4);
	CHECK_EQ(list.first, 0);
	list.total = 0;
	list_scroll(&list, 10);
	CHECK_EQ(list.row, 0);
}

static void a_filter_is_part_of_a_text_in_any_case(void)
{
	CHECK(list_matches("Load_User", "load"));
	CHECK(list_matches("anything", ""));
	CHECK(!list_matches("load", "user"));
}

/* A task that waits in so many frames. */
static void make_deep(unsigned frames)
{
	struct unweave_event wait = {.kind = SUSPEND, .time = 20 * MS, .task = 16};
	struct encoder *one;

	begin_trace();
	one = maker_stream(&maker, 1, false, 0);
	put(one, UNWEAVE_EVENT_RESET, 10 * MS, 0);
	put_full(one, CREATE, 10 * MS, 16, 0, 1, 0);
	put(one, RESUME, 11 * MS, 16);
	for (unsigned i = 0; i < frames; i++)
		wait.stack = stacks_push(maker.stacks, wait.stack, 0x1000 + 16 * i, 0,
					 UNWEAVE_FRAME_CODE);
	maker_put(one, wait);
	open_watch();
}

static void a_chain_of_any_length_is_printed(void)
{
	struct tui_options options = {.view = "task", .task = 16, .times = 1, .rows = 50};
	struct watch_lint *lint = NULL;
	struct lint_limits limits;
	char *text = NULL;
	size_t length;
	FILE *to = open_memstream(&text, &length);

	make_deep(300);
	lint_limits_init(&limits);
	maker_must(watch_lint_new(&lint, watch, &limits, maker_path(), &diag));
	CHECK_EQ(tui_print(watch, lint, &options, to, &diag), 0);
	fclose(to);
	CHECK(strstr(text, "0x1000") && strstr(text, "0x22b0"));
	free(text);
	watch_lint_free(lint);
	close_watch();
}

int main(void)
{
	/* As a terminal of today has it. */
	setlocale(LC_CTYPE, "C.UTF-8");
	RUN(text_that_a_terminal_would_obey_is_spelled_out);
	RUN(what_turns_the_direction_of_text_is_left_out);
	RUN(text_too_long_ends_in_an_ellipsis);
	RUN(long_text_is_broken_between_words);
	RUN(wide_and_odd_text_is_broken_by_its_columns);
	RUN(half_of_what_is_wide_is_never_left);
	RUN(without_utf8_everything_is_ascii);
	RUN(what_lies_outside_is_cut_off);
	RUN(any_bytes_can_be_drawn);
	RUN(figures_are_short_and_unknown_ones_a_dash);
	RUN(no_figure_is_wider_than_its_column);
	RUN(columns_leave_by_their_rank);
	RUN(columns_never_overlap_nor_leave_the_line);
	RUN(room_that_is_left_is_shared);
	RUN(a_histogram_keeps_every_value);
	RUN(a_rare_long_run_shows);
	RUN(colours_can_be_read_on_black_and_on_white);
	RUN(a_list_scrolls_with_its_selection);
	RUN(a_filter_is_part_of_a_text_in_any_case);
	RUN(a_chain_of_any_length_is_printed);
	return check_done();
}

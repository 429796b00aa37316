/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "flames.h"
#include "view/flame.h"
#include "view/markup.h"

static const struct model_totals totals = {
	.first = 1000000000,
	.last = 3500000000,
	.tasks = 7,
	.samples = 12,
	.lost = 12,
	.outcomes = {[SPLICE_NO_TASK] = 2, [SPLICE_EXACT] = 9, [SPLICE_CUT] = 1},
};

static const struct flame_caption caption = {
	.title = "a <title> & \"more\"",
	.traces = {"run.unw", "other.unw"},
	.totals = {&totals, &totals},
};

static struct flame *new_flame(void)
{
	struct flame *flame = NULL;

	CHECK_EQ(flame_new(&flame), 0);
	return flame;
}

/* What a writer writes; to be freed. */
static char *written(const struct flame *flame, const struct flame_caption *with,
		     int (*write)(const struct flame *, const struct flame_caption *, FILE *))
{
	char *text = NULL;
	size_t length;
	FILE *to = open_memstream(&text, &length);

	CHECK_EQ(write(flame, with, to), 0);
	fclose(to);
	return text;
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

static void totals_are_own_time_and_that_of_all_children(void)
{
	struct flame *flame = new_flame();

	flames_add(flame, FLAME_THIS, "A serve;R load;N hash", PROFILE_CPU, 30);
	flames_add(flame, FLAME_THIS, "A serve;R load", PROFILE_CPU, 5);
	flames_add(flame, FLAME_THIS, "A serve;- [waiting]", PROFILE_WAIT, 70);
	flames_add(flame, FLAME_THIS, "A serve;- [queued]", PROFILE_QUEUED, 7);
	CHECK_EQ(flame_finish(flame, FLAME_CPU, 0), 0);
	CHECK_EQ(flame_count(flame), 6);
	for (uint32_t node = 0; node < flame_count(flame); node++) {
		const struct flame_values *values = flame_values(flame, node, FLAME_THIS);
		uint64_t sum = flame_self(values, FLAME_WAIT);

		for (uint32_t i = 1; i < flame_count(flame); i++)
			if (flame_at(flame, i)->parent == node)
				sum += flame_total(flame_values(flame, i, FLAME_THIS), FLAME_WAIT);
		CHECK_EQ(flame_total(values, FLAME_WAIT), sum);
	}
	CHECK_EQ(flame_total(flame_values(flame, 0, FLAME_THIS), FLAME_CPU), 35 * FLAMES_MS);
	CHECK_EQ(flame_total(flame_values(flame, 0, FLAME_THIS), FLAME_WAIT), 77 * FLAMES_MS);
	CHECK_EQ(flame_total(flame_values(flame, 0, FLAME_THIS), FLAME_WALL), 0);
	flame_free(flame);
}

static void equal_frames_of_one_parent_are_one(void)
{
	struct flame *flame = new_flame();

	flames_add(flame, FLAME_THIS, "N a;N b", PROFILE_CPU, 1);
	flames_add(flame, FLAME_THIS, "N a;N b", PROFILE_CPU, 2);
	flames_add(flame, FLAME_THIS, "N a;A b", PROFILE_CPU, 4); /* another kind */
	flames_add(flame, FLAME_OTHER, "N a;N b", PROFILE_CPU, 8);
	CHECK(flame_is_comparison(flame));
	CHECK_EQ(flame_finish(flame, FLAME_CPU, 0), 0);
	CHECK_EQ(flame_count(flame), 4);
	CHECK_EQ(flame_values(flame, 2, FLAME_THIS)->self[PROFILE_CPU], 3 * FLAMES_MS);
	CHECK_EQ(flame_values(flame, 2, FLAME_THIS)->count[PROFILE_CPU], 3);
	CHECK_EQ(flame_values(flame, 2, FLAME_OTHER)->self[PROFILE_CPU], 8 * FLAMES_MS);
	CHECK_EQ(flame_values(flame, 3, FLAME_OTHER)->self[PROFILE_CPU], 0);
	flame_free(flame);
}

static void the_walk_visits_each_frame_once_and_the_larger_first(void)
{
	static const char *const order[] = {"a", "y", "x", "b"};
	struct flame *flame = new_flame();
	uint32_t node = 0;

	flames_add(flame, FLAME_THIS, "N b", PROFILE_CPU, 3);
	flames_add(flame, FLAME_THIS, "N a;N x", PROFILE_CPU, 1);
	flames_add(flame, FLAME_THIS, "N a;N y", PROFILE_CPU, 4);
	CHECK_EQ(flame_finish(flame, FLAME_CPU, 0), 0);
	for (size_t i = 0; i < 4; i++) {
		const struct flame_name *name;

		node = flame_next(flame, node);
		name = flame_name(flame, flame_at(flame, node)->name);
		CHECK_STR_EQ(flame_string(flame, name->function), order[i]);
	}
	CHECK_EQ(flame_next(flame, node), 0);
	flame_free(flame);
}

static void too_many_frames_leave_the_largest_and_the_sums(void)
{
	struct flame *flame = new_flame();
	char path[64];

	for (int i = 0; i < 50; i++) {
		snprintf(path, sizeof(path), "N a;N b%d;N c%d", i % 5, i);
		flames_add(flame, FLAME_THIS, path, PROFILE_CPU, (uint64_t)i + 1);
		flames_task(flame, path, PROFILE_CPU, (uint64_t)i + 1, "job", (uint64_t)i + 1);
	}
	CHECK_EQ(flame_finish(flame, FLAME_CPU, 20), 0);
	CHECK_EQ(flame_count(flame), 20);
	CHECK_EQ(flame_folded(flame), 57 - 20);
	CHECK_EQ(flame_total(flame_values(flame, 0, FLAME_THIS), FLAME_CPU), 1275 * FLAMES_MS);
	for (uint32_t node = 1; node < flame_count(flame); node++)
		CHECK(flame_at(flame, node)->parent < node);
	for (uint32_t i = 0; i < flame_share_count(flame); i++)
		CHECK(flame_share(flame, i)->node < flame_count(flame));
	flame_free(flame);
}

static void frames_of_one_weight_fill_the_room_there_is(void)
{
	struct flame *flame = new_flame();
	char path[64];

	for (int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "N a%d", i);
		flames_add(flame, FLAME_THIS, path, PROFILE_CPU, 1);
	}
	CHECK_EQ(flame_finish(flame, FLAME_CPU, 40), 0);
	CHECK_EQ(flame_count(flame), 40);
	CHECK_EQ(flame_values(flame, 0, FLAME_THIS)->self[PROFILE_CPU], 61 * FLAMES_MS);
	flame_free(flame);
}

static void coverage_is_of_samples_inside_of_tasks(void)
{
	struct model_totals none = {.outcomes = {[SPLICE_NO_TASK] = 5}};

	CHECK_EQ(flame_coverage(&totals) * 1000, 900);
	CHECK(flame_coverage(&none) < 0);
}

static void add_hostile(struct flame *flame)
{
	static const char *const names[] = {
		"</script><b>",  "\"'&",         "\xff\xc0\x80\xed\xa0\x80",
		"a\x01\x1b\x7f", "\xef\xbf\xbe", "@META@@NODES@"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct profile_name name = {
			.function = names[i], .module = names[i], .file = names[i], .line = 1};
		uint32_t node = flame_add_child(flame, 0, flame_add_name(flame, &name));

		flame_add_self(flame, node, FLAME_THIS, PROFILE_CPU, 1000, 1);
		flame_add_task(flame, node, PROFILE_CPU, &(struct profile_task){i, names[i], 1000});
	}
}

/* Valid UTF-8, and no control but line ends and tabs. */
static bool is_clean(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') ||
		    *text == '\xff' || *text == 0x7f)
			return false;
	return true;
}

static void names_cannot_leave_their_place_on_the_page(void)
{
	struct flame *flame = new_flame(), *plain = new_flame();
	char *hostile_page, *plain_page;

	add_hostile(flame);
	flames_add(plain, FLAME_THIS, "N plain", PROFILE_CPU, 1);
	CHECK_EQ(flame_finish(flame, FLAME_CPU, 0), 0);
	CHECK_EQ(flame_finish(plain, FLAME_CPU, 0), 0);
	hostile_page = written(flame, &caption, flame_html);
	plain_page = written(plain, &caption, flame_html);
	CHECK_EQ(count_of(hostile_page, "</script"), count_of(plain_page, "</script"));
	CHECK_EQ(count_of(hostile_page, "<b>"), count_of(plain_page, "<b>"));
	CHECK_EQ(count_of(hostile_page, "<title>a &lt;title&gt; &amp; &quot;more&quot;</title>"),
		 1);
	CHECK(count_of(hostile_page, "&lt;/script&gt;&lt;b&gt;") > 0);
	CHECK(count_of(hostile_page, "\\u003c/script>\\u003cb>") > 0);
	CHECK(count_of(hostile_page, "\"@META@@NODES@\"") > 0);
	CHECK_EQ(count_of(hostile_page, "id=\"meta\">{"), 1);
	CHECK(is_clean(hostile_page));
	free(hostile_page);
	free(plain_page);
	flame_free(flame);
	flame_free(plain);
}

static void names_cannot_leave_their_place_in_the_picture(void)
{
	struct flame *flame = new_flame();
	char *svg;

	add_hostile(flame);
	CHECK_EQ(flame_finish(flame, FLAME_CPU, 0), 0);
	svg = written(flame, &caption, flame_svg);
	CHECK_EQ(count_of(svg, "script>"), 0);
	CHECK_EQ(count_of(svg, "<b>"), 0);
	CHECK(count_of(svg, "&quot;&#39;&amp;") > 0);
	CHECK_EQ(count_of(svg, "<g>"), count_of(svg, "</g>"));
	CHECK_EQ(count_of(svg, "<title>"), count_of(svg, "</title>"));
	CHECK_EQ(count_of(svg, "\xef\xbf\xbe"), 0);
	CHECK(is_clean(svg));
	free(svg);
	flame_free(flame);
}

static void the_page_says_what_was_lost_and_how_it_was_spliced(void)
{
	struct flame *flame = new_flame();
	char *page;

	flames_add(flame, FLAME_THIS, "N a", PROFILE_CPU, 1);
	CHECK_EQ(flame_finish(flame, FLAME_CPU, 0), 0);
	page = written(flame, &caption, flame_html);
	CHECK_EQ(count_of(page, "\"name\":\"run.unw\",\"duration\":2500000000,\"tasks\":7,"
				"\"samples\":12,\"lost\":12,\"coverage\":90.000"),
		 1);
	CHECK_EQ(count_of(page, "other.unw"), 0);
	CHECK_EQ(count_of(page, "http://") + count_of(page, "https://"),
		 1); /* the name space of its icon */
	free(page);
	page = written(flame, &caption, flame_svg);
	CHECK_EQ(count_of(page, "12 events lost"), 1);
	CHECK_EQ(count_of(page, "90.0 % splice coverage"), 1);
	free(page);
	flame_free(flame);
}

static void without_data_both_say_so(void)
{
	struct flame *flame = new_flame();
	char *text;

	CHECK_EQ(flame_finish(flame, FLAME_CPU, 0), 0);
	CHECK_EQ(flame_next(flame, 0), 0);
	text = written(flame, &caption, flame_html);
	CHECK_EQ(count_of(text, "Nothing was measured."), 1);
	free(text);
	text = written(flame, &caption, flame_svg);
	CHECK_EQ(count_of(text, "There are no CPU samples in this trace."), 1);
	CHECK_EQ(count_of(text, "<g>"), 0);
	free(text);
	flame_free(flame);
}

/* "x=\"12.5\"" after `from`. */
static double attribute(const char *from, const char *name)
{
	const char *at = strstr(from, name);

	return at ? strtod(at + strlen(name) + 2, NULL) : -1;
}

static void children_lie_within_their_parents(void)
{
	struct flame *flame = new_flame();
	double root_x, root_width;
	char *svg, *at;

	flames_add(flame, FLAME_THIS, "N left", PROFILE_CPU, 75);
	flames_add(flame, FLAME_THIS, "N right", PROFILE_CPU, 25);
	CHECK_EQ(flame_finish(flame, FLAME_CPU, 0), 0);
	svg = written(flame, &caption, flame_svg);
	at = strstr(svg, "<g><title>all");
	CHECK(at != NULL);
	root_x = attribute(at, " x");
	root_width = attribute(at, " width");
	at = strstr(svg, "<g><title>right");
	CHECK(at != NULL);
	CHECK(attribute(at, " x") > root_x + root_width * 0.74);
	CHECK(attribute(at, " x") + attribute(at, " width") <= root_x + root_width + 0.01);
	CHECK(attribute(at, " y") < attribute(strstr(svg, "<g><title>all"), " y"));
	free(svg);
	flame_free(flame);
}

static void deep_stacks_need_no_deep_recursion(void)
{
	struct flame *flame = new_flame();
	uint32_t name = flame_add_name(flame, &(struct profile_name){.function = "again"}),
		 node = 0;
	char *text;

	for (int i = 0; i < 100000; i++)
		node = flame_add_child(flame, node, name);
	flame_add_self(flame, node, FLAME_THIS, PROFILE_CPU, 5, 1);
	CHECK_EQ(flame_finish(flame, FLAME_CPU, 0), 0);
	CHECK_EQ(flame_values(flame, 0, FLAME_THIS)->total[PROFILE_CPU], 5);
	text = written(flame, &caption, flame_html);
	CHECK(strlen(text) < 1000000);
	free(text);
	flame_free(flame);
}

static void only_so_many_tasks_are_kept_those_with_the_most(void)
{
	struct flame *flame = new_flame();
	uint32_t node = flames_node(flame, "N a");
	uint64_t least = UINT64_MAX;

	for (uint64_t i = 1; i <= FLAME_TASKS_MOST + 1000; i++)
		flame_add_task(flame, node, PROFILE_CPU, &(struct profile_task){i, "t", i});
	CHECK_EQ(flame_finish(flame, FLAME_CPU, 0), 0);
	CHECK_EQ(flame_share_count(flame), FLAME_TASKS_MOST);
	for (uint32_t i = 0; i < flame_share_count(flame); i++)
		if (flame_share(flame, i)->ns < least)
			least = flame_share(flame, i)->ns;
	CHECK_EQ(least, 1001);
	flame_free(flame);
}

static void check_text(const char *text, size_t most, const char *wanted)
{
	char got[256] = "";
	FILE *to = fmemopen(got, sizeof(got), "w");

	markup_text_within(to, text, most);
	fclose(to);
	CHECK_STR_EQ(got, wanted);
}

static void long_names_end_in_an_ellipsis(void)
{
	check_text("abcdef", 6, "abcdef");
	check_text("abcdef", 5, "abcd\xe2\x80\xa6");
	check_text("\xc3\xa4\xc3\xb6\xc3\xbc", 3, "\xc3\xa4\xc3\xb6\xc3\xbc");
	check_text("\xc3\xa4\xc3\xb6\xc3\xbc", 2, "\xc3\xa4\xe2\x80\xa6");
	check_text("<<<", 2, "&lt;\xe2\x80\xa6");
	check_text("abc", 0, "");
}

static void times_have_three_digits_and_a_unit(void)
{
	CHECK_STR_EQ(markup_duration(0).text, "0 ns");
	CHECK_STR_EQ(markup_duration(999).text, "999 ns");
	CHECK_STR_EQ(markup_duration(1500).text, "1.50 \xc2\xb5s");
	CHECK_STR_EQ(markup_duration(999499999).text, "999 ms");
	CHECK_STR_EQ(markup_duration(999500000).text, "1.00 s");
	CHECK_STR_EQ(markup_duration(56700000).text, "56.7 ms");
	CHECK_STR_EQ(markup_duration(123456789012).text, "123 s");
	CHECK_STR_EQ(markup_count(1234567).text, "1,234,567");
	CHECK_STR_EQ(markup_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
	CHECK_STR_EQ(markup_share(1, 3).text, "33.3 %");
	CHECK_STR_EQ(markup_share(1, 0).text, "0.00 %");
}

int main(void)
{
	RUN(totals_are_own_time_and_that_of_all_children);
	RUN(equal_frames_of_one_parent_are_one);
	RUN(the_walk_visits_each_frame_once_and_the_larger_first);
	RUN(too_many_frames_leave_the_largest_and_the_sums);
	RUN(frames_of_one_weight_fill_the_room_there_is);
	RUN(coverage_is_of_samples_inside_of_tasks);
	RUN(names_cannot_leave_their_place_on_the_page);
	RUN(names_cannot_leave_their_place_in_the_picture);
	RUN(the_page_says_what_was_lost_and_how_it_was_spliced);
	RUN(without_data_both_say_so);
	RUN(children_lie_within_their_parents);
	RUN(deep_stacks_need_no_deep_recursion);
	RUN(only_so_many_tasks_are_kept_those_with_the_most);
	RUN(long_names_end_in_an_ellipsis);
	RUN(times_have_three_digits_and_a_unit);
	return check_done();
}

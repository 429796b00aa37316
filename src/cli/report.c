/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/say.h"
#include "view/where.h"

#define BAR_WIDTH 40u
#define PAGE_WIDTH 80

uint64_t report_since(const struct report *report, uint64_t time)
{
	uint64_t first = report->windowed ? report->first : report->survey->totals->first;

	return time > first ? time - first : 0;
}

bool report_has_gaps(const struct report *report)
{
	return reader_faults(reader_summary(report->reader)) != 0;
}

bool report_was_sampled(const struct report *report)
{
	const struct meta_sampler *sampler = reader_sampler(report->reader);

	return sampler && sampler->driver != SAMPLER_NONE;
}

struct report_where report_where(const struct report *report, uint32_t stack)
{
	struct profile *profile = report->survey->profile;
	struct where found = where_find(report->symbols, profile_tree(profile), stack);
	struct report_where where = {found.function, found.file, found.line, found.caller, NULL};
	uint32_t node = where.function || !stack ? 0 : profile_stack(profile, stack);

	/* What it is called where it has no name: module+offset. */
	if (node)
		where.function = profile_name(profile, profile_at(profile, node)->name)->function;
	return where;
}

struct report_where report_where_run(const struct report *report, const struct model_run *run)
{
	struct report_where where = report_where(report, run->hottest ? run->hottest : run->stack);

	where.how = run->hottest ? "mostly in"
		    : run->last  ? "beginning in"
		    : run->open  ? "at the end still in"
				 : "until it waited in";
	return where;
}

uint32_t report_frames(void *data, uint64_t node, const char **ret, uint32_t most)
{
	const struct profile *profile = ((const struct report *)data)->survey->profile;
	uint32_t count = profile_at(profile, (uint32_t)node)->depth, at = count;

	if (!node) {
		ret[0] = "(no stack is known)";
		return 1;
	}
	for (; node; node = profile_at(profile, (uint32_t)node)->parent)
		if (--at < most)
			ret[at] = profile_name(profile, profile_at(profile, (uint32_t)node)->name)
					  ->function;
	return count;
}

struct topping {
	const struct profile *profile;
	enum profile_value value;
};

static int by_self(const void *a, const void *b, void *data)
{
	const struct topping *topping = data;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	uint64_t one = profile_at(topping->profile, left)->self[topping->value];
	uint64_t two = profile_at(topping->profile, right)->self[topping->value];

	if (one != two)
		return one < two ? 1 : -1;
	return left < right ? -1 : left > right;
}

uint32_t *report_top(const struct profile *profile, enum profile_value value, uint32_t *ret_count)
{
	struct topping topping = {.profile = profile, .value = value};
	uint32_t *top = calloc((size_t)profile_count(profile) + 1, sizeof(*top)), count = 0;

	if (!top)
		return NULL;
	for (uint32_t i = 1; i < profile_count(profile); i++)
		if (profile_at(profile, i)->self[value])
			top[count++] = i;
	qsort_r(top, count, sizeof(*top), by_self, &topping);
	*ret_count = count;
	return top;
}

/* A bar in eighths of a character; at least something for what is there at all. */
static void print_bar(FILE *to, uint64_t value, uint64_t most)
{
	static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	uint64_t eighths = most ? (uint64_t)((double)value / (double)most * BAR_WIDTH * 8) : 0;
	bool utf8 = say_utf8();

	if (value && eighths < (utf8 ? 1 : 8))
		eighths = utf8 ? 1 : 8;
	for (uint64_t i = 0; i < eighths / 8; i++)
		fputs(utf8 ? "█" : "#", to);
	if (utf8)
		fputs(parts[eighths % 8], to);
}

static bool find_buckets(const struct survey *survey, unsigned *ret_first, unsigned *ret_last,
			 uint64_t *ret_most, uint64_t *ret_ns)
{
	bool any = false;

	*ret_most = 0;
	*ret_ns = 0;
	for (unsigned i = 0; i < SURVEY_BUCKETS; i++) {
		if (!survey->run_counts[i])
			continue;
		if (!any)
			*ret_first = i;
		*ret_last = i;
		any = true;
		*ret_ns += survey->run_ns[i];
		if (survey->run_counts[i] > *ret_most)
			*ret_most = survey->run_counts[i];
	}
	return any;
}

void report_print_histogram(const struct survey *survey, FILE *to)
{
	unsigned first = 0, last = 0;
	uint64_t most, ns;

	if (!find_buckets(survey, &first, &last, &most, &ns))
		return;
	fprintf(to, "How long runs took: up to, how many, and their share of the time\n");
	for (unsigned i = first; i <= last; i++) {
		struct say_number span = say_span(UINT64_C(2) << i);

		fprintf(to, "  %*s%s %14s %8s%s", 8 - say_width(span.text), "", span.text,
			say_count(survey->run_counts[i]).text,
			say_percent(survey->run_ns[i], ns).text, survey->run_counts[i] ? "  " : "");
		print_bar(to, survey->run_counts[i], most);
		fputc('\n', to);
	}
	fputc('\n', to);
}

void report_json_histogram(const struct survey *survey, struct json *json)
{
	json_open(json, "histogram", '[');
	for (unsigned i = 0; i < SURVEY_BUCKETS; i++) {
		if (!survey->run_counts[i])
			continue;
		json_open(json, NULL, '{');
		json_number(json, "from_ns", i ? UINT64_C(1) << i : 0);
		json_number(json, "below_ns", i < 63 ? UINT64_C(2) << i : UINT64_MAX);
		json_number(json, "runs", survey->run_counts[i]);
		json_number(json, "total_ns", survey->run_ns[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* Goes on at column `width`, and on further lines at `indent`. */
static void print_wrapped(FILE *to, int width, int indent, const char *text)
{
	char word[512];

	while (*(text += strspn(text, " \n"))) {
		size_t length = strcspn(text, " \n");

		if (length >= sizeof(word))
			length = sizeof(word) - 1;
		memcpy(word, text, length);
		word[length] = '\0';
		text += length;
		if (width > indent && width + 1 + say_width(word) > PAGE_WIDTH) {
			fprintf(to, "\n%*s", indent, "");
			width = indent;
		} else if (width > indent) {
			fputc(' ', to);
			width++;
		}
		width += say_text(to, word);
	}
	fputc('\n', to);
}

void report_print_sentence(FILE *to, const char *text)
{
	fprintf(to, "  - ");
	print_wrapped(to, 4, 4, text);
}

void report_print_words(FILE *to, int indent, const char *text)
{
	fprintf(to, "%*s", indent, "");
	print_wrapped(to, indent, indent, text);
}

const char *report_driver(uint64_t driver)
{
	static const char *const names[] = {
		[SAMPLER_NONE] = "none",          [SAMPLER_PERF] = "perf event",
		[SAMPLER_TIMER] = "timer",        [SAMPLER_WALL] = "wall clock",
		[SAMPLER_OTHER] = "another tool", [SAMPLER_MIXED] = "perf event or timer",
	};

	return driver <= SAMPLER_MIXED ? names[driver] : "unknown";
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_warnings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cli/say.h"
#include "cli/source.h"
#include "view/naming.h"

#define SHOWN 12u
#define TASKS_SHOWN 3u
#define FRAMES_MOST 1024u

/* The sentence, with the thread's name; NULL: no memory. */
static char *sentence_of(const struct report *report, const struct lint_warning *warning)
{
	const struct reader_thread *thread = reader_thread(report->reader, warning->thread);
	struct lint_warning named = *warning;
	char *text = NULL;
	size_t length;
	FILE *to = open_memstream(&text, &length);

	if (!to)
		return NULL;
	named.thread_name = thread ? thread->name : NULL;
	lint_say(to, &named);
	return fclose(to) == 0 ? text : NULL;
}

/* Out of the tree, for a stack that had no time of its own. */
static uint32_t bare_frames(const struct report *report, uint32_t stack, const char **ret)
{
	const struct tree *tree = profile_tree(report->survey->profile);
	uint32_t depth = stack ? tree_at(tree, stack)->depth : 0, at = depth;

	for (; stack; stack = tree_at(tree, stack)->parent) {
		const struct tree_node *node = tree_at(tree, stack);
		const struct symbol_frame *frame =
			symbols_find(report->symbols, node->address)->frames;

		if (--at < FRAMES_MOST)
			ret[at] = node->kind == SPLICE_OMITTED ? "..."
				  : frame->function            ? frame->function
							       : "(unknown)";
	}
	return depth;
}

/* The names of a stack's functions, outermost first; how many there are. */
static uint32_t frames_of(const struct report *report, uint32_t stack, const char **ret)
{
	uint32_t node = stack ? profile_stack(report->survey->profile, stack) : 0;
	uint32_t count = node ? report_frames((void *)report, node, ret, FRAMES_MOST)
			      : bare_frames(report, stack, ret);

	return count < FRAMES_MOST ? count : FRAMES_MOST;
}

static void print_place(const struct report *report, const struct lint_warning *warning, FILE *to)
{
	const char *frames[FRAMES_MOST];
	uint32_t count = frames_of(report, warning->stack, frames);

	fprintf(to, "      ");
	if (warning->file) {
		say_text(to, warning->file);
		fprintf(to, ":%" PRIu32 "; ", warning->line);
	}
	fprintf(to, "task%s", warning->task_count == 1 ? "" : "s");
	for (uint32_t i = 0; i < warning->task_count && i < TASKS_SHOWN; i++)
		fprintf(to, "%s %" PRIu64, i ? "," : "", warning->tasks[i]);
	if (warning->task_count > TASKS_SHOWN)
		fprintf(to, ", ...");
	fprintf(to, "; at %.6f s\n", (double)report_since(report, warning->time) / 1e9);
	if (count)
		table_print_frames(to, frames, count, 6);
	if (report->source && warning->file)
		source_print(to, warning->file, warning->line);
}

int warnings_print(const struct report *report, FILE *to)
{
	const struct lints *lints = &report->survey->lints;
	enum lint_kind explained = LINT_KINDS;

	if (lints->count)
		fprintf(to, "\nWarnings\n");
	for (uint32_t i = 0; i < lints->count && i < SHOWN; i++) {
		const struct lint_warning *warning = &lints->at[i];
		char *text = sentence_of(report, warning);

		if (!text)
			return -ENOMEM;
		report_print_sentence(to, text);
		free(text);
		print_place(report, warning, to);
		if (warning->kind != explained)
			report_print_words(to, 6, lint_rule(warning->kind)->meaning);
		explained = warning->kind;
	}
	if (lints->count > SHOWN)
		fprintf(to, "  ... and %s more: --json has them all\n",
			say_count(lints->count - SHOWN).text);
	return 0;
}

static void put_text(struct json *json, const char *key, const char *text)
{
	if (text && text[0])
		json_text(json, key, text);
	else
		json_null(json, key);
}

static void put_place(const struct report *report, const struct lint_warning *warning,
		      struct json *json)
{
	const struct reader_thread *thread = reader_thread(report->reader, warning->thread);
	const char *frames[FRAMES_MOST];
	uint32_t count = frames_of(report, warning->stack, frames);

	put_text(json, "function", warning->function);
	put_text(json, "caller", warning->caller);
	put_text(json, "file", warning->file);
	json_number(json, "line", warning->line);
	json_open(json, "stack", '[');
	for (uint32_t i = 0; i < count; i++)
		json_text(json, NULL, frames[i]);
	json_close(json, ']');
	json_number(json, "time_ns", report_since(report, warning->time));
	put_text(json, "thread", thread ? thread->name : NULL);
	json_number(json, "asleep_ns", warning->asleep);
}

static int put_warning(const struct report *report, const struct lint_warning *warning,
		       struct json *json)
{
	const struct lint_rule *rule = lint_rule(warning->kind);
	char *text = sentence_of(report, warning);

	if (!text)
		return -ENOMEM;
	json_open(json, NULL, '{');
	json_text(json, "kind", rule->name);
	json_text(json, "text", text);
	json_text(json, "meaning", rule->meaning);
	put_text(json, "label", warning->label);
	json_number(json, "count", warning->count);
	json_number(json, "of", warning->of);
	json_number(json, rule->unit == LINT_NS ? "worst_ns" : "worst", warning->worst);
	json_number(json, rule->unit == LINT_NS ? "limit_ns" : "limit", warning->limit);
	put_place(report, warning, json);
	json_open(json, "tasks", '[');
	for (uint32_t i = 0; i < warning->task_count; i++)
		json_number(json, NULL, warning->tasks[i]);
	json_close(json, ']');
	json_close(json, '}');
	free(text);
	return 0;
}

int warnings_json(const struct report *report, const char *key, struct json *json)
{
	const struct lints *lints = &report->survey->lints;
	int r = 0;

	json_open(json, key, '[');
	for (uint32_t i = 0; i < lints->count && r == 0; i++)
		r = put_warning(report, &lints->at[i], json);
	json_close(json, ']');
	return r;
}

bool warnings_have(const struct report *report, enum lint_kind kind)
{
	const struct lints *lints = &report->survey->lints;

	for (uint32_t i = 0; i < lints->count; i++)
		if (lints->at[i].kind == kind)
			return true;
	return false;
}

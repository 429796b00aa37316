/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: src/view/flame/ as it is, with the graph in four places of it.
 *
 *     @TITLE@  the title, as text
 *     @TABLE@  the top frames, for those who do not run its script
 *     @META@   all strings and what stands around the graph, as JSON
 *     @NODES@  the frames, root first and each before its children: base64 of varints
 *     @TASKS@  the tasks, then which of them is behind which frame; the same
 *
 * A frame is: how far up its parent is from the frame before; its name; for each
 * trace a byte of which values are not 0, and of each of those the time and the
 * count. The root has no first two. A task is its id, in two halves, and its
 * label. A share is the distance from the frame of the share before, times 4,
 * plus the value; the task; the time. src/view/flame/data.js reads it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/cleanup.h"
#include "view/flame.h"
#include "view/flame_page.h"
#include "view/json.h"
#include "view/markup.h"

#define DATA_MOST ((size_t)1 << 30)
#define TABLE_ROWS 50u

static void free_pointer(void *pointer)
{
	free(*(void **)pointer);
}

static void put_base64(FILE *to, const struct buffer *from)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < from->length; i += 3) {
		size_t left = from->length - i;
		uint32_t bits = (uint32_t)from->bytes[i] << 16;

		if (left > 1)
			bits |= (uint32_t)from->bytes[i + 1] << 8;
		if (left > 2)
			bits |= from->bytes[i + 2];
		putc_unlocked(digits[bits >> 18], to);
		putc_unlocked(digits[bits >> 12 & 63], to);
		putc_unlocked(left > 1 ? digits[bits >> 6 & 63] : '=', to);
		putc_unlocked(left > 2 ? digits[bits & 63] : '=', to);
	}
}

static void put_values(struct buffer *to, const struct flame_values *values)
{
	uint8_t mask = 0;

	for (uint32_t v = 0; v < PROFILE_VALUES; v++)
		if (values->self[v] || values->count[v])
			mask |= (uint8_t)(1u << v);
	buffer_put_u8(to, mask);
	for (uint32_t v = 0; v < PROFILE_VALUES; v++) {
		if (!(mask & 1u << v))
			continue;
		buffer_put_varint(to, values->self[v]);
		buffer_put_varint(to, values->count[v]);
	}
}

static int put_nodes(FILE *to, const struct flame *flame)
{
	cleanup(buffer_fini) struct buffer nodes = BUFFER_INIT(DATA_MOST);
	uint32_t node = 0, depth = 0;

	do {
		const struct flame_node *at = flame_at(flame, node);

		if (node) {
			buffer_put_varint(&nodes, depth + 1 - at->depth);
			buffer_put_varint(&nodes, at->name);
		}
		depth = at->depth;
		put_values(&nodes, flame_values(flame, node, FLAME_THIS));
		if (flame_is_comparison(flame))
			put_values(&nodes, flame_values(flame, node, FLAME_OTHER));
		node = flame_next(flame, node);
	} while (node);
	if (nodes.bad)
		return -ENOMEM;
	put_base64(to, &nodes);
	return 0;
}

static int by_node(const void *a, const void *b)
{
	const struct flame_share *one = a, *two = b;

	if (one->node != two->node)
		return one->node < two->node ? -1 : 1;
	if (one->ns != two->ns)
		return one->ns < two->ns ? 1 : -1;
	return one->task < two->task ? -1 : one->task > two->task;
}

/* The shares with the number that their frame has on the page, in that order. */
static struct flame_share *sort_shares(const struct flame *flame)
{
	uint32_t count = flame_share_count(flame), node = 0, place = 0;
	cleanup(free_pointer) uint32_t *places = calloc(flame_count(flame), sizeof(*places));
	struct flame_share *shares = calloc((size_t)count + 1, sizeof(*shares));

	if (!places || !shares) {
		free(shares);
		return NULL;
	}
	do {
		places[node] = place++;
		node = flame_next(flame, node);
	} while (node);
	for (uint32_t i = 0; i < count; i++) {
		shares[i] = *flame_share(flame, i);
		shares[i].node = places[shares[i].node];
	}
	qsort(shares, count, sizeof(*shares), by_node);
	return shares;
}

static int put_tasks(FILE *to, const struct flame *flame)
{
	cleanup(free_pointer) struct flame_share *shares = sort_shares(flame);
	cleanup(buffer_fini) struct buffer bytes = BUFFER_INIT(DATA_MOST);
	uint32_t before = 0;

	if (!shares)
		return -ENOMEM;
	for (uint32_t i = 0; i < flame_task_count(flame); i++) {
		const struct flame_task *task = flame_task(flame, i);

		buffer_put_varint(&bytes, task->id >> 32);
		buffer_put_varint(&bytes, task->id & UINT32_MAX);
		buffer_put_varint(&bytes, task->label);
	}
	for (uint32_t i = 0; i < flame_share_count(flame); i++) {
		buffer_put_varint(&bytes,
				  (uint64_t)(shares[i].node - before) * 4 + shares[i].value);
		buffer_put_varint(&bytes, shares[i].task);
		buffer_put_varint(&bytes, shares[i].ns);
		before = shares[i].node;
	}
	if (bytes.bad)
		return -ENOMEM;
	put_base64(to, &bytes);
	return 0;
}

static void put_trace(struct json *json, const char *name, const struct model_totals *totals)
{
	double coverage = flame_coverage(totals);

	json_open(json, NULL, '{');
	json_text(json, "name", name);
	json_number(json, "duration", totals->last - totals->first);
	json_number(json, "tasks", totals->tasks);
	json_number(json, "samples", totals->samples);
	json_number(json, "lost", totals->lost);
	if (coverage < 0)
		json_null(json, "coverage");
	else
		json_real(json, "coverage", coverage * 100);
	json_close(json, '}');
}

static void put_names(struct json *json, const struct flame *flame)
{
	json_open(json, "strings", '[');
	for (uint32_t i = 0; i < flame_string_count(flame); i++)
		json_text(json, NULL, flame_string(flame, i));
	json_close(json, ']');
	json_open(json, "names", '[');
	for (uint32_t i = 0; i < flame_name_count(flame); i++) {
		const struct flame_name *name = flame_name(flame, i);

		json_number(json, NULL, name->function);
		json_number(json, NULL, name->module);
		json_number(json, NULL, name->file);
		json_number(json, NULL, name->line);
		json_number(json, NULL, name->kind);
	}
	json_close(json, ']');
}

static void put_meta_json(FILE *to, const struct flame *flame, const struct flame_caption *caption)
{
	struct json json = {.to = to};

	json_open(&json, NULL, '{');
	json_text(&json, "title", caption->title);
	json_text(&json, "metric", flame_metric_word(caption->metric));
	json_open(&json, "traces", '[');
	for (uint32_t side = 0; side <= (uint32_t)flame_is_comparison(flame); side++)
		put_trace(&json, caption->traces[side], caption->totals[side]);
	json_close(&json, ']');
	json_number(&json, "nodes", flame_count(flame));
	json_number(&json, "folded", flame_folded(flame));
	json_number(&json, "tasks", flame_task_count(flame));
	json_number(&json, "shares", flame_share_count(flame));
	put_names(&json, flame);
	json_close(&json, '}');
}

/* In JSON a '<' is always part of a string, where it can be written so that no tag is seen. */
static int put_meta(FILE *to, const struct flame *flame, const struct flame_caption *caption)
{
	cleanup(free_pointer) char *text = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&text, &length);

	if (!memory)
		return -ENOMEM;
	put_meta_json(memory, flame, caption);
	if (fclose(memory) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '<')
			fputs("\\u003c", to);
		else
			putc_unlocked(text[i], to);
	}
	return 0;
}

/* The nodes with the most own time, most first; how many there are. */
static uint32_t find_top(const struct flame *flame, enum flame_metric metric, uint32_t *ret)
{
	uint64_t own[TABLE_ROWS];
	uint32_t count = 0;

	for (uint32_t node = 1; node < flame_count(flame); node++) {
		uint64_t self = flame_self(flame_values(flame, node, FLAME_THIS), metric);
		uint32_t at = count;

		if (!self || (count == TABLE_ROWS && self <= own[count - 1]))
			continue;
		if (count < TABLE_ROWS)
			count++;
		else
			at--;
		for (; at > 0 && own[at - 1] < self; at--) {
			own[at] = own[at - 1];
			ret[at] = ret[at - 1];
		}
		own[at] = self;
		ret[at] = node;
	}
	return count;
}

static int put_table(FILE *to, const struct flame *flame, const struct flame_caption *caption)
{
	uint64_t all = flame_total(flame_values(flame, 0, FLAME_THIS), caption->metric);
	uint32_t top[TABLE_ROWS], count = find_top(flame, caption->metric, top);

	if (!count)
		fputs("<tr><td colspan=\"4\">Nothing was measured.</td></tr>\n", to);
	for (uint32_t i = 0; i < count; i++) {
		const struct flame_values *values = flame_values(flame, top[i], FLAME_THIS);
		const struct flame_name *name = flame_name(flame, flame_at(flame, top[i])->name);
		uint64_t self = flame_self(values, caption->metric);

		fputs("<tr><td>", to);
		markup_text(to, flame_string(flame, name->function));
		fputs("</td><td>", to);
		markup_text(to, flame_string(flame, name->module));
		fprintf(to, "</td><td>%s</td><td>%s</td></tr>\n", markup_duration(self).text,
			markup_share(self, all).text);
	}
	return 0;
}

static int put_title(FILE *to, const struct flame *flame, const struct flame_caption *caption)
{
	(void)flame;
	markup_text(to, caption->title);
	return 0;
}

static int put_nodes_here(FILE *to, const struct flame *flame, const struct flame_caption *caption)
{
	(void)caption;
	return put_nodes(to, flame);
}

static int put_tasks_here(FILE *to, const struct flame *flame, const struct flame_caption *caption)
{
	(void)caption;
	return put_tasks(to, flame);
}

static const struct {
	const char *mark;
	int (*put)(FILE *to, const struct flame *flame, const struct flame_caption *caption);
} places[] = {
	{"@TITLE@", put_title},      {"@TABLE@", put_table},      {"@META@", put_meta},
	{"@NODES@", put_nodes_here}, {"@TASKS@", put_tasks_here},
};

#define PLACES (sizeof(places) / sizeof(places[0]))

int flame_html(const struct flame *flame, const struct flame_caption *caption, FILE *to)
{
	const char *at = flame_page;

	for (const char *mark = strchr(at, '@'); mark; mark = strchr(mark, '@')) {
		size_t place = 0;
		int r;

		while (place < PLACES &&
		       strncmp(mark, places[place].mark, strlen(places[place].mark)) != 0)
			place++;
		if (place == PLACES) {
			mark++;
			continue;
		}
		fwrite(at, 1, (size_t)(mark - at), to);
		r = places[place].put(to, flame, caption);
		if (r < 0)
			return r;
		mark += strlen(places[place].mark);
		at = mark;
	}
	fputs(at, to);
	return ferror(to) ? -EIO : 0;
}

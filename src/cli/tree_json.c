/* SPDX-License-Identifier: Apache-2.0 */
/* A line for the process, then one for each task. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/names.h"
#include "cli/tree.h"
#include "util/grow.h"
#include "util/map.h"
#include "view/json.h"
#include "view/naming.h"

/* A chain as JSON. */
struct chain_text {
	char *text;
	size_t bytes;
};

struct lines {
	const struct tree *tree;
	struct json json;
	/* By where the frames begin, an index: tasks mostly wait in the same few places. */
	struct map known;
	struct chain_text *chains;
	uint32_t count, capacity;
	bool *deadlocked; /* by task */
};

static int put_cycle(void *data, const uint32_t *tasks, uint32_t count)
{
	struct lines *lines = data;

	json_open(&lines->json, NULL, '[');
	for (uint32_t i = 0; i < count; i++) {
		lines->deadlocked[tasks[i]] = true;
		json_number(&lines->json, NULL, lines->tree->snapshot->tasks[tasks[i]].task.id);
	}
	json_close(&lines->json, ']');
	return 0;
}

static int put_process(struct lines *lines)
{
	const struct tree_source *source = lines->tree->source;
	const struct snapshot *snapshot = lines->tree->snapshot;
	struct json *json = &lines->json;
	int r;

	json_open(json, NULL, '{');
	json_number(json, "pid", source->pid);
	json_text(json, "program", source->program);
	json_bool(json, "ended", snapshot->ended);
	if (source->core)
		json_text(json, "core", source->core);
	if (source->signal) {
		json_number(json, "signal", source->signal);
		json_number(json, "signal_tid", source->signal_thread);
	}
	json_number(json, "threads", snapshot->threads);
	json_bool(json, "recorded", snapshot->recorded);
	json_number(json, "tasks", snapshot->count);
	json_number(json, "shown", lines->tree->shown);
	if (source->missing[0])
		json_text(json, "missing", source->missing);
	json_open(json, "deadlocks", '[');
	r = snapshot_cycles(snapshot, put_cycle, lines);
	json_close(json, ']');
	json_close(json, '}');
	json_line(json);
	return r;
}

static void put_frame(struct json *json, struct symbols *symbols,
		      const struct snapshot_frame *frame)
{
	struct symbol_frame outer = naming_chain_frame(symbols, frame->address, frame->state);
	char name[TREE_LABEL_ROOM];

	json_address(json, "address", frame->address);
	naming_function(symbols, frame->address, name, sizeof(name));
	json_text(json, "function", name);
	if (outer.file) {
		json_text(json, "file", outer.file);
		json_number(json, "line", outer.line);
	}
	if (frame->state && !UNWEAVE_STATE_IS_LINE(frame->state))
		json_signed(json, "state", frame->state);
}

static int write_chain(const struct tree *tree, const struct snapshot_task *task,
		       struct chain_text *ret)
{
	struct json json = {.to = open_memstream(&ret->text, &ret->bytes)};

	if (!json.to)
		return -ENOMEM;
	json_open(&json, NULL, '[');
	for (uint32_t i = 0; i < task->chain_count; i++) {
		const struct snapshot_frame *frame = &tree->snapshot->frames[task->chain + i];

		json_open(&json, NULL, '{');
		if (frame->omitted)
			json_number(&json, "omitted", frame->address);
		else
			put_frame(&json, tree->symbols, frame);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	return fclose(json.to) == 0 ? 0 : -ENOMEM;
}

/* The chain of a task, written once for all that have it; NULL: no memory. */
static const struct chain_text *find_chain(struct lines *lines, const struct snapshot_task *task)
{
	uint64_t key = (uint64_t)task->chain << 32 | task->chain_count;
	const uint32_t *known = map_find(&lines->known, key);
	struct chain_text *chains, chain = {0};

	if (known)
		return &lines->chains[*known];
	chains = grow(lines->chains, lines->count, &lines->capacity, 64, sizeof(*chains));
	if (!chains)
		return NULL;
	lines->chains = chains;
	if (write_chain(lines->tree, task, &chain) < 0 ||
	    map_put(&lines->known, key, lines->count) < 0) {
		free(chain.text);
		return NULL;
	}
	chains[lines->count] = chain;
	return &chains[lines->count++];
}

static int put_chain(struct lines *lines, const struct snapshot_task *task)
{
	const struct chain_text *chain = find_chain(lines, task);

	if (!chain)
		return -ENOMEM;
	json_raw(&lines->json, "chain", chain->text, chain->bytes);
	return 0;
}

static void put_site(struct json *json, const struct reader_site *site)
{
	json_open(json, "site", '{');
	if (site->name[0])
		json_text(json, "name", site->name);
	if (site->kind[0])
		json_text(json, "kind", site->kind);
	if (site->function[0])
		json_text(json, "function", site->function);
	if (site->file[0]) {
		json_text(json, "file", site->file);
		json_number(json, "line", site->line);
	}
	json_close(json, '}');
}

static void put_waits(struct json *json, const struct tree *tree, const struct snapshot_task *task)
{
	static const char *const kinds[] = {"", "task", "timer", "io", "lock", "channel", "other"};
	uint32_t other;

	if (!tree_waits(tree, task) || task->task.waits >= sizeof(kinds) / sizeof(kinds[0]))
		return;
	json_text(json, "waits_for", kinds[task->task.waits]);
	json_number(json, "waits_on", task->task.awaits);
	if (task->task.waits != UNWEAVE_WAIT_TASK)
		return;
	other = snapshot_find(tree->snapshot, task->task.awaits);
	json_bool(json, "waits_on_lives", other != 0);
}

static int put_task(struct lines *lines, const struct tree_row *row)
{
	const struct tree *tree = lines->tree;
	const struct snapshot_task *task = &tree->snapshot->tasks[row->task];
	const struct reader_site *site = snapshot_site(tree->snapshot, task->task.site);
	uint64_t since = snapshot_since(tree->snapshot, task);
	struct json *json = &lines->json;
	int r = 0;

	*json = (struct json){.to = json->to};
	json_open(json, NULL, '{');
	json_number(json, "task", task->task.id);
	if (task->task.parent)
		json_number(json, "parent", task->task.parent);
	json_text(json, "label", tree_label(tree, task));
	if (site)
		put_site(json, site);
	json_text(json, "state", tree_state(tree, task));
	if (task->thread) {
		json_number(json, "tid", task->thread);
		json_number(json, "depth", task->depth);
	}
	if (snapshot_state(tree->snapshot, task) == SNAPSHOT_QUEUED)
		json_text(json, "woken_by", name_source(task->task.source));
	put_waits(json, tree, task);
	if (lines->deadlocked[row->task])
		json_bool(json, "deadlock", true);
	if (since)
		json_number(json, "for_ns", snapshot_ns_since(tree->snapshot, since));
	json_number(json, "runs", task->task.runs);
	json_number(json, "busy_ns", tree_busy_ns(tree, task));
	if (task->chain_known && tree->chains)
		r = put_chain(lines, task);
	json_close(json, '}');
	json_line(json);
	return r;
}

int tree_json(const struct tree *tree, FILE *to)
{
	struct lines lines = {.tree = tree, .json = {.to = to}};
	int r = map_init(&lines.known, UINT32_MAX);

	lines.deadlocked = calloc(tree->snapshot->count + 1, sizeof(*lines.deadlocked));
	if (!lines.deadlocked)
		r = -ENOMEM;
	if (r == 0)
		r = put_process(&lines);
	for (uint32_t i = 0; i < tree->shown && r == 0; i++)
		r = put_task(&lines, &tree->rows[i]);
	for (uint32_t i = 0; i < lines.count; i++)
		free(lines.chains[i].text);
	free(lines.chains);
	free(lines.deadlocked);
	map_fini(&lines.known);
	return r;
}

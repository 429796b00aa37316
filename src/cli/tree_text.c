/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/say.h"
#include "cli/tree.h"
#include "util/cleanup.h"
#include "util/grow.h"
#include "util/map.h"
#include "view/naming.h"

#define FRAMES_SHOWN 24u /* of a chain, half of them at each end */
#define DEPTH_SHOWN 32u  /* indents */

/* What is written, and the frames as text: tasks mostly wait in the same few places. */
struct page {
	const struct tree *tree;
	FILE *to;
	struct map known; /* frames, by address and state: index into `frames` */
	char **frames;
	uint32_t count, capacity;
};

/* What it waits for, in words. */
static void show_waits(const struct page *page, const struct snapshot_task *task)
{
	const struct snapshot *snapshot = page->tree->snapshot;
	uint64_t on = task->task.awaits;
	uint32_t other;

	switch (task->task.waits) {
	case UNWEAVE_WAIT_TASK:
		other = snapshot_find(snapshot, on);
		fprintf(page->to, " for task %" PRIu64 ", ", on);
		say_text(page->to, other ? tree_label(page->tree, &snapshot->tasks[other - 1])
					 : "which has ended");
		break;
	case UNWEAVE_WAIT_TIMER:
		fputs(" for a timer", page->to);
		break;
	case UNWEAVE_WAIT_IO:
		fprintf(page->to, " for file %" PRIu64, on);
		break;
	case UNWEAVE_WAIT_LOCK:
		fprintf(page->to, " for lock %#" PRIx64, on);
		break;
	case UNWEAVE_WAIT_CHANNEL:
		fprintf(page->to, " for channel %#" PRIx64, on);
		break;
	default:
		break;
	}
}

/* A thread that runs a task and yet does not run, as the kernel sees it; NULL: it does. */
static const char *find_rest(uint32_t pid, uint32_t tid)
{
	char path[64], stat[256] = "";
	cleanup(close_fd) int fd = -1;
	const char *state;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, stat, sizeof(stat) - 1) < 0)
		return NULL;
	/* It comes after the name, in which there may be anything. */
	state = strrchr(stat, ')');
	if (!state || state[1] != ' ')
		return NULL;
	return strchr("Tt", state[2]) ? "is stopped" : strchr("SD", state[2]) ? "sleeps" : NULL;
}

static void show_thread(const struct page *page, uint32_t thread)
{
	const struct tree_source *source = page->tree->source;
	const char *rest =
		source->core || page->tree->snapshot->ended ? NULL : find_rest(source->pid, thread);

	fprintf(page->to, " on thread %u", thread);
	if (source->signal && thread == source->signal_thread)
		fprintf(page->to, ", which got signal %u (%s)", source->signal,
			strsignal((int)source->signal));
	else if (rest)
		fprintf(page->to, ", which %s", rest);
}

static void show_state(const struct page *page, const struct snapshot_task *task)
{
	const struct tree *tree = page->tree;
	uint64_t since = snapshot_since(tree->snapshot, task);

	fputs(tree_state(tree, task), page->to);
	if (task->thread)
		show_thread(page, task->thread);
	if (tree_waits(tree, task))
		show_waits(page, task);
	if (since)
		fprintf(page->to, ", for %s",
			say_duration(snapshot_ns_since(tree->snapshot, since)).text);
	if (task->task.runs)
		fprintf(page->to, "; %s run%s, %s busy", say_count(task->task.runs).text,
			task->task.runs == 1 ? "" : "s",
			say_duration(tree_busy_ns(tree, task)).text);
}

/* Function, file, line and state; to be freed. NULL: no memory. */
static char *describe(struct symbols *symbols, const struct snapshot_frame *frame)
{
	struct symbol_frame outer = naming_chain_frame(symbols, frame->address, frame->state);
	char name[TREE_LABEL_ROOM];
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	if (!to)
		return NULL;
	naming_function(symbols, frame->address, name, sizeof(name));
	say_text(to, name);
	if (outer.file) {
		fputs("  ", to);
		say_text(to, outer.file);
		fprintf(to, ":%" PRIu32, outer.line);
	}
	if (frame->state && !UNWEAVE_STATE_IS_LINE(frame->state))
		fprintf(to, "  state %" PRId32, frame->state);
	fclose(to);
	return text;
}

/* NULL: no memory. */
static const char *frame_text(struct page *page, const struct snapshot_frame *frame)
{
	uint64_t key = hash_mix((uint32_t)frame->state + UINT64_C(1)) ^ frame->address;
	const uint32_t *known = map_find(&page->known, key);
	char **frames, *text;

	if (known)
		return page->frames[*known];
	frames = grow(page->frames, page->count, &page->capacity, 64, sizeof(*frames));
	if (!frames)
		return NULL;
	page->frames = frames;
	text = describe(page->tree->symbols, frame);
	if (text && map_put(&page->known, key, page->count) < 0) {
		free(text);
		return NULL;
	}
	if (text)
		frames[page->count++] = text;
	return text;
}

static int show_frame(struct page *page, const struct snapshot_frame *frame, int indent)
{
	const char *text = frame->omitted ? NULL : frame_text(page, frame);

	if (frame->omitted && frame->address)
		fprintf(page->to, "%*s... %s more frames ...\n", indent, "",
			say_count(frame->address).text);
	else if (frame->omitted)
		fprintf(page->to, "%*s... not known ...\n", indent, "");
	else if (!text)
		return -ENOMEM;
	else
		fprintf(page->to, "%*s%s\n", indent, "", text);
	return 0;
}

static int show_chain(struct page *page, const struct snapshot_task *task, int indent)
{
	const struct snapshot_frame *frames = page->tree->snapshot->frames;
	const struct snapshot_frame gap = {.omitted = true,
					   .address = task->chain_count - FRAMES_SHOWN};
	int r = 0;

	for (uint32_t i = 0; i < task->chain_count && r == 0; i++) {
		if (task->chain_count > FRAMES_SHOWN && i == FRAMES_SHOWN / 2) {
			r = show_frame(page, &gap, indent);
			i = task->chain_count - FRAMES_SHOWN / 2;
		}
		if (r == 0)
			r = show_frame(page, &frames[task->chain + i], indent);
	}
	return r;
}

static int show_row(struct page *page, const struct tree_row *row)
{
	const struct tree *tree = page->tree;
	const struct snapshot_task *task = &tree->snapshot->tasks[row->task];
	int indent = 2 * (int)(row->depth < DEPTH_SHOWN ? row->depth : DEPTH_SHOWN);

	fprintf(page->to, "%*s%" PRIu64 "  ", indent, "", task->task.id);
	say_text(page->to, tree_label(tree, task));
	fputs(": ", page->to);
	show_state(page, task);
	fputc('\n', page->to);
	return tree->chains ? show_chain(page, task, indent + 6) : 0;
}

static int show_cycle(void *data, const uint32_t *tasks, uint32_t count)
{
	const struct page *page = data;

	fputs("deadlock: ", page->to);
	for (uint32_t i = 0; i <= count; i++) {
		const struct snapshot_task *task = &page->tree->snapshot->tasks[tasks[i % count]];

		if (i)
			fputs("\n          waits for ", page->to);
		say_text(page->to, tree_label(page->tree, task));
		fprintf(page->to, " (task %" PRIu64 ")", task->task.id);
	}
	fputc('\n', page->to);
	return 0;
}

static void show_sum(const struct page *page)
{
	const struct tree *tree = page->tree;
	const struct snapshot *snapshot = tree->snapshot;

	if (tree->shown < tree->row_count)
		fprintf(page->to, "... %s tasks more\n",
			say_count(tree->row_count - tree->shown).text);
	if (tree->row_count < snapshot->count)
		fprintf(page->to, "%s of ", say_count(tree->row_count).text);
	fprintf(page->to, "%s task%s %s in process %u, on %u thread%s\n",
		say_count(snapshot->count).text, snapshot->count == 1 ? "" : "s",
		snapshot->ended        ? "lived"
		: snapshot->count == 1 ? "lives"
				       : "live",
		tree->source->pid, snapshot->threads, snapshot->threads == 1 ? "" : "s");
	if (tree->source->signal)
		fprintf(page->to, "it was ended by signal %u (%s), on thread %u\n",
			tree->source->signal, strsignal((int)tree->source->signal),
			tree->source->signal_thread);
	if (!snapshot->recorded)
		fputs(snapshot->ended ? "nobody recorded it: only chains say whether a task ran\n"
				      : "nobody records it: only chains say whether a task runs\n",
		      page->to);
	else if (snapshot->ended)
		fputs("times are up to the last event of a task\n", page->to);
}

int tree_text(const struct tree *tree, FILE *to)
{
	struct page page = {.tree = tree, .to = to};
	int r = map_init(&page.known, UINT32_MAX);

	if (r == 0)
		r = snapshot_cycles(tree->snapshot, show_cycle, &page);
	for (uint32_t i = 0; i < tree->shown && r == 0; i++)
		r = show_row(&page, &tree->rows[i]);
	if (r == 0)
		show_sum(&page);
	for (uint32_t i = 0; i < page.count; i++)
		free(page.frames[i]);
	free(page.frames);
	map_fini(&page.known);
	return r;
}

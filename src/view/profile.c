/* SPDX-License-Identifier: Apache-2.0 */
#include "view/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/grow.h"
#include "view/frames.h"
#include "view/naming.h"
#include "view/tally.h"

#define NOWHERE UINT32_MAX

/* The tasks behind one value of one node: a cell's, or those of several put together. */
struct behind {
	uint32_t count;
	struct tally_task tasks[TALLY_TASKS];
};

struct profile {
	const struct profile_options *options; /* while it is made */
	struct model_sink also;                /* of the options, or zeros */
	struct tally tally;
	struct model *model;
	struct frames *frames;
	struct model_totals totals;
	struct profile_node *nodes;
	uint32_t count;
	uint32_t capacity;
	struct map children;     /* parent and name to node */
	struct map stacks;       /* label and stack to node */
	struct map behind_index; /* node and kind to `behind` */
	struct behind *behind;
	uint32_t behind_count;
	uint32_t behind_capacity;
	uint32_t *path; /* stacks on the way to the root */
	uint32_t path_capacity;
};

DEFINE_FREEP(struct profile, profile_free)

static int on_run(void *data, const struct model_run *run)
{
	struct profile *profile = data;
	uint64_t length = run->end - run->start;
	uint64_t own = length > run->inner ? length - run->inner : 0;

	if (tally_add_run(&profile->tally, run->task, run->stack, own) < 0)
		return -ENOMEM;
	return profile->also.run ? profile->also.run(profile->also.data, run) : 0;
}

static void on_soon(void *data, const struct model_task *task)
{
	(void)data;
	tally_prefetch(task);
}

static int on_wait(void *data, const struct model_wait *wait)
{
	struct profile *profile = data;
	struct tally_sums *sums = tally_sums(&profile->tally, wait->task, wait->stack);
	uint64_t woken = wait->woken ? wait->woken : wait->end;

	if (!sums)
		return -ENOMEM;
	if (woken > wait->start || !wait->woken) {
		sums->value[TALLY_PENDING] += woken - wait->start;
		sums->count[TALLY_PENDING]++;
	}
	if (wait->woken) {
		sums->value[TALLY_QUEUED] += wait->end - woken;
		sums->count[TALLY_QUEUED]++;
	}
	return profile->also.wait ? profile->also.wait(profile->also.data, wait) : 0;
}

static int on_sample(void *data, const struct model_sample *sample)
{
	struct profile *profile = data;

	if (!(sample->flags & SAMPLE_ASLEEP)) {
		struct tally_sums *sums = tally_sums(&profile->tally, sample->task, sample->stack);

		if (!sums)
			return -ENOMEM;
		sums->value[TALLY_CPU] += sample->weight;
		sums->count[TALLY_CPU]++;
	}
	return profile->also.sample ? profile->also.sample(profile->also.data, sample) : 0;
}

static int on_task(void *data, struct model_task *task)
{
	struct profile *profile = data;

	if (!profile->tally.no_tasks && tally_task_ended(&profile->tally, task) < 0)
		return -ENOMEM;
	return profile->also.task ? profile->also.task(profile->also.data, task) : 0;
}

static void on_dropped(void *data, struct model_task *task)
{
	struct profile *profile = data;

	if (!profile->tally.no_tasks)
		tally_task_dropped(task);
	if (profile->also.dropped)
		profile->also.dropped(profile->also.data, task);
}

static int on_created(void *data, struct model_task *task)
{
	const struct model_sink *also = &((struct profile *)data)->also;

	return also->created ? also->created(also->data, task) : 0;
}

static int on_idle(void *data, uint32_t thread, uint64_t start, uint64_t end)
{
	const struct model_sink *also = &((struct profile *)data)->also;

	return also->idle ? also->idle(also->data, thread, start, end) : 0;
}

static int on_loop(void *data, const struct model_loop *loop)
{
	const struct model_sink *also = &((struct profile *)data)->also;

	return also->loop ? also->loop(also->data, loop) : 0;
}

static void on_progress(void *data, uint64_t done, uint64_t all)
{
	const struct profile_options *options = ((struct profile *)data)->options;

	options->progress(options->progress_data, done, all);
}

/* Node 0 stands for all: it has no name. */
static uint32_t add_node(struct profile *profile, uint32_t parent, uint32_t name)
{
	struct profile_node *nodes =
		grow(profile->nodes, profile->count, &profile->capacity, 1024, sizeof(*nodes));
	struct profile_node *node;

	if (!nodes)
		return NOWHERE;
	profile->nodes = nodes;
	node = &profile->nodes[profile->count];
	*node = (struct profile_node){.parent = parent, .name = name};
	if (profile->count)
		node->depth = profile->nodes[parent].depth + 1;
	return profile->count++;
}

/* The child of this name; NOWHERE: no memory. */
static uint32_t child_of(struct profile *profile, uint32_t parent, uint32_t name)
{
	uint64_t key = (uint64_t)parent << 32 | name;
	uint32_t *known, node;

	if (parent == NOWHERE || name == NOWHERE)
		return NOWHERE;
	known = map_find(&profile->children, key);
	if (known)
		return *known;
	node = add_node(profile, parent, name);
	if (node == NOWHERE || map_put(&profile->children, key, node) < 0)
		return NOWHERE;
	return node;
}

static uint32_t note_on(struct profile *profile, uint32_t parent, const char *text)
{
	return child_of(profile, parent, frames_note(profile->frames, text));
}

static bool path_add(struct profile *profile, uint32_t at, uint32_t stack)
{
	uint32_t *path = grow(profile->path, at, &profile->path_capacity, 256, sizeof(*path));

	if (!path)
		return false;
	profile->path = path;
	profile->path[at] = stack;
	return true;
}

/* The names of one frame of the tree, on top of each other. */
static uint32_t climb(struct profile *profile, uint32_t node, uint32_t stack)
{
	const uint32_t *names;
	uint32_t count = frames_of(profile->frames, stack, &names);

	if (!count)
		return NOWHERE;
	for (uint32_t i = 0; i < count; i++)
		node = child_of(profile, node, names[i]);
	return node;
}

/* Where a stack of the tree is, under its label if it has one; NOWHERE: no memory. */
static uint32_t node_of(struct profile *profile, uint32_t label, uint32_t stack)
{
	const struct tree *tree = model_tree(profile->model);
	uint64_t key = (uint64_t)(label + 1) << 32;
	uint32_t node = 0, left = 0, *known = NULL;

	for (; stack; stack = tree_at(tree, stack)->parent) {
		known = map_find(&profile->stacks, key | stack);
		if (known)
			break;
		if (!path_add(profile, left++, stack))
			return NOWHERE;
	}
	if (known)
		node = *known;
	else if (label != TALLY_NO_LABEL)
		node = note_on(profile, 0, texts_get(profile->tally.labels, label));
	while (left && node != NOWHERE) {
		node = climb(profile, node, profile->path[--left]);
		if (map_put(&profile->stacks, key | profile->path[left], node) < 0)
			return NOWHERE;
	}
	return node;
}

static struct behind *behind_of(struct profile *profile, uint32_t node, enum tally_kind kind)
{
	uint64_t key = (uint64_t)node << 2 | kind;
	uint32_t *known = map_find(&profile->behind_index, key);
	struct behind *behind;

	if (known)
		return &profile->behind[*known];
	behind = grow(profile->behind, profile->behind_count, &profile->behind_capacity, 256,
		      sizeof(*behind));
	if (!behind)
		return NULL;
	profile->behind = behind;
	if (map_put(&profile->behind_index, key, profile->behind_count) < 0)
		return NULL;
	profile->behind[profile->behind_count] = (struct behind){0};
	return &profile->behind[profile->behind_count++];
}

static int by_value(const void *a, const void *b)
{
	const struct tally_task *one = a, *two = b;

	if (one->value != two->value)
		return one->value < two->value ? 1 : -1;
	return one->id < two->id ? -1 : one->id > two->id;
}

/* Several stacks may be one node: their tasks are put together. */
static int add_behind(struct profile *profile, uint32_t node, const struct tally_cell *cell)
{
	struct behind *behind = behind_of(profile, node, cell->kind);
	struct tally_task all[2 * TALLY_TASKS];
	uint32_t count;

	if (!behind)
		return -ENOMEM;
	count = behind->count;
	memcpy(all, behind->tasks, count * sizeof(*all));
	for (uint32_t i = 0; i < cell->task_count; i++) {
		uint32_t at = 0;

		while (at < count && all[at].id != cell->tasks[i].id)
			at++;
		if (at < count)
			all[at].value += cell->tasks[i].value;
		else
			all[count++] = cell->tasks[i];
	}
	qsort(all, count, sizeof(*all), by_value);
	behind->count = count < TALLY_TASKS ? count : TALLY_TASKS;
	memcpy(behind->tasks, all, behind->count * sizeof(*all));
	return 0;
}

static int add_cell(struct profile *profile, const struct tally_cell *cell)
{
	static const char *const notes[TALLY_KINDS] = {
		[TALLY_PENDING] = "[waiting]",
		[TALLY_QUEUED] = "[queued]",
		[TALLY_RUN] = "[running]",
	};
	static const enum profile_value values[TALLY_KINDS] = {
		[TALLY_CPU] = PROFILE_CPU,
		[TALLY_PENDING] = PROFILE_WAIT,
		[TALLY_QUEUED] = PROFILE_QUEUED,
		[TALLY_RUN] = PROFILE_WALL,
	};
	enum profile_value value = values[cell->kind];
	uint32_t node = node_of(profile, cell->label, cell->stack);
	struct profile_node *at;

	if (notes[cell->kind])
		node = note_on(profile, node, notes[cell->kind]);
	else if (!cell->stack)
		node = note_on(profile, node, "[unknown]");
	if (node == NOWHERE)
		return -ENOMEM;
	at = &profile->nodes[node];
	at->self[value] += cell->value;
	at->count[value] += cell->count;
	if (cell->kind == TALLY_PENDING || cell->kind == TALLY_QUEUED) {
		at->self[PROFILE_WALL] += cell->value;
		at->count[PROFILE_WALL] += cell->count;
	}
	return cell->task_count ? add_behind(profile, node, cell) : 0;
}

/* Parents come before their children. */
static void sum_up(struct profile *profile)
{
	for (uint32_t i = profile->count; i--;) {
		struct profile_node *node = &profile->nodes[i];

		for (unsigned value = 0; value < PROFILE_VALUES; value++) {
			node->total[value] += node->self[value];
			if (i)
				profile->nodes[node->parent].total[value] += node->total[value];
		}
	}
}

static int by_total(const void *a, const void *b, void *data)
{
	static const enum profile_value order[] = {PROFILE_CPU, PROFILE_WALL};
	const struct profile *profile = data;
	const struct profile_node *one = &profile->nodes[*(const uint32_t *)a];
	const struct profile_node *two = &profile->nodes[*(const uint32_t *)b];

	if (one->parent != two->parent)
		return one->parent < two->parent ? -1 : 1;
	for (unsigned i = 0; i < 2; i++)
		if (one->total[order[i]] != two->total[order[i]])
			return one->total[order[i]] < two->total[order[i]] ? 1 : -1;
	return strcmp(frames_name(profile->frames, one->name)->function,
		      frames_name(profile->frames, two->name)->function);
}

/* Links the children of each node, the largest first. */
static int link_up(struct profile *profile)
{
	uint32_t *order = calloc(profile->count, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 1; i < profile->count; i++)
		order[i] = i;
	qsort_r(order + 1, profile->count - 1, sizeof(*order), by_total, profile);
	for (uint32_t i = profile->count; i-- > 1;) {
		struct profile_node *node = &profile->nodes[order[i]];

		node->next_sibling = profile->nodes[node->parent].first_child;
		profile->nodes[node->parent].first_child = order[i];
	}
	free(order);
	return 0;
}

static int build(struct profile *profile)
{
	if (add_node(profile, 0, 0) == NOWHERE || tally_finish(&profile->tally) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile->tally.count; i++)
		if (add_cell(profile, &profile->tally.cells[i]) < 0)
			return -ENOMEM;
	sum_up(profile);
	return link_up(profile);
}

/* Gives up what was needed only to make it. */
static void slim(struct profile *profile)
{
	map_fini(&profile->children);
	free(profile->tally.cells);
	profile->tally.cells = NULL;
	profile->options = NULL;
}

static int init(struct profile *profile, const struct profile_options *options)
{
	profile->options = options;
	if (tally_init(&profile->tally) < 0 || map_init(&profile->children, UINT32_MAX) < 0 ||
	    map_init(&profile->stacks, UINT32_MAX) < 0 ||
	    map_init(&profile->behind_index, UINT32_MAX) < 0 ||
	    model_new(&profile->model, options->reader) < 0 ||
	    frames_new(&profile->frames, model_tree(profile->model), options->symbols) < 0)
		return -ENOMEM;
	profile->tally.by_label = options->by_task;
	profile->tally.task = options->task;
	profile->tally.label = options->label;
	profile->tally.no_tasks = options->no_tasks;
	if (options->to)
		model_set_window(profile->model, options->from, options->to);
	if (options->also)
		profile->also = *options->also;
	if (options->also_begin)
		options->also_begin(profile->also.data, profile->model);
	model_set_splice(profile->model, (struct splice_anchors){0}, naming_same_function,
			 options->symbols);
	model_set_labels(profile->model, naming_site_label, options->symbols);
	model_set_folds(profile->model, naming_surely_same, options->symbols);
	return 0;
}

int profile_new(struct profile **ret, const struct profile_options *options, struct diag *diag)
{
	cleanup(profile_freep) struct profile *profile = calloc(1, sizeof(*profile));
	struct model_sink sink = {
		.created = on_created,
		.run = on_run,
		.wait = on_wait,
		.sample = on_sample,
		.task = on_task,
		.dropped = on_dropped,
		.soon = options->no_tasks ? NULL : on_soon,
		.idle = on_idle,
		.loop = on_loop,
		.progress = options->progress ? on_progress : NULL,
		.data = profile,
	};
	int r = profile ? init(profile, options) : -ENOMEM;

	if (r == 0)
		r = model_read(profile->model, &sink, diag);
	if (r == 0)
		r = build(profile);
	if (r < 0)
		return r == -ENOMEM ? diag_set(diag, r, "out of memory") : r;
	profile->totals = *model_totals(profile->model);
	slim(profile);
	*ret = take(profile);
	return 0;
}

struct profile *profile_free(struct profile *profile)
{
	if (!profile)
		return NULL;
	model_free(profile->model);
	tally_fini(&profile->tally);
	frames_free(profile->frames);
	free(profile->nodes);
	map_fini(&profile->children);
	map_fini(&profile->stacks);
	map_fini(&profile->behind_index);
	free(profile->behind);
	free(profile->path);
	free(profile);
	return NULL;
}

uint32_t profile_count(const struct profile *profile)
{
	return profile->count;
}

const struct profile_node *profile_at(const struct profile *profile, uint32_t node)
{
	return &profile->nodes[node];
}

const struct profile_name *profile_name(const struct profile *profile, uint32_t name)
{
	return frames_name(profile->frames, name);
}

uint32_t profile_name_count(const struct profile *profile)
{
	return frames_count(profile->frames);
}

const struct model_totals *profile_totals(const struct profile *profile)
{
	return &profile->totals;
}

const struct tree *profile_tree(const struct profile *profile)
{
	return model_tree(profile->model);
}

uint32_t profile_stack(const struct profile *profile, uint32_t stack)
{
	const uint32_t *found = map_find(&profile->stacks, stack);

	return found ? *found : 0;
}

static const struct behind *find_behind(const struct profile *profile, uint32_t node,
					enum tally_kind kind)
{
	const uint32_t *found = map_find(&profile->behind_index, (uint64_t)node << 2 | kind);

	return found ? &profile->behind[*found] : NULL;
}

uint32_t profile_tasks(const struct profile *profile, uint32_t node, enum profile_value value,
		       struct profile_task *ret, uint32_t most)
{
	static const enum tally_kind kinds[PROFILE_VALUES] = {
		[PROFILE_CPU] = TALLY_CPU,
		[PROFILE_WAIT] = TALLY_PENDING,
		[PROFILE_QUEUED] = TALLY_QUEUED,
		[PROFILE_WALL] = TALLY_RUN,
	};
	const struct behind *behind = find_behind(profile, node, kinds[value]);
	uint32_t count;

	/* Of the wall time, a node has one kind only: its note says which. */
	if (!behind && value == PROFILE_WALL)
		behind = find_behind(profile, node, TALLY_PENDING);
	if (!behind && value == PROFILE_WALL)
		behind = find_behind(profile, node, TALLY_QUEUED);
	count = behind ? behind->count : 0;
	if (count > most)
		count = most;
	for (uint32_t i = 0; i < count; i++)
		ret[i] = (struct profile_task){
			.id = behind->tasks[i].id,
			.label = texts_get(profile->tally.labels, behind->tasks[i].label),
			.value = behind->tasks[i].value,
		};
	return count;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "view/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/hash.h"
#include "view/flame_graph.h"

#define LIMIT (1u << 28)      /* of anything */
#define SHARES_BEFORE_TRIM 4u /* times what is kept in the end */

DEFINE_FREEP(struct flame, flame_free)

void *flame_array_add(struct flame_array *array, size_t size)
{
	char *at;

	if (array->count == array->capacity) {
		uint32_t capacity = array->capacity ? array->capacity * 2 : 64;
		void *bigger = capacity > LIMIT ? NULL : reallocarray(array->at, capacity, size);

		if (!bigger)
			return NULL;
		array->at = bigger;
		array->capacity = capacity;
	}
	at = (char *)array->at + size * array->count++;
	return memset(at, 0, size);
}

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

/* The place of a string among the interned ones; 0, which is "", if there is no memory. */
static uint32_t intern(struct flame *flame, const char *text)
{
	char **strings = flame->strings.at, **slot;
	const uint32_t *found;
	uint64_t seed = 0, key;

	text = text_or_empty(text);
	for (;; seed++) {
		key = hash_xxh64(text, strlen(text), seed);
		found = map_find(&flame->string_index, key);
		if (!found)
			break;
		if (strcmp(strings[*found], text) == 0)
			return *found;
	}
	slot = flame_array_add(&flame->strings, sizeof(*slot));
	if (slot)
		*slot = strdup(text);
	if (!slot || !*slot || map_put(&flame->string_index, key, flame->strings.count - 1) < 0) {
		flame->bad = true;
		return 0;
	}
	return flame->strings.count - 1;
}

/* The line may differ between two builds that are compared. */
static bool same_name(const struct flame_name *one, const struct flame_name *two)
{
	return one->function == two->function && one->module == two->module &&
	       one->file == two->file && one->kind == two->kind;
}

uint32_t flame_add_name(struct flame *flame, const struct profile_name *name)
{
	struct flame_name made = {
		.function = intern(flame, name->function),
		.module = intern(flame, name->module),
		.file = intern(flame, name->file),
		.line = name->line,
		.kind = name->kind,
	};
	uint32_t parts[] = {made.function, made.module, made.file, made.kind};
	const uint32_t *found;
	struct flame_name *slot;
	uint64_t seed = 0, key;

	for (;; seed++) {
		key = hash_xxh64(parts, sizeof(parts), seed);
		found = map_find(&flame->name_index, key);
		if (!found)
			break;
		if (same_name(flame_name(flame, *found), &made))
			return *found;
	}
	slot = flame_array_add(&flame->names, sizeof(*slot));
	if (!slot || map_put(&flame->name_index, key, flame->names.count - 1) < 0) {
		flame->bad = true;
		return 0;
	}
	*slot = made;
	return flame->names.count - 1;
}

bool flame_make_values(struct flame *flame, enum flame_side side)
{
	struct flame_array *values = &flame->values[side];

	while (values->count < flame->nodes.count)
		if (!flame_array_add(values, sizeof(struct flame_values)))
			return false;
	return true;
}

uint32_t flame_add_child(struct flame *flame, uint32_t parent, uint32_t name)
{
	uint64_t key = (uint64_t)parent << 32 | name;
	const uint32_t *found = map_find(&flame->children, key);
	struct flame_node *node;

	if (found)
		return *found;
	node = flame->bad ? NULL : flame_array_add(&flame->nodes, sizeof(*node));
	if (!node || map_put(&flame->children, key, flame->nodes.count - 1) < 0 ||
	    !flame_make_values(flame, FLAME_THIS) ||
	    (flame_is_comparison(flame) && !flame_make_values(flame, FLAME_OTHER))) {
		flame->bad = true;
		return 0;
	}
	*node = (struct flame_node){
		.parent = parent, .name = name, .depth = flame_at(flame, parent)->depth + 1};
	return flame->nodes.count - 1;
}

void flame_add_self(struct flame *flame, uint32_t node, enum flame_side side,
		    enum profile_value value, uint64_t ns, uint64_t count)
{
	struct flame_values *values;

	if (!flame_make_values(flame, side)) {
		flame->bad = true;
		return;
	}
	values = (struct flame_values *)flame->values[side].at + node;
	values->self[value] += ns;
	values->count[value] += count;
}

static uint32_t add_task(struct flame *flame, const struct profile_task *task)
{
	const uint32_t *found = map_find(&flame->task_index, task->id);
	struct flame_task *slot;

	if (found)
		return *found;
	slot = flame_array_add(&flame->tasks, sizeof(*slot));
	if (!slot || map_put(&flame->task_index, task->id, flame->tasks.count - 1) < 0) {
		flame->bad = true;
		return 0;
	}
	*slot = (struct flame_task){.id = task->id, .label = intern(flame, task->label)};
	return flame->tasks.count - 1;
}

void flame_add_task(struct flame *flame, uint32_t node, enum profile_value value,
		    const struct profile_task *task)
{
	uint32_t number = add_task(flame, task);
	struct flame_share *share;

	if (flame->shares.count >= SHARES_BEFORE_TRIM * FLAME_TASKS_MOST)
		flame_trim_shares(flame, FLAME_TASKS_MOST);
	share = flame->bad ? NULL : flame_array_add(&flame->shares, sizeof(*share));
	if (!share) {
		flame->bad = true;
		return;
	}
	*share = (struct flame_share){
		.node = node, .task = number, .value = value, .ns = task->value};
}

int flame_new(struct flame **ret)
{
	cleanup(flame_freep) struct flame *flame = calloc(1, sizeof(*flame));

	if (!flame || map_init(&flame->children, LIMIT) < 0 ||
	    map_init(&flame->name_index, LIMIT) < 0 || map_init(&flame->string_index, LIMIT) < 0 ||
	    map_init(&flame->task_index, LIMIT) < 0)
		return -ENOMEM;
	/* The root, whose name is 0: nothing. */
	if (!flame_array_add(&flame->nodes, sizeof(struct flame_node)) ||
	    !flame_make_values(flame, FLAME_THIS))
		return -ENOMEM;
	flame_add_name(flame, &(struct profile_name){.kind = PROFILE_NOTE});
	if (flame->bad)
		return -ENOMEM;
	*ret = take(flame);
	return 0;
}

struct flame *flame_free(struct flame *flame)
{
	if (!flame)
		return NULL;
	for (uint32_t i = 0; i < flame->strings.count; i++)
		free(((char **)flame->strings.at)[i]);
	free(flame->strings.at);
	free(flame->nodes.at);
	for (uint32_t side = 0; side < FLAME_SIDES; side++)
		free(flame->values[side].at);
	free(flame->names.at);
	free(flame->tasks.at);
	free(flame->shares.at);
	map_fini(&flame->children);
	map_fini(&flame->name_index);
	map_fini(&flame->string_index);
	map_fini(&flame->task_index);
	free(flame);
	return NULL;
}

uint32_t flame_count(const struct flame *flame)
{
	return flame->nodes.count;
}

const struct flame_node *flame_at(const struct flame *flame, uint32_t node)
{
	return (const struct flame_node *)flame->nodes.at + node;
}

const struct flame_values *flame_values(const struct flame *flame, uint32_t node,
					enum flame_side side)
{
	static const struct flame_values none;

	if (node >= flame->values[side].count)
		return &none;
	return (const struct flame_values *)flame->values[side].at + node;
}

uint32_t flame_name_count(const struct flame *flame)
{
	return flame->names.count;
}

const struct flame_name *flame_name(const struct flame *flame, uint32_t name)
{
	return (const struct flame_name *)flame->names.at + name;
}

uint32_t flame_string_count(const struct flame *flame)
{
	return flame->strings.count;
}

const char *flame_string(const struct flame *flame, uint32_t string)
{
	return ((char *const *)flame->strings.at)[string];
}

uint32_t flame_task_count(const struct flame *flame)
{
	return flame->tasks.count;
}

const struct flame_task *flame_task(const struct flame *flame, uint32_t task)
{
	return (const struct flame_task *)flame->tasks.at + task;
}

uint32_t flame_share_count(const struct flame *flame)
{
	return flame->shares.count;
}

const struct flame_share *flame_share(const struct flame *flame, uint32_t share)
{
	return (const struct flame_share *)flame->shares.at + share;
}

bool flame_is_comparison(const struct flame *flame)
{
	return flame->values[FLAME_OTHER].count > 0;
}

uint32_t flame_folded(const struct flame *flame)
{
	return flame->folded;
}

uint32_t flame_next(const struct flame *flame, uint32_t node)
{
	if (flame_at(flame, node)->first_child)
		return flame_at(flame, node)->first_child;
	while (node && !flame_at(flame, node)->next_sibling)
		node = flame_at(flame, node)->parent;
	return flame_at(flame, node)->next_sibling;
}

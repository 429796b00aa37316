/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, for flamegraph.pl, inferno and many others: a line for each
 * stack, frames from the root on with ';' between them, and microseconds.
 *
 * Such tools know a frame's kind by how its name ends: _[i] is inlined; we say
 * _[a] for one that awaits.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "util/buffer.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "view/export_formats.h"
#include "view/texts.h"
#include "view/utf8.h"

DEFINE_FREEP(struct profile, profile_free)

/*
 * The profile's tree once more, by what is written of its frames: functions of one name in two
 * files are two nodes there, and one here, so that no stack is written twice.
 */
struct fold {
	const struct profile *profile;
	struct texts *texts; /* of frames */
	uint32_t *text_of;   /* of the profile's names: which text */
	uint32_t *node_of;   /* of the profile's nodes: which of these */
	struct fold_node *nodes;
	uint32_t count;
	struct map children; /* parent and text to node */
	uint32_t *path;      /* has room for the deepest stack */
};

struct fold_node {
	uint32_t parent; /* 0: the root */
	uint32_t text;
	uint64_t self; /* ns */
};

static int fold_init(struct fold *fold, const struct profile *profile)
{
	uint32_t count = profile_count(profile);
	int r;

	*fold = (struct fold){.profile = profile, .count = 1};
	fold->text_of = calloc(profile_name_count(profile) + 1, sizeof(*fold->text_of));
	fold->node_of = calloc(count, sizeof(*fold->node_of));
	fold->nodes = calloc(count, sizeof(*fold->nodes));
	fold->path = calloc(count, sizeof(*fold->path));
	r = texts_new(&fold->texts);
	if (r == 0)
		r = map_init(&fold->children, count);
	return fold->text_of && fold->node_of && fold->nodes && fold->path ? r : -ENOMEM;
}

static void fold_fini(struct fold *fold)
{
	map_fini(&fold->children);
	texts_free(fold->texts);
	free(fold->path);
	free(fold->nodes);
	free(fold->node_of);
	free(fold->text_of);
}

static void put_name(struct buffer *to, const char *name)
{
	while (*name) {
		unsigned char byte = (unsigned char)*name;
		size_t length = utf8_length(name);

		if (length == 0)
			buffer_put(to, "\xef\xbf\xbd", 3);
		else if (byte == ';')
			buffer_put_u8(to, ':');
		else if (byte < ' ' || byte == 0x7f)
			buffer_put_u8(to, ' ');
		else
			buffer_put(to, name, length);
		name += length ? length : 1;
	}
}

static const char *annotation(uint32_t kind)
{
	switch (kind) {
	case PROFILE_AWAIT:
	case PROFILE_ARMED:
		return "_[a]";
	case PROFILE_INLINED:
		return "_[i]";
	default:
		return "";
	}
}

/* What is written of each name. */
static int name_frames(struct fold *fold, bool plain)
{
	struct buffer text = BUFFER_INIT(SIZE_MAX);
	int r = 0;

	for (uint32_t i = 0; i < profile_name_count(fold->profile) && r == 0; i++) {
		const struct profile_name *name = profile_name(fold->profile, i);

		text.length = 0;
		put_name(&text, *name->function ? name->function : "[unknown]");
		put_name(&text, plain ? "" : annotation(name->kind));
		buffer_put_u8(&text, '\0');
		if (!text.bad)
			fold->text_of[i] = texts_add(fold->texts, (const char *)text.bytes);
		if (text.bad || fold->text_of[i] == UINT32_MAX)
			r = -ENOMEM;
	}
	buffer_fini(&text);
	return r;
}

/* Adds up the nodes that are written alike; each comes after its parent. */
static int fold_nodes(struct fold *fold, enum profile_value value)
{
	for (uint32_t i = 1; i < profile_count(fold->profile); i++) {
		const struct profile_node *node = profile_at(fold->profile, i);
		uint32_t parent = fold->node_of[node->parent];
		uint32_t text = fold->text_of[node->name];
		uint64_t key = (uint64_t)parent << 32 | text;
		uint32_t *found = map_find(&fold->children, key);

		fold->node_of[i] = found ? *found : fold->count;
		if (!found) {
			if (map_put(&fold->children, key, fold->count) < 0)
				return -ENOMEM;
			fold->nodes[fold->count++] = (struct fold_node){parent, text, 0};
		}
		fold->nodes[fold->node_of[i]].self += node->self[value];
	}
	return 0;
}

static void put_stack(const struct fold *fold, FILE *to, uint32_t node)
{
	uint32_t depth = 0;

	for (; node; node = fold->nodes[node].parent)
		fold->path[depth++] = fold->nodes[node].text;
	while (depth-- > 0) {
		fputs_unlocked(texts_get(fold->texts, fold->path[depth]), to);
		putc_unlocked(depth ? ';' : ' ', to);
	}
}

static void put_all(const struct fold *fold, struct export *export)
{
	for (uint32_t i = 1; i < fold->count && !export_status(export); i++) {
		/* Whole numbers only: what is less than half a microsecond is left out. */
		uint64_t us = (fold->nodes[i].self + 500) / 1000;

		if (!us)
			continue;
		put_stack(fold, export->to, i);
		fprintf(export->to, "%" PRIu64 "\n", us);
	}
}

static enum profile_value choose(const struct export *export)
{
	for (enum profile_value value = 0; value < PROFILE_VALUES; value++)
		if (export->values >> value & 1)
			return value;
	return PROFILE_CPU;
}

static int put_profile(struct export *export, const struct profile *profile,
		       enum profile_value value)
{
	struct fold fold;
	int r = fold_init(&fold, profile);

	if (r == 0)
		r = name_frames(&fold, export->plain);
	if (r == 0)
		r = fold_nodes(&fold, value);
	if (r == 0) {
		export->empty = profile_at(profile, 0)->total[value] == 0;
		put_all(&fold, export);
	}
	fold_fini(&fold);
	return r;
}

static int write_folded(struct export *export, struct diag *diag)
{
	cleanup(profile_freep) struct profile *profile = NULL;
	struct profile_options options = {
		.reader = export->reader,
		.symbols = export->symbols,
		.progress = export->progress,
		.progress_data = export->progress_data,
	};
	int r = profile_new(&profile, &options, diag);

	if (r == 0)
		r = put_profile(export, profile, choose(export));
	return r == -ENOMEM ? diag_set(diag, r, "out of memory") : r;
}

const struct export_format export_folded = {
	.name = "folded",
	.opens = "flamegraph.pl or inferno-flamegraph",
	.values = 1u << PROFILE_CPU | 1u << PROFILE_WAIT | 1u << PROFILE_WALL,
	.one_value = true,
	.write = write_folded,
};

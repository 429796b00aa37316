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

#include "util/cleanup.h"
#include "view/export_formats.h"
#include "view/utf8.h"

DEFINE_FREEP(struct profile, profile_free)

static void put_name(FILE *to, const char *name)
{
	while (*name) {
		unsigned char byte = (unsigned char)*name;
		size_t length = utf8_length(name);

		if (length == 0)
			fputs_unlocked("\xef\xbf\xbd", to);
		else if (byte == ';')
			putc_unlocked(':', to);
		else if (byte < ' ' || byte == 0x7f)
			putc_unlocked(' ', to);
		else
			fwrite_unlocked(name, 1, length, to);
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

static void put_frame(const struct export *export, const struct profile_name *name)
{
	put_name(export->to, *name->function ? name->function : "[unknown]");
	if (!export->plain)
		fputs_unlocked(annotation(name->kind), export->to);
}

/* `path` has room for the deepest stack. */
static void put_stack(const struct export *export, const struct profile *profile, uint32_t node,
		      uint32_t *path)
{
	uint32_t depth = 0;

	for (; node; node = profile_at(profile, node)->parent)
		path[depth++] = node;
	while (depth-- > 0) {
		put_frame(export, profile_name(profile, profile_at(profile, path[depth])->name));
		putc_unlocked(depth ? ';' : ' ', export->to);
	}
}

static int put_all(struct export *export, const struct profile *profile, enum profile_value value)
{
	uint32_t deepest = 0, *path;

	for (uint32_t i = 1; i < profile_count(profile); i++)
		if (profile_at(profile, i)->depth > deepest)
			deepest = profile_at(profile, i)->depth;
	path = calloc(deepest + 1, sizeof(*path));
	if (!path)
		return -ENOMEM;
	export->empty = profile_at(profile, 0)->total[value] == 0;
	for (uint32_t i = 1; i < profile_count(profile) && !export_status(export); i++) {
		/* Whole numbers only: what is less than half a microsecond is left out. */
		uint64_t us = (profile_at(profile, i)->self[value] + 500) / 1000;

		if (!us)
			continue;
		put_stack(export, profile, i, path);
		fprintf(export->to, "%" PRIu64 "\n", us);
	}
	free(path);
	return 0;
}

static enum profile_value choose(const struct export *export)
{
	for (enum profile_value value = 0; value < PROFILE_VALUES; value++)
		if (export->values >> value & 1)
			return value;
	return PROFILE_CPU;
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
		r = put_all(export, profile, choose(export));
	return r == -ENOMEM ? diag_set(diag, r, "out of memory") : r;
}

const struct export_format export_folded = {
	.name = "folded",
	.opens = "flamegraph.pl or inferno-flamegraph",
	.values = 1u << PROFILE_CPU | 1u << PROFILE_WAIT | 1u << PROFILE_WALL,
	.one_value = true,
	.write = write_folded,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file for https://www.speedscope.app: a profile for each kind of time, of
 * stacks with their weights.
 */
#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "view/export_formats.h"
#include "view/json.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

DEFINE_FREEP(struct profile, profile_free)

struct writer {
	const struct export *export;
	const struct profile *profile;
	struct json json;
	uint32_t *path; /* room for the deepest stack */
};

static const struct {
	enum profile_value value;
	const char *title;
} parts[] = {
	{PROFILE_CPU, "CPU"},
	{PROFILE_WAIT, "wait"},
	{PROFILE_WALL, "wall"},
};

static void put_frames(struct writer *writer)
{
	struct json *json = &writer->json;

	json_open(json, "shared", '{');
	json_open(json, "frames", '[');
	for (uint32_t i = 0; i < profile_name_count(writer->profile); i++) {
		const struct profile_name *name = profile_name(writer->profile, i);

		json_open(json, NULL, '{');
		json_text(json, "name", name->function);
		if (*name->file)
			json_text(json, "file", name->file);
		if (name->line)
			json_number(json, "line", name->line);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void put_stack(struct writer *writer, uint32_t node)
{
	uint32_t depth = 0;

	for (; node; node = profile_at(writer->profile, node)->parent)
		writer->path[depth++] = profile_at(writer->profile, node)->name;
	json_open(&writer->json, NULL, '[');
	while (depth-- > 0)
		json_number(&writer->json, NULL, writer->path[depth]);
	json_close(&writer->json, ']');
}

/* Each stack once, and its weight at the same place of the other array. */
static void put_profile(struct writer *writer, enum profile_value value, const char *title)
{
	const struct profile *profile = writer->profile;
	struct json *json = &writer->json;

	json_open(json, NULL, '{');
	json_text(json, "type", "sampled");
	json_text(json, "name", title);
	json_text(json, "unit", "nanoseconds");
	json_number(json, "startValue", 0);
	json_number(json, "endValue", profile_at(profile, 0)->total[value]);
	json_open(json, "samples", '[');
	for (uint32_t i = 1; i < profile_count(profile) && !export_status(writer->export); i++)
		if (profile_at(profile, i)->self[value])
			put_stack(writer, i);
	json_close(json, ']');
	json_open(json, "weights", '[');
	for (uint32_t i = 1; i < profile_count(profile); i++)
		if (profile_at(profile, i)->self[value])
			json_number(json, NULL, profile_at(profile, i)->self[value]);
	json_close(json, ']');
	json_close(json, '}');
}

/* Of the profiles, the first that has anything in it. */
static uint32_t first_of_use(const struct writer *writer)
{
	uint32_t index = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!export_wants(writer->export, parts[i].value))
			continue;
		if (profile_at(writer->profile, 0)->total[parts[i].value])
			return index;
		index++;
	}
	return 0;
}

static void put_all(struct writer *writer)
{
	struct json *json = &writer->json;
	char program[256];

	export_program(writer->export, program, sizeof(program));
	json_open(json, NULL, '{');
	json_text(json, "$schema", SCHEMA);
	json_text(json, "exporter", "unweave");
	json_text(json, "name", program);
	json_number(json, "activeProfileIndex", first_of_use(writer));
	put_frames(writer);
	json_open(json, "profiles", '[');
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (export_wants(writer->export, parts[i].value))
			put_profile(writer, parts[i].value, parts[i].title);
	json_close(json, ']');
	json_close(json, '}');
	json_line(json);
}

static int put_path(struct writer *writer)
{
	uint32_t deepest = 0;

	for (uint32_t i = 1; i < profile_count(writer->profile); i++)
		if (profile_at(writer->profile, i)->depth > deepest)
			deepest = profile_at(writer->profile, i)->depth;
	writer->path = calloc(deepest + 1, sizeof(*writer->path));
	if (!writer->path)
		return -ENOMEM;
	put_all(writer);
	free(writer->path);
	return 0;
}

static int write_speedscope(struct export *export, struct diag *diag)
{
	cleanup(profile_freep) struct profile *profile = NULL;
	struct profile_options options = {
		.reader = export->reader,
		.symbols = export->symbols,
		.progress = export->progress,
		.progress_data = export->progress_data,
	};
	struct writer writer = {.export = export, .json = {.to = export->to}};
	int r = profile_new(&profile, &options, diag);

	writer.profile = profile;
	if (r == 0)
		r = put_path(&writer);
	return r == -ENOMEM ? diag_set(diag, r, "out of memory") : r;
}

const struct export_format export_speedscope = {
	.name = "speedscope",
	.opens = "https://www.speedscope.app",
	.values = 1u << PROFILE_CPU | 1u << PROFILE_WAIT | 1u << PROFILE_WALL,
	.write = write_speedscope,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "model/anchors.h"

#include <string.h>

#include "unweave/link.h"

#define LIBRARY "libunweave.so"
#define ADAPTER "libunweave-" /* libunweave-uv.so and so on */

/* Whether the name of a file begins so. */
static bool is_named(const struct meta_text *path, const char *begin)
{
	size_t name = path->length;

	while (name && path->bytes[name - 1] != '/')
		name--;
	return path->length - name >= strlen(begin) &&
	       memcmp(path->bytes + name, begin, strlen(begin)) == 0;
}

/* A file may tell a module again. */
static void add_adapter(struct splice_options *options, struct splice_anchors range)
{
	for (uint32_t i = 0; i < options->adapter_count; i++)
		if (options->adapters[i].start == range.start)
			return;
	if (options->adapter_count < SPLICE_ADAPTERS_MAX)
		options->adapters[options->adapter_count++] = range;
}

static int find_library(void *data, const struct meta_module *module)
{
	struct splice_options *options = data;
	struct splice_anchors range = {module->start, module->end};

	if (module->start <= options->anchors.start && options->anchors.end <= module->end &&
	    is_named(&module->path, LIBRARY))
		options->plumbing = range;
	if (is_named(&module->path, ADAPTER))
		add_adapter(options, range);
	return 0;
}

struct splice_options anchors_options(const struct reader *reader)
{
	struct splice_options options = {.anchors.start = reader_anchors(reader)};

	if (!options.anchors.start)
		return options;
	options.anchors.end = options.anchors.start + UNWEAVE_ANCHORS * UNWEAVE_ANCHOR_BYTES;
	reader_dispatch(reader, &options.plumbing.start, &options.plumbing.end);
	reader_each_module(reader, find_library, &options);
	return options;
}

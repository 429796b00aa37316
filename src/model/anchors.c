/* SPDX-License-Identifier: Apache-2.0 */
#include "model/anchors.h"

#include <string.h>

#include "unweave/link.h"

#define LIBRARY "libunweave.so"

static bool is_library(const struct meta_text *path)
{
	size_t name = path->length;

	while (name && path->bytes[name - 1] != '/')
		name--;
	return path->length - name >= strlen(LIBRARY) &&
	       memcmp(path->bytes + name, LIBRARY, strlen(LIBRARY)) == 0;
}

static int find_library(void *data, const struct meta_module *module)
{
	struct splice_options *options = data;

	if (module->start <= options->anchors.start && options->anchors.end <= module->end &&
	    is_library(&module->path))
		options->plumbing = (struct splice_anchors){module->start, module->end};
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

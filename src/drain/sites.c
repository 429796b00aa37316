/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/sites.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SITE_BYTES_MAX 1040u

/* A site, copied out of the arena, and its four texts in the copy. */
struct site_copy {
	uint32_t id;
	uint32_t line;
	const char *texts[4];
	char bytes[SITE_BYTES_MAX + 1];
};

static bool copy_site(struct site_copy *copy, const struct arena_site *site, uint32_t bytes)
{
	uint32_t length = bytes - (uint32_t)sizeof(*site);
	char *at = copy->bytes;

	copy->id = site->id;
	copy->line = site->line;
	memcpy(copy->bytes, site + 1, length);
	copy->bytes[length] = '\0';
	for (int i = 0; i < 4; i++) {
		if (at > copy->bytes + length)
			return false;
		copy->texts[i] = at;
		at += strlen(at) + 1;
	}
	return true;
}

int sites_tell(const struct attachment *attachment, uint32_t *seen, sites_visit visit, void *data)
{
	const char *names = arena_names(attachment->control);
	struct site_copy copy;
	int r;

	while (*seen + sizeof(struct arena_site) <= ARENA_NAMES_BYTES) {
		struct arena_site *site = (struct arena_site *)(names + *seen);
		/* Pairs with the release in emit_site(). */
		uint32_t bytes = atomic_load_explicit(&site->bytes, memory_order_acquire);

		if (bytes < sizeof(*site) + 4 || bytes > SITE_BYTES_MAX || bytes % 8 ||
		    bytes > ARENA_NAMES_BYTES - *seen)
			break;
		*seen += bytes;
		if (!copy_site(&copy, site, bytes))
			continue;
		r = visit(data, copy.id, copy.line, copy.texts[0], copy.texts[1], copy.texts[2],
			  copy.texts[3]);
		if (r < 0)
			return r;
	}
	return 0;
}

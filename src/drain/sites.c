/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/sites.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SITE_BYTES_MAX 1064u

/* A site, copied out of the arena, and its texts in the copy. */
struct site_copy {
	struct meta_site site;
	char bytes[SITE_BYTES_MAX + 1];
};

static bool copy_site(struct site_copy *copy, const struct arena_site *site, uint32_t bytes)
{
	uint32_t length = bytes - (uint32_t)sizeof(*site);
	struct meta_text *texts[] = {&copy->site.name, &copy->site.kind, &copy->site.function,
				     &copy->site.file};
	char *at = copy->bytes;

	copy->site = (struct meta_site){.id = site->id,
					.line = site->line,
					.flags = site->flags,
					.code = site->code,
					.place = site->place,
					.under = site->under};
	memcpy(copy->bytes, site + 1, length);
	copy->bytes[length] = '\0';
	for (int i = 0; i < 4; i++) {
		if (at > copy->bytes + length)
			return false;
		*texts[i] = (struct meta_text){at, strlen(at)};
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
		r = visit(data, &copy.site);
		if (r < 0)
			return r;
	}
	return 0;
}

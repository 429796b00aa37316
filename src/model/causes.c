/* SPDX-License-Identifier: Apache-2.0 */
#include "model/causes.h"

#include <errno.h>
#include <stdlib.h>

#include "unweave/callback.h"
#include "util/grow.h"

#define DEPTH_MOST 1024u /* frames; the emitter stops at an eighth of that */

int causes_init(struct causes *causes, struct model_sites sites, struct tree *tree)
{
	*causes = (struct causes){.sites = sites, .tree = tree};
	return map_init(&causes->known, UINT32_MAX);
}

void causes_fini(struct causes *causes)
{
	map_fini(&causes->known);
	free(causes->path);
	free(causes->frames);
	*causes = (struct causes){0};
}

static uint32_t omission(struct causes *causes)
{
	return tree_child(causes->tree, 0, 0, 0, SPLICE_OMITTED);
}

/* Whether what is behind a site is not told, or only by a site that is not there. */
static bool is_cut(const struct causes *causes, const struct reader_site *site)
{
	return site->under ? !model_site(&causes->sites, site->under)
			   : site->flags & UNWEAVE_SITE_CUT;
}

/* The site under one, if that is of callbacks: what others await is no longer what it was. */
static const struct reader_site *site_under(const struct causes *causes,
					    const struct reader_site *site)
{
	const struct reader_site *under =
		site->under ? model_site(&causes->sites, site->under) : NULL;

	return under && under->code ? under : NULL;
}

/*
 * Lists the sites from this one on whose chains are still to be made, and says in
 * `*ret_node` what is behind the last. A file may have them in a circle. Returns
 * how many, or -ENOMEM.
 */
static int64_t list_unknown(struct causes *causes, const struct reader_site *site,
			    uint32_t *ret_node)
{
	const struct reader_site *last = NULL;
	const uint32_t *known = NULL;
	uint32_t count = 0;

	for (; site && !(known = map_find(&causes->known, site->id));
	     site = site_under(causes, site)) {
		const struct reader_site **path =
			grow(causes->path, count, &causes->path_capacity, 16, sizeof(*path));

		if (!path)
			return -ENOMEM;
		causes->path = path;
		if (map_put(&causes->known, site->id, 0) < 0)
			return -ENOMEM;
		path[count++] = last = site;
	}
	*ret_node = known ? *known : 0;
	if ((known && !*known) || (!known && is_cut(causes, last))) {
		*ret_node = omission(causes);
		if (!*ret_node)
			return -ENOMEM;
	}
	return count;
}

/* Puts a site's frames on those of the site under it; 0: no memory. */
static uint32_t extend(struct causes *causes, uint32_t node, const struct reader_site *site)
{
	const struct tree_node *under = tree_at(causes->tree, node);
	/* Inside of the call, as return addresses are looked up. */
	uint64_t place = site->place ? site->place - 1 : 0;

	if (under->depth >= DEPTH_MOST) {
		node = omission(causes);
		under = tree_at(causes->tree, node);
		if (!node)
			return 0;
	}
	if (place && causes->surely && node && under->kind == SPLICE_AWAIT &&
	    causes->surely(causes->surely_data, place, under->address))
		node = under->parent;
	if (place)
		node = tree_child(causes->tree, node, place, 0, SPLICE_ARMED);
	if (place && !node)
		return 0;
	return tree_child(causes->tree, node, site->code, 0, SPLICE_AWAIT);
}

int64_t causes_of(struct causes *causes, uint32_t id)
{
	const uint32_t *known = map_find(&causes->known, id);
	const struct reader_site *site;
	uint32_t node = 0;
	int64_t left;

	if (known)
		return *known;
	site = model_site(&causes->sites, id);
	if (!site || !site->code)
		return 0;
	left = list_unknown(causes, site, &node);
	for (; left > 0; left--) {
		const struct reader_site *at = causes->path[left - 1];

		node = extend(causes, node, at);
		if (!node)
			return -ENOMEM;
		*map_find(&causes->known, at->id) = node;
	}
	return left < 0 ? left : (int64_t)node;
}

uint32_t causes_behind(void *data, uint32_t site, const struct splice_frame **ret)
{
	struct causes *causes = data;
	int64_t node = causes_of(causes, site);
	uint32_t count = 0;

	causes->no_memory |= node < 0;
	if (node <= 0)
		return 0;
	for (node = tree_at(causes->tree, (uint32_t)node)->parent; node;) {
		const struct tree_node *at = tree_at(causes->tree, (uint32_t)node);
		struct splice_frame *frames =
			grow(causes->frames, count, &causes->frame_capacity, 16, sizeof(*frames));

		if (!frames) {
			causes->no_memory = true;
			return 0;
		}
		causes->frames = frames;
		frames[count++] = (struct splice_frame){.address = at->address, .kind = at->kind};
		node = at->parent;
	}
	*ret = causes->frames;
	return count;
}

bool causes_is_callback(void *data, uint32_t id)
{
	const struct causes *causes = data;
	const struct reader_site *site = model_site(&causes->sites, id);

	return site && reader_site_is_callback(site);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chains of callbacks, which nobody awaits: why they run. A site says it for
 * all of its tasks, so each site's chain is made once.
 *
 *     code of the site · place that armed it · code of the site under it · its place · …
 *
 * A place lies in the function that armed, mostly the callback that ran there:
 * then the two are one frame, if it can be told.
 */
#ifndef MODEL_CAUSES_H
#define MODEL_CAUSES_H

#include "model/sites.h"
#include "model/tree.h"
#include "util/map.h"

struct causes {
	struct model_sites sites;
	struct tree *tree;           /* borrowed */
	splice_same_function surely; /* whether two addresses are of one function; or NULL */
	void *surely_data;
	struct map known;                /* site to the stack of its chain; 0: being made */
	const struct reader_site **path; /* sites whose chains are to be made, innermost first */
	uint32_t path_capacity;
	struct splice_frame *frames;
	uint32_t frame_capacity;
	bool no_memory; /* causes_behind() had none */
};

/* Returns -ENOMEM. */
int causes_init(struct causes *causes, struct model_sites sites, struct tree *tree);
void causes_fini(struct causes *causes);

/*
 * The chain of a site's tasks, in the tree. 0: it is no site of callbacks, and its tasks have
 * chains of their own. -ENOMEM.
 */
int64_t causes_of(struct causes *causes, uint32_t site);

/*
 * A splice_cause; a struct causes is the data. All of a site's chain but its callback, innermost
 * first; until the next call.
 */
uint32_t causes_behind(void *causes, uint32_t site, const struct splice_frame **ret);
/* A splice_is_callback, with the same data. */
bool causes_is_callback(void *causes, uint32_t site);

#endif /* MODEL_CAUSES_H */

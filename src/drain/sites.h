/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the sites that the program has told its arena. */
#ifndef DRAIN_SITES_H
#define DRAIN_SITES_H

#include <stdint.h>

#include "drain/attach.h"
#include "trace/meta.h"

/* Borrowed for the call. */
typedef int (*sites_visit)(void *data, const struct meta_site *site);

/* Tells those after the first `*seen` bytes, and moves `*seen`. Stops at one that is not whole. */
int sites_tell(const struct attachment *attachment, uint32_t *seen, sites_visit visit, void *data);

#endif /* DRAIN_SITES_H */

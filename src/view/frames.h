/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the frames of a model's tree are called. One of them is several names
 * where functions were inlined into it; equal names are one.
 */
#ifndef VIEW_FRAMES_H
#define VIEW_FRAMES_H

#include <stdint.h>

#include "model/tree.h"
#include "symbol/symbol.h"
#include "view/profile.h"

struct frames;

/* Both are borrowed. Returns -ENOMEM. */
int frames_new(struct frames **ret, const struct tree *tree, struct symbols *symbols);
struct frames *frames_free(struct frames *frames);

/*
 * The names of one frame of the tree, outermost first, until the next call. How
 * many there are, at least 1; 0: no memory.
 */
uint32_t frames_of(struct frames *frames, uint32_t node, const uint32_t **ret);

/* A note as a name, of which the text is copied; UINT32_MAX: no memory. */
uint32_t frames_note(struct frames *frames, const char *text);

uint32_t frames_count(const struct frames *frames);
/* Of 0 to frames_count() - 1; until a name is added. */
const struct profile_name *frames_name(const struct frames *frames, uint32_t name);

#endif /* VIEW_FRAMES_H */

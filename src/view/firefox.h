/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a Firefox profile that its threads share: libraries, stacks,
 * frames, functions, texts. Tables are objects of columns.
 */
#ifndef VIEW_FIREFOX_H
#define VIEW_FIREFOX_H

#include <stdint.h>

#include "model/tree.h"
#include "view/code.h"
#include "view/json.h"

/* Categories of frames and markers, by their place in meta.categories. */
enum {
	FIREFOX_OTHER,
	FIREFOX_NATIVE,
	FIREFOX_AWAIT,
	FIREFOX_RUN,
	FIREFOX_PENDING,
	FIREFOX_QUEUED,
};

/* A row of stackTable. */
struct firefox_stack {
	uint32_t parent; /* row; UINT32_MAX: none */
	uint32_t frame;  /* row of frameTable */
};

/* A row of frameTable. */
struct firefox_frame {
	uint32_t location;
	uint32_t line; /* which of the location's */
	uint32_t category;
};

struct firefox {
	struct code *code;
	const struct tree *tree;
	uint32_t *rows; /* of stackTable, by node of the tree, plus 1; 0: it is not in there */
	uint32_t rows_room;
	struct map by_line; /* rows of frameTable, by line of the code and whether it awaits */
	struct firefox_stack *stacks;
	struct firefox_frame *frames;
	uint32_t stack_count, frame_count;
};

/* Both are borrowed. Returns -ENOMEM; firefox_fini() in any case. */
int firefox_init(struct firefox *firefox, struct code *code, const struct tree *tree);
void firefox_fini(struct firefox *firefox);

/* The row of a stack, which is not 0. Returns -ENOMEM. */
int firefox_stack(struct firefox *firefox, uint32_t stack, uint32_t *ret);

/* "libs" and "shared", once all stacks and texts are known. */
void firefox_put(struct firefox *firefox, struct json *json);

#endif /* VIEW_FIREFOX_H */

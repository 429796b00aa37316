/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of lints.h need of each other. */
#ifndef VIEW_LINTS_PARTS_H
#define VIEW_LINTS_PARTS_H

#include "view/lints.h"

/* Whether its tasks are functions that somebody calls: a loop, or a pool. Coroutines are not. */
bool lints_is_callback(const struct reader_site *site);

/* A text that stays; NULL: no memory. */
const char *lints_keep(struct lints *lints, const char *text);

/* A new warning; `stack` tells it from others of its kind and site. -ENOMEM. */
int lints_add(struct lints *lints, enum lint_kind kind, uint32_t site, uint32_t stack,
	      struct lint_warning **ret);

/* Has a warning name a task, if it is not one too many. */
void lints_name_task(struct lint_warning *warning, uint64_t task);

#endif /* VIEW_LINTS_PARTS_H */

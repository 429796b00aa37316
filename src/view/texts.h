/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, each kept once, with a number. */
#ifndef VIEW_TEXTS_H
#define VIEW_TEXTS_H

#include <stdint.h>

struct texts;

/* Returns -ENOMEM. */
int texts_new(struct texts **ret);
struct texts *texts_free(struct texts *texts);

/* The number of a text, from 0, in the order they came; UINT32_MAX: no memory. */
uint32_t texts_add(struct texts *texts, const char *text);

/* Stays where it is until the texts are freed. */
const char *texts_get(const struct texts *texts, uint32_t number);
uint32_t texts_count(const struct texts *texts);

#endif /* VIEW_TEXTS_H */

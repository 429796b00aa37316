/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUI_PRINT_JSON_H
#define TUI_PRINT_JSON_H

#include <stdio.h>

#include "tui/top.h"

/*
 * The picture as one line of JSON: what is known of all of it, the rows of the view, which is
 * a list, and the warnings. Times are ns, shares parts of 1, what is not known is null. -ENOMEM.
 */
int print_json(struct top *top, FILE *to);

#endif /* TUI_PRINT_JSON_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that make the data share. */
#ifndef DATA_MAKE_H
#define DATA_MAKE_H

#include "maker.h"

#define TICKS_PER_S 187500000u
#define START UINT64_C(187500000000) /* 1000 s after boot */
#define MS (TICKS_PER_S / 1000)

/* An echo server on callbacks. */
void put_callbacks(struct maker *maker);
/* One whose loop has too much to do. */
void put_behind(struct maker *maker);

#endif /* DATA_MAKE_H */

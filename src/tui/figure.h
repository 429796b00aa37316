/* SPDX-License-Identifier: Apache-2.0 */
/* Figures that fit into narrow columns. What is not known is "-", never 0. */
#ifndef TUI_FIGURE_H
#define TUI_FIGURE_H

#include <stdint.h>

#define FIGURE_UNKNOWN UINT64_MAX
#define FIGURE_WIDTH 7 /* characters that any of them takes at most */

struct figure {
	char text[24];
};

/* 890 ns, 1.23 µs, 56.7 ms, 12.3 s, 12m 34s, 5h 07m, 12d 03h. */
struct figure figure_span(uint64_t ns);

/* 999,999, then 1.23 M. */
struct figure figure_count(uint64_t count);

/* 0 %, <1 %, 37 %, 100 %; only all is 100 %. */
struct figure figure_share(uint64_t part, uint64_t whole);

#endif /* TUI_FIGURE_H */

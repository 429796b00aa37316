/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them: counts, times, sizes, shares. */
#ifndef VIEW_FIGURES_H
#define VIEW_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

struct say_number {
	char text[32];
};

/* With separators: 1,234,567. */
struct say_number say_count(uint64_t number);

/* A duration that people can read: 1.234 s, 56.7 ms. */
struct say_number say_duration(uint64_t ns);

/* A size that people can read: 93.4 kB. */
struct say_number say_bytes(uint64_t bytes);

/* The same in three digits, for tables: 1.23 s, 56.7 ms, 890 us. */
struct say_number say_span(uint64_t ns);

/* Of a whole: 12.3 %, 0.04 %; less than that is "<0.01 %", nothing "0 %". */
struct say_number say_percent(uint64_t part, uint64_t whole);

/* Whether the terminal, by the environment, shows UTF-8. */
bool say_utf8(void);

/* "1.5s", "20ms", "300us", "5ns"; no unit: seconds. False if it is none of these. */
bool figures_time(const char *text, uint64_t *ret);

#endif /* VIEW_FIGURES_H */

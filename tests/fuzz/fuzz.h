/* SPDX-License-Identifier: Apache-2.0 */
/* What every target has: its entry, a way to say what must be so, and its input byte by byte. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static inline void must(int condition)
{
	if (!condition)
		abort();
}

/* Of a target whose input is a list of steps. */
struct input {
	const uint8_t *at;
	const uint8_t *end;
};

/* 0 behind the end. */
static inline uint8_t next_byte(struct input *input)
{
	return input->at < input->end ? *input->at++ : 0;
}

#endif /* TESTS_FUZZ_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions to be unwound out of, compiled several times with other options.
 * VARIANT(x) gives each its name.
 */
#include "deep.h"

#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) int VARIANT(down)(int depth, void (*stop)(void))
{
	volatile int kept = depth;

	if (depth > 0)
		return VARIANT(down)(depth - 1, stop) + kept;
	stop();
	return kept;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Has a frame whose size nobody knows before. */
__attribute__((noinline)) static int sized(int count)
{
	volatile char *bytes = __builtin_alloca((size_t)count * 16);

	for (int i = 0; i < count * 16; i += 16)
		bytes[i] = (char)i;
	return bytes[(count - 1) * 16];
}

/* Has its frame realigned. */
__attribute__((noinline)) static int aligned(int count, ...)
{
	_Alignas(64) volatile char bytes[128];

	for (int i = 0; i < count; i++)
		bytes[i * 16] = (char)(i + sized(i + 1));
	return bytes[0];
}

/* Uses every register that it must keep. */
__attribute__((noinline)) static long busy(long a, long b, long c, long d)
{
	long e = a * 3, f = b * 5, g = c * 7, h = d * 9;

	for (int i = 0; i < 3; i++) {
		a += labs(b - e);
		b ^= (long)strlen(i & 1 ? "odd" : "even") + f;
		c -= g + a;
		d += h * b;
		e ^= c;
		f += d;
		g -= e;
		h ^= f;
	}
	return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

int VARIANT(work)(void)
{
	int values[] = {5, 3, 8, 1, 9, 2};
	int sum = 0;

	qsort(values, sizeof(values) / sizeof(values[0]), sizeof(values[0]), compare);
	sum += aligned(4, 1, 2, 3);
	sum += (int)busy(values[0], values[1], values[2], values[3]);
	return sum;
}

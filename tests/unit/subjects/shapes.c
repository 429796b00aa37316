/* SPDX-License-Identifier: Apache-2.0 */
/* A program to look up: functions inside of functions, a label without a size, a gap. */
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) unsigned innermost(unsigned value)
{
	for (unsigned i = 0; i < value % 7; i++)
		value = value * 31 + (value >> 3);
	return value;
}

static inline __attribute__((always_inline)) unsigned middle(unsigned value)
{
	if (value & 1)
		value = innermost(value + 1);
	return value ^ 0x5555;
}

__attribute__((noinline)) unsigned outer(unsigned value)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < 10; i++)
		sum += middle(value + i);
	return innermost(sum);
}

/* Optimised, its first instruction is that of a function inlined in it. */
__attribute__((noinline)) unsigned outer_begins_inside(unsigned value)
{
	return innermost(value);
}

__attribute__((noinline)) static unsigned hidden(unsigned value)
{
	return outer(value) / (value | 1);
}

__attribute__((noinline)) unsigned unlikely(unsigned value)
{
	if (__builtin_expect(value == 12345, 0)) {
		fprintf(stderr, "never %u\n", value);
		abort();
	}
	return hidden(value) + 1;
}

/* sizeless has no end but the next symbol; nameless is past the end of a function that has one. */
__asm__(".text\n"
	".globl sizeless\n"
	"sizeless:\n"
	"	.fill 16, 1, 0x90\n"
	".globl sized\n"
	".type sized, @function\n"
	"sized:\n"
	"	.fill 16, 1, 0x90\n"
	".size sized, 16\n"
	"	.fill 16, 1, 0x90\n"
	".globl last\n"
	".type last, @function\n"
	"last:\n"
	"	.fill 16, 1, 0x90\n"
	".size last, 16\n");

int main(int argc, char **argv)
{
	(void)argv;
	printf("%u\n", unlikely((unsigned)argc));
	return 0;
}

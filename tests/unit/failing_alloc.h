/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations that fail on demand. For programs linked with
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray.
 */
#ifndef TESTS_FAILING_ALLOC_H
#define TESTS_FAILING_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);

/* Volatile: a compiler may know that the real malloc() leaves them alone. */
static volatile bool alloc_watched;       /* the ones below count only now */
static volatile unsigned alloc_left;      /* until the first that fails */
static volatile unsigned alloc_fail_most; /* how many fail from there on */
static volatile unsigned alloc_failed;

static bool alloc_fails(void)
{
	if (!alloc_watched)
		return false;
	if (alloc_left > 0) {
		alloc_left--;
		return false;
	}
	if (alloc_failed == alloc_fail_most)
		return false;
	alloc_failed++;
	return true;
}

/* From here on the allocation after `left` more fails, and those after it, `most` in all. */
static void alloc_watch(unsigned left, unsigned most)
{
	alloc_left = left;
	alloc_fail_most = most;
	alloc_failed = 0;
	alloc_watched = true;
}

void *__wrap_malloc(size_t size)
{
	return alloc_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return alloc_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return alloc_fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	return alloc_fails() ? NULL : __real_reallocarray(old, count, size);
}

#endif /* TESTS_FAILING_ALLOC_H */

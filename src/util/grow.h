/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow by doubling, as things are added to them one by one. */
#ifndef UTIL_GROW_H
#define UTIL_GROW_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Makes room for one more than `count` things of `size` bytes, and for `first` at the
 * least; the array may move. NULL: no memory, and the array is as it was.
 */
static inline void *grow(void *array, uint32_t count, uint32_t *capacity, uint32_t first,
			 size_t size)
{
	uint32_t wanted = *capacity ? *capacity * 2 : first;

	if (count < *capacity)
		return array;
	if (*capacity > UINT32_MAX / 2)
		return NULL;
	array = reallocarray(array, wanted, size);
	if (array)
		*capacity = wanted;
	return array;
}

/*
 * Makes room for a thing at `index`, and for half as many more; what is new is zeros. NULL as
 * with grow().
 */
static inline void *grow_to(void *array, uint32_t index, uint32_t *capacity, size_t size)
{
	uint64_t wanted = ((uint64_t)index + 64) * 3 / 2;

	if (index < *capacity)
		return array;
	if (wanted > UINT32_MAX)
		return NULL;
	array = reallocarray(array, wanted, size);
	if (!array)
		return NULL;
	memset((char *)array + *capacity * size, 0, (wanted - *capacity) * size);
	*capacity = (uint32_t)wanted;
	return array;
}

/* As grow(), of an array that has room for the next power of two, which is kept nowhere. */
static inline void *grow_by_count(void *array, uint32_t count, size_t size)
{
	if (count & (count - 1))
		return array;
	return reallocarray(array, count ? (size_t)count * 2 : 1, size);
}

#endif /* UTIL_GROW_H */

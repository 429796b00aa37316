/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow by doubling, as things are added to them one by one. */
#ifndef UTIL_GROW_H
#define UTIL_GROW_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

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

#endif /* UTIL_GROW_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the functions of a file begin, by the index of its call frame information
 * (.eh_frame_hdr). It is there in files that have lost all of their names, so what has no
 * name can still be told apart by function.
 */
#ifndef SYMBOL_BOUNDS_H
#define SYMBOL_BOUNDS_H

#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdint.h>

/* All of it belongs to the module. */
struct bounds {
	const uint8_t *file; /* NULL: there is no index, or none of the usual form */
	size_t bytes;
	uint64_t bias;    /* from addresses in the file to those of the module */
	uint64_t address; /* of the index, in the file's addresses */
	size_t offset;    /* of the same, in the file */
	size_t table;     /* of its entries, in the file */
	uint32_t count;
};

void bounds_init(struct bounds *bounds, Dwfl_Module *module);

/* The beginning of the function that `address` is in; 0: unknown. */
uint64_t bounds_find(const struct bounds *bounds, uint64_t address);

#endif /* SYMBOL_BOUNDS_H */

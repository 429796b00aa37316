/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of code: an executable, a shared library or the vdso. Opened when the
 * first of its addresses is asked for, and only if it is the one that was
 * mapped.
 */
#ifndef SYMBOL_OBJECT_H
#define SYMBOL_OBJECT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbol/debug.h"
#include "symbol/origin.h"
#include "symbol/symbol.h"
#include "util/diag.h"

struct object;

/* Of the file of `module`, as process `pid` sees it. Returns -ENOMEM. */
int object_new(struct object **ret, const struct symbol_module *module, uint32_t pid);
struct object *object_free(struct object *object);

/* Whether `module` is a mapping of it. */
bool object_is(const struct object *object, const struct symbol_module *module);

/* False: memory that a program filled itself. */
bool object_has_file(const struct object *object);

/* Returns its length, 0 if there is none. */
size_t object_build_id(const struct object *object, const uint8_t **ret);

/* Why it could not be used; NULL: it was, or nobody asked. */
const char *object_complaint(const struct object *object);

/*
 * Turns an offset in the file into an address as the file has it, which is what
 * its own tables use. False: the file cannot be used, or has no code there.
 */
bool object_address(struct object *object, uint64_t offset, uint64_t *ret);

/*
 * Says what is known of `address`, one of the file. Names are as in the file.
 * Returns -ENOMEM, -ENOENT if the file cannot be used.
 */
int object_find(struct object *object, uint64_t address, struct debug_place *ret);

/* Whether lines and inlined functions are known: after object_find() only. */
bool object_has_lines(const struct object *object);

/* Call frame information at `address`, one of the file; free() it. NULL: there is none. */
Dwarf_Frame *object_frame(struct object *object, uint64_t address);

#endif /* SYMBOL_OBJECT_H */

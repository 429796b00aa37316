/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program's file says of how it is linked. The bytes may be anything: what
 * makes no sense is an error, or left out.
 */
#ifndef SYMBOL_LINKAGE_H
#define SYMBOL_LINKAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINKAGE_NEEDED_MAX 256u

/* Texts are borrowed from the bytes. */
struct linkage {
	bool loaded;         /* by a loader, which it names; else it is on its own, or a library */
	const char *rpath;   /* where to look for what it needs; NULL: it does not say */
	const char *runpath; /* the same, in its new form; then `rpath` does not count */
	uint32_t needed_count;
	const char *needed[LINKAGE_NEEDED_MAX]; /* names of libraries */
};

/*
 * Returns -ENOEXEC for what is no ELF file, -EPROTONOSUPPORT for one of another
 * sort of machine than this one, -EBADMSG for one that is broken.
 */
int linkage_read(struct linkage *ret, const void *bytes, size_t length);

/* Which of up to 64 functions the file defines itself: a bit for each. */
uint64_t linkage_defines(const void *bytes, size_t length, const char *const *names,
			 uint32_t count);

/* Whether it has a section of that name; stripping leaves them. */
bool linkage_has_section(const void *bytes, size_t length, const char *name);

#endif /* SYMBOL_LINKAGE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* The files behind the mappings of a process, also of one in a container. */
#ifndef SYMBOL_ORIGIN_H
#define SYMBOL_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUILD_ID_MOST 64u

/*
 * Opens the file at `path` as process `pid` sees it (0: as we do). Returns a
 * descriptor of a regular file, or -errno.
 */
int origin_open(uint32_t pid, const char *path);

/* Opens what is mapped at [start, end), also if the file is gone by now; needs rights. -errno. */
int origin_open_mapped(uint32_t pid, uint64_t start, uint64_t end);

/* Whether /proc/PID/maps said that the file was deleted. */
bool origin_is_deleted(const char *path);

/* Returns a descriptor of a copy of our own vdso, or -errno. */
int origin_open_vdso(void);

/* The build id of an ELF file; returns its length, 0 if there is none. */
size_t origin_build_id(int fd, uint8_t id[BUILD_ID_MOST]);

/* The same for one that lies in memory. */
size_t origin_build_id_in(char *image, size_t bytes, uint8_t id[BUILD_ID_MOST]);

#endif /* SYMBOL_ORIGIN_H */

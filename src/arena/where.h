/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where arenas are: BASE/unweave-UID/PID-STARTED-N, where the directory is the
 * user's alone (mode 0700) and N tells the images apart that a process went
 * through by exec: all but the present one say that they were replaced.
 * UNWEAVE_DIR in the environment of program and tool names another BASE. A
 * program that finds no place there uses a memfd of this name, which is found
 * through /proc.
 */
#ifndef ARENA_WHERE_H
#define ARENA_WHERE_H

#define ARENA_BASE "/dev/shm"
#define ARENA_BASE_VARIABLE "UNWEAVE_DIR"
#define ARENA_DIRECTORY_PREFIX "unweave-"
#define ARENA_MEMFD_NAME "unweave-arena"
#define ARENA_IMAGES_MAX 8

/*
 * PID:KEYWORDS:POLICY:CHUNKS:RECORDER:FD:COOKIE, in decimal: that process begins to record by
 * itself, and whichever inherits the variable if there is room on the recorder's board
 * (arena/board.h). The last three may be missing.
 */
#define ARENA_ARM_VARIABLE "UNWEAVE_ARM"

#endif /* ARENA_WHERE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds, maps and checks a program's arena.
 *
 * Nothing in it is believed: a program may be hostile, or broken. The sizes are
 * checked once, here, against the mapping; indices at each use, by the streams. Until
 * an attachment is guarded (cli/guard.h) nothing touches its mapping, but for that of
 * our own process: the file may be cut at any time, and is read by system calls.
 */
#ifndef DRAIN_ATTACH_H
#define DRAIN_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arena/arena.h"
#include "arena/table.h"
#include "util/diag.h"

/* Memory of a program that is no more, as a core file holds it. */
struct attach_kept {
	/* False if it is not there, or not all of it. */
	bool (*read)(void *data, uint64_t address, void *to, size_t bytes);
	void *data;
};

struct attachment {
	struct arena_control *control;
	struct arena_chunk *pool;
	uint64_t bytes;        /* mapped */
	struct table table;    /* the live tasks */
	uint32_t chunks_max;   /* that fit the mapping */
	uint64_t pool_address; /* of the pool in the program: as it was when checked */
	uint32_t pid;
	uint64_t pid_namespace; /* that `pid` is of, as the program says it: inode; 0: unknown */
	uint64_t started;
	enum arena_clock clock;
	int fd;        /* of the arena's file, locked; -1 for one of our own process */
	int directory; /* that the file is in; -1 if it has no name, or is our own */
	dev_t device;  /* with `inode`, what `fd` was opened on */
	ino_t inode;
	bool own;          /* the arena is of this very process */
	bool copied;       /* the arena is a copy: nobody writes it, or reads what we write */
	volatile bool cut; /* the file got smaller under us: see cli/guard.h */
	bool foreign;      /* of another pid namespace: its threads' numbers mean nothing here */
	char path[256];    /* of the arena's file; empty if it has no name */
	struct attach_kept kept; /* in place of the process's own memory; without `read`, none */
};

/* Maps the arena in the file that `fd` is; takes `fd` over. */
int attach_fd(struct attachment *ret, int fd, const char *path, struct diag *diag);

/* Uses the arena of this process, mapped already. */
int attach_own(struct attachment *ret, struct arena_control *control, const char *path,
	       struct diag *diag);

/*
 * Uses a copy of an arena that lies in memory, mapped, which it takes over: the
 * program is no more.
 */
int attach_copy(struct attachment *ret, void *memory, uint64_t bytes, struct diag *diag);

/* The same of one in a file, which is only read; takes `fd` over. */
int attach_left(struct attachment *ret, int fd, const char *path, struct diag *diag);

/* Takes the arena for recording. Returns -EBUSY while another does; `diag` says which. */
int attach_lock(struct attachment *attachment, struct diag *diag);
/* Somebody else may record it from now on. */
void attach_unlock(struct attachment *attachment);

void attach_fini(struct attachment *attachment);

/* Reserves memory for `chunks` chunks of the pool, or as many as may be; returns how many, or
 * -errno. */
int attach_reserve(struct attachment *attachment, uint32_t chunks);

/* The same for the ring of samples, all of it. Returns 0 or -errno. */
int attach_reserve_ring(struct attachment *attachment);

/* When the process began, as its arena says it; 0 if it is no more. A number is given again. */
uint64_t attach_started_at(uint32_t pid);

/* The arena of a process that has it in a memfd. Returns -ENOENT if it has not. */
int attach_open_memfd(uint32_t pid);

/* Whether it was begun to be recorded for a recorder that is to come: its pid; 0: for none. */
uint32_t attach_armed(const struct attachment *attachment);

/* Whether the program is still there, in the image that made this arena. */
bool attach_is_alive(const struct attachment *attachment);

/* Whether the thread `tid` of the program is still there; true where that cannot be known. */
bool attach_thread_is_alive(const struct attachment *attachment, uint32_t tid);

/* The path of the program's file, also of one that could not find it out itself; "": unknown. */
void attach_program(const struct attachment *attachment, char ret[256]);

/* Takes the name of a dead program's arena away. */
void attach_remove(struct attachment *attachment);

#endif /* DRAIN_ATTACH_H */

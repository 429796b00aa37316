/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a program, as /proc shows them to its recorder. */
#ifndef SAMPLE_THREADS_H
#define SAMPLE_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sample/pace.h"
#include "util/map.h"

struct thread {
	pid_t tid;      /* as we see it */
	uint32_t inner; /* as the program does: another one in a container */
	char name[32];
	bool seen;     /* in the scan under way, or the last one */
	bool ended;    /* nothing is left of it but its number */
	bool blocked;  /* it blocks the sampler's signal */
	bool handled;  /* the program handles it, by our handler or by another */
	bool armed;    /* it has its clock */
	bool refused;  /* it could not get one, the last time that it was tried */
	bool lacked;   /* that has been so at some time */
	uint8_t looks; /* since it was found to block the signal; a new one does, for a moment */
	int fd;        /* of its perf event; -1: none */

	/* For a clock that may change. */
	struct pace pace;
	uint32_t ordered;     /* what the program is to do for that; 0: nothing */
	bool timed;           /* a timer has taken the place of its perf event */
	bool untimed;         /* it could not */
	uint64_t timed_since; /* CPU ns of the thread, then */
	uint64_t owed; /* ns of CPU time that no clock counts any more, for its next sample */

	/* For samples by the wall clock. */
	bool sleeping;     /* or anything but running, when it was looked at last */
	uint64_t switches; /* times that it had gone to sleep by itself, then */
	bool known;        /* it was asked at all */
	bool asked;        /* since it was last seen to have gone to sleep */
	bool answered;     /* what it was asked last */
	bool late;         /* it has run since, and no answer was there yet */
	bool roused;       /* it slept when it was asked last */
	bool cut;          /* that ended the call that it slept in */
	bool anew;         /* it sleeps, and not where its last sample says */
	bool fragile;      /* the call that it sleeps in then may be one that a signal ends */
	bool returned;     /* it slept there again, the last time that `anew` was true */
	uint64_t untold;   /* ns that it slept so; its next sample says where */
	uint64_t slept;    /* ns that its last sample stands for besides its own */
	uint64_t place;    /* where that was, as stack_finder_place() has it */
	uint64_t *kept;    /* that sample, as it was taken; NULL: none */
	uint64_t kept_words;
};

/* A call into the kernel. All 0: there is none, since the thread runs. */
struct thread_call {
	long number;
	uint64_t sp;
	uint64_t pc;
};

struct threads {
	pid_t pid;
	int signal;
	struct thread *all;
	uint32_t count;
	uint32_t capacity;
};

void threads_init(struct threads *threads, pid_t pid, int signal);
/* Closes the perf events, and frees what was kept. */
void threads_fini(struct threads *threads);

/*
 * Looks which threads there are: those that ended are forgotten, new ones are
 * there with `fd` -1. Returns -errno if the program cannot be looked at.
 */
int threads_scan(struct threads *threads);

/* Looks again whether a thread blocks the signal, and what it is called; false if it is gone. */
bool threads_look(const struct threads *threads, struct thread *thread);

/* How often a thread has switched by now, and how much it has run. Returns -errno. */
int threads_count(const struct threads *threads, const struct thread *thread,
		  struct pace_look *ret);

/*
 * Looks at the call that a thread sleeps in, without its knowing. Returns -errno, -EPERM where
 * that is not allowed.
 */
int threads_look_at_call(const struct threads *threads, const struct thread *thread,
			 struct thread_call *ret);

/* NULL if there is none. `inner` is as the program sees it. */
struct thread *threads_find(const struct threads *threads, uint32_t inner);

#endif /* SAMPLE_THREADS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hand-off between threads and the drain, as src/arena/arena.h tells it.
 * README.md says what is modelled and how to read what comes out.
 *
 *     handoff.pml    sizes, mutants, fields, and what is checked by whom
 *     memory.pml     loads and stores of a weak memory
 *     thread.pml     the program's side
 *     drain.pml      the recorder's side
 *
 * spin -D sets a configuration: one of POLICY, how the threads end, how many
 * drains die, and the sizes.
 */
#define DROP 0
#define OVERWRITE 1
#define BLOCK 2
#ifndef POLICY
#define POLICY DROP
#endif

#define STAYS 0  /* the thread lives on, idle */
#define EXITS 1  /* it exits, and another takes its line: LIVES threads in all */
#define KILLED 2 /* its process is killed after any store */
#ifndef ENDING
#define ENDING STAYS
#endif
#ifndef LIVES
#define LIVES 1
#endif

#ifndef DRAIN_DEATHS
#define DRAIN_DEATHS 0
#endif
#ifndef DRAINS
#define DRAINS (DRAIN_DEATHS + 1)
#endif

#ifndef WRITERS
#define WRITERS 1 /* 1 or 2 */
#endif
#ifndef CHUNKS
#define CHUNKS 2 /* 1 to 3 */
#endif
#ifndef RECORDS
#define RECORDS 5 /* that a thread tries to write */
#endif
#ifndef OTHER_RECORDS
#define OTHER_RECORDS RECORDS /* that the second one does */
#endif
#define WORDS 2 /* of a chunk; a record is one word */

/*
 * The protocol with one thing wrong. The first lot weakens an access, the
 * second leaves something out or does it in another order.
 */
#define NO_RELEASE_AT 1      /* A */
#define NO_ACQUIRE_AT 2      /* A */
#define NO_RELEASE_NEXT 3    /* B */
#define NO_ACQUIRE_NEXT 4    /* B */
#define NO_RELEASE_START 5   /* B, for the first chunk */
#define NO_RELEASE_TAKEN 6   /* D, the thread's move */
#define NO_ACQUIRE_TAKEN 7   /* D, where a pass begins */
#define NO_RELEASE_OWNER 8   /* D, the fence between the move and the new label */
#define NO_ACQUIRE_OWNER 9   /* D, the drain's check */
#define NO_RELEASE_EXITED 10 /* F */

#define FREE_BEFORE_COPY 20          /* C: `owner` = 0 while the drain still reads */
#define TAKE_BEFORE_COPY 21          /* D without the drain's fence: a load may come late */
#define STORE_BEFORE_MOVE 22         /* D without the thread's fence: a store may come early */
#define NO_REVALIDATE 23             /* the drain stores `taken` instead of swapping */
#define NO_OWNER_CHECK 24            /* a pass does not look whose the chunk is */
#define AT_AFTER_OWNER 25            /* a restart shows its label before it takes `at` back */
#define NO_RESTART_WHEN_TAKEN 26     /* a full chunk is kept though the drain has all of it */
#define NO_ATTEMPTS_AT_RESTART 27    /* `taken` skips records of which nothing else tells */
#define WRITE_AFTER_LOSS 28          /* a short record goes where a long one found no room */
#define HINT_CLEARED_LATE 29         /* after the swap of `owner`, or without acquire */
#define NO_HEARTBEAT 30              /* who blocks does not notice that the drain died */
#define EXITED_BEFORE_LAST_RECORD 31 /* F in another order */
#define LINE_FREE_BEFORE_RESET 32    /* the next thread finds the last one's fields */
#define LINE_FREE_BEFORE_WRITTEN 33  /* the last records are in no file yet */
#define WRITTEN_RESET_FIRST 34       /* who comes after a dead drain counts again */
#define NO_NUMBER_CHECK 35           /* who comes after frees whatever has an owner */
#define NO_TAKEN_CHECK 36            /* and the chunk that `taken` is in */
#define RECOVER_WITHOUT_SWAP 37      /* and what a thread has just labelled anew */
#define RELABEL_WITHOUT_SWAP 38      /* a thread does not notice that it did */
#define NO_HINTS_AT_ATTACH 39        /* who comes after trusts the hints it finds */
#define NOTHING_FREED_AT_ATTACH 40   /* it looks at no owner */
#ifndef MUTANT
#define MUTANT 0
#endif

#define POSITION(number, chunk, word) ((number) << 4 | (chunk) << 2 | (word))
#define NUMBER_OF(position) ((position) >> 4)
#define CHUNK_OF(position) ((position) >> 2 & 3)
#define WORD_OF(position) ((position)&3)

/* What `at` holds. There is no number in it. */
#define ADDRESS(chunk, word) (1 + ((chunk) << 2 | (word)))
#define ADDRESS_IN(address, chunk) ((address) != 0 && ((address)-1) >> 2 == (chunk))
#define ADDRESS_WORD(address) (((address)-1) & 3)

#define OWNED_BY(number, line) ((number) << 2 | ((line) + 1))
#define OWNER_NUMBER(owner) ((owner) >> 2)
#define OWNER_LINE(owner) (((owner)&3) - 1)

/* A record says whose life of the line wrote it, whether a RESET goes before it, and its number. */
#define RECORD(life, reset, number) (128 | (life) << 6 | (reset) << 5 | (number))
#define RECORD_IS(record, life, number) (((record) & ~32) == RECORD(life, 0, number))
#define RECORD_RESETS(record) ((record) >> 5 & 1)

#define FREE 0
#define LIVE 1
#define EXITED 2

/* Locations: struct arena_chunk, then what the model has of arena_line and arena_stream. */
#define CHUNK_FIELDS (4 + WORDS)
#define OWNER(c) ((c)*CHUNK_FIELDS)
#define FIRST(c) ((c)*CHUNK_FIELDS + 1)
#define NEXT(c) ((c)*CHUNK_FIELDS + 2)
#define END(c) ((c)*CHUNK_FIELDS + 3)
#define WORD(c, w) ((c)*CHUNK_FIELDS + 4 + (w))
#define STREAM_FIELDS 5
#define STREAM(s) (CHUNKS * CHUNK_FIELDS + (s)*STREAM_FIELDS)
#define AT(s) (STREAM(s))
#define START(s) (STREAM(s) + 1)
#define ATTEMPTS(s) (STREAM(s) + 2)
#define TAKEN(s) (STREAM(s) + 3)
#define STATE(s) (STREAM(s) + 4)
#define LOCATIONS STREAM(WRITERS)

/* The newest values, which a compare-and-swap meets; and `next`, for the thread's own loads. */
byte owner[CHUNKS];
byte next[CHUNKS];
bit hint[CHUNKS];
byte taken[WRITERS];
byte state[WRITERS];
byte written[WRITERS]; /* only drains look at it */
bit drain_gone;        /* what a blocked thread learns from the heartbeat */

/* For the checks, as of the line's present life. */
byte tried[WRITERS];    /* hooks entered */
byte returned[WRITERS]; /* hooks left */
byte dropped[WRITERS];  /* records that the thread counted as lost */
byte in_trace[WRITERS]; /* records in the file */
byte lost[WRITERS];     /* records that the file says are lost */
bit life[WRITERS];
byte ended;  /* threads that will store no more */
byte deaths; /* of drains */

#include "memory.pml"
#include "thread.pml"
#include "drain.pml"

init
{
	atomic {
		hint[0] = 1;
#if CHUNKS > 1
		hint[1] = 1;
#endif
#if CHUNKS > 2
		hint[2] = 1;
#endif
		run thread(0);
#if WRITERS > 1
		run thread(1);
#endif
		run drain()
	}
}

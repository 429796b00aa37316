/* SPDX-License-Identifier: Apache-2.0 */
/* The program's side: a thread that takes a line, calls its hook RECORDS times, and ends. */

#define MAY_BE_KILLED if :: ENDING == KILLED -> goto killed :: skip fi

inline stream_store(where, what, order)
{
	store(me, where, what, order);
	MAY_BE_KILLED
}

/* To a chunk that the thread has as `holds`: nobody else may have it. */
inline chunk_store(chunk, holds, where, what, order)
{
	assert(owner[chunk] == OWNED_BY(holds, me));
	stream_store(where, what, order)
}

#if CHUNKS == 3
#define ANY_HINT (hint[0] || hint[1] || hint[2])
#elif CHUNKS == 2
#define ANY_HINT (hint[0] || hint[1])
#else
#define ANY_HINT (hint[0])
#endif

#define ALL_RECORDS (me == 0 -> RECORDS : OTHER_RECORDS)

/* The drain has all of the current chunk. */
#define ALL_TAKEN                                                                                  \
	(MUTANT != NO_RESTART_WHEN_TAKEN && number > 0 &&                                          \
	 taken[me] == POSITION(number, current, used))
/* The current chunk is the oldest that is not taken. */
#define ONLY_CHUNK (number > 0 && (taken[me] == 0 -> number == 1 : NUMBER_OF(taken[me]) == number))

proctype thread(byte me)
{
	byte number;      /* of the current chunk; 0: none yet */
	byte current;
	byte used;        /* words of it */
	byte first_chunk; /* where `start` points */
	byte chunk;       /* the one to go on in */
	byte oldest;      /* number that it had, if it is to be overwritten */
	bit losing;       /* the record before this one found no room */
	bit resets;       /* the next record is a RESET */
	byte lives;

live:
	atomic {
		state[me] == FREE;
		state[me] = LIVE;
		stream_store(STATE(me), LIVE, RELAXED)
	}

hook:
	atomic {
		if
		:: tried[me] == ALL_RECORDS -> goto over
		:: else
		fi;
		tried[me]++;
		if
		:: number > 0 && used < WORDS && (!losing || MUTANT == WRITE_AFTER_LOSS) ->
			goto has_room
		:: number == 0 || used > 0 /* or there is, but too little */
		fi
	}

find:
	atomic {
		if
		:: hint[0] -> chunk = 0
#if CHUNKS > 1
		:: hint[1] -> chunk = 1
#endif
#if CHUNKS > 2
		:: hint[2] -> chunk = 2
#endif
		:: else -> goto none_free
		fi;
		/* Acquire: if the swap came first and failed, a hint given since would be lost. */
		hint[chunk] = (MUTANT == HINT_CLEARED_LATE)
	}
	atomic {
		if
		:: owner[chunk] == 0 -> owner[chunk] = OWNED_BY(number + 1, me)
		:: owner[chunk] != 0 && MUTANT != HINT_CLEARED_LATE -> goto find
		:: owner[chunk] != 0 && MUTANT == HINT_CLEARED_LATE -> goto clear_hint
		fi;
		hint[chunk] = (MUTANT == HINT_CLEARED_LATE -> 0 : hint[chunk]);
		stream_store(OWNER(chunk), owner[chunk], RELAXED)
	}

append: /* `chunk` is the thread's, as number + 1 */
	atomic {
		chunk_store(chunk, number + 1, FIRST(chunk), tried[me] - 1, RELAXED);
		chunk_store(chunk, number + 1, NEXT(chunk), 0, RELAXED);
		chunk_store(chunk, number + 1, END(chunk), 0, RELAXED);
		if
		:: number == 0 ->
			first_chunk = chunk;
			stream_store(START(me), POSITION(1, chunk, 0),
				     RELEASE_UNLESS(NO_RELEASE_START))
		:: else ->
			next[current] = POSITION(number + 1, chunk, 0);
			chunk_store(current, number, END(current), used, RELAXED);
			chunk_store(current, number, NEXT(current), next[current],
				    RELEASE_UNLESS(NO_RELEASE_NEXT))
		fi;
		stream_store(AT(me), ADDRESS(chunk, 0), RELEASE_UNLESS(NO_RELEASE_AT));
		next[chunk] = 0;
		current = chunk;

begin:
		number++;
		used = 0;
		resets = losing || POLICY == OVERWRITE;
		losing = 0;

has_room:
		if
		:: MUTANT == EXITED_BEFORE_LAST_RECORD && tried[me] == ALL_RECORDS ->
			store(me, STATE(me), EXITED, RELEASE)
		:: else
		fi;
		chunk_store(current, number, WORD(current, used),
			    RECORD(lives, resets, tried[me] - 1), RELAXED);
		used++;
		resets = 0;
		stream_store(AT(me), ADDRESS(current, used), RELEASE_UNLESS(NO_RELEASE_AT));
		returned[me]++;
		goto hook
	}

clear_hint:
	hint[chunk] = 0;
	goto find;

none_free:
	if
	:: atomic { ALL_TAKEN -> goto restart }
	:: atomic { POLICY == DROP && !ALL_TAKEN -> goto lose }
	:: atomic { POLICY == BLOCK && drain_gone && MUTANT != NO_HEARTBEAT -> goto lose }
	:: atomic { POLICY == BLOCK && ANY_HINT -> goto find }
	:: atomic { POLICY == OVERWRITE && number == 0 -> goto lose }
	:: atomic { POLICY == OVERWRITE && ONLY_CHUNK -> goto restart }
	:: atomic {
		POLICY == OVERWRITE && number > 0 && !ONLY_CHUNK ->
		/* D: who moves `taken` past the oldest chunk has it. */
		chunk = (taken[me] == 0 -> first_chunk : CHUNK_OF(taken[me]));
		oldest = (taken[me] == 0 -> 1 : NUMBER_OF(taken[me]));
		taken[me] = next[chunk];
		stream_store(TAKEN(me), taken[me], RELEASE_UNLESS(NO_RELEASE_TAKEN))
	   }
	fi;
	atomic {
		/* A swap: who came after a dead drain may think that this was left behind. */
		if
		:: owner[chunk] != OWNED_BY(oldest, me) && MUTANT != RELABEL_WITHOUT_SWAP ->
			goto find
		:: else
		fi;
		oldest = 0;
		owner[chunk] = OWNED_BY(number + 1, me);
		stream_store(OWNER(chunk), owner[chunk], RELEASE_UNLESS(NO_RELEASE_OWNER));
		goto append
	}

restart: /* in the current chunk, as number + 1 */
	atomic {
		/* If the thread is killed before `first`, only this tells how many there were. */
		if
		:: MUTANT != NO_ATTEMPTS_AT_RESTART ->
			stream_store(ATTEMPTS(me), tried[me] - 1, RELAXED)
		:: else
		fi;
#if MUTANT == STORE_BEFORE_MOVE
		store(me, WORD(current, 0), RECORD(lives, 1, tried[me] - 1), RELAXED)
	}
	atomic {
#endif
		if
		:: ALL_TAKEN || (POLICY == OVERWRITE && ONLY_CHUNK) ->
			taken[me] = POSITION(number + 1, current, 0)
		:: else -> goto find
		fi;
		stream_store(TAKEN(me), taken[me], RELEASE_UNLESS(NO_RELEASE_TAKEN))
	}
	atomic {
		/* `at` has no number in it: under the new label it must not show the old words. */
		if
		:: MUTANT != AT_AFTER_OWNER -> stream_store(AT(me), ADDRESS(current, 0), RELAXED)
		:: else
		fi;
		chunk_store(current, number, FIRST(current), tried[me] - 1, RELAXED);
		owner[current] = OWNED_BY(number + 1, me);
		stream_store(OWNER(current), owner[current], RELEASE_UNLESS(NO_RELEASE_OWNER));
		if
		:: MUTANT == AT_AFTER_OWNER -> stream_store(AT(me), ADDRESS(current, 0), RELEASE)
		:: else
		fi;
		goto begin
	}

lose:
	atomic {
		losing = 1;
		dropped[me]++;
		stream_store(ATTEMPTS(me), tried[me], RELEASE);
		returned[me]++;
		goto hook
	}

over:
	atomic {
		if
		:: ENDING == EXITS ->
			store(me, ATTEMPTS(me), tried[me], RELAXED);
			if
			:: MUTANT != EXITED_BEFORE_LAST_RECORD ->
				store(me, STATE(me), EXITED, RELEASE_UNLESS(NO_RELEASE_EXITED))
			:: else
			fi;
			state[me] = EXITED;
			number = 0;
			current = 0;
			used = 0;
			first_chunk = 0;
			chunk = 0;
			losing = 0;
			lives++;
			if
			:: lives < LIVES -> goto live
			:: else
			fi
		:: else
		fi
	}

killed:
	ended++
}

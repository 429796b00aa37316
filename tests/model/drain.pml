/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's side: visits the streams in turn, until all threads have
 * ended and there is no more to take. It may die between any two stores, and
 * then another one attaches.
 */

#define MAY_DIE if :: deaths < DRAIN_DEATHS -> goto died :: skip fi

inline free_chunk(chunk)
{
	owner[chunk] = 0;
	drain_store(s, OWNER(chunk), 0)
}

/* What was taken is in the file, and `written` says so: one step, thanks to session.pending_*. */
inline write_out()
{
	d_step {
		in_trace[s] = in_trace[s] + got[s];
		lost[s] = lost[s] + gap[s];
		written[s] = expected[s];
		got[s] = 0;
		gap[s] = 0
	}
}

/* There are records up to `number`: those that were not taken are lost. */
inline count_up_to(number)
{
	if
	:: (number) > expected[s] ->
		gap[s] = gap[s] + (number)-expected[s];
		expected[s] = number
	:: else
	fi
}

inline copy_words()
{
	word = WORD_OF(position);
	do
	:: word < limit ->
		load(s, WORD(chunk, word), RELAXED, copy[word]);
		word++
	:: else -> break
	od
}

/* The copy is the drain's: each record must be what its number says, and none may come twice. */
inline accept_copy()
{
	d_step {
		TELL_EVENT("                    the drain takes from number %d on\n",
			   first + WORD_OF(position))
		word = WORD_OF(position);
		assert(first + word >= expected[s]);
		/* A RESET tells the reader of a gap. A new session makes its own. */
		assert(DRAIN_DEATHS > 0 || word == limit || first + word == expected[s] ||
		       RECORD_RESETS(copy[word]));
		if
		:: word < limit -> count_up_to(first + word)
		:: else
		fi;
		do
		:: word < limit ->
			assert(RECORD_IS(copy[word], life[s], first + word));
			got[s]++;
			expected[s]++;
			word++
		:: else -> break
		od
	}
}

inline forget_pass()
{
	d_step {
		from = 0;
		position = 0;
		chunk = 0;
		following = 0;
		limit = 0;
		first = 0;
		value = 0;
		word = 0;
		copy[0] = 0;
		copy[1] = 0
	}
}

inline forget_all()
{
	forget_pass();
	d_step {
		calm = 0;
		exited = 0;
		fresh = 0;
		s = 0;
		do
		:: s < WRITERS ->
			got[s] = 0;
			gap[s] = 0;
			expected[s] = 0;
			s++
		:: else -> break
		od;
		s = 0
	}
}

/* `written` last: who comes after a drain that dies here counts nothing again. */
inline reset_stream()
{
	if
	:: MUTANT == WRITTEN_RESET_FIRST -> written[s] = 0; MAY_DIE
	:: else
	fi;
	drain_store(s, AT(s), 0);
	MAY_DIE;
	drain_store(s, ATTEMPTS(s), 0);
	MAY_DIE;
	taken[s] = 0;
	drain_store(s, TAKEN(s), 0);
	MAY_DIE;
	drain_store(s, START(s), 0);
	MAY_DIE;
	written[s] = 0;
	MAY_DIE
}

inline free_line()
{
	d_step {
		assert(in_trace[s] + lost[s] == tried[s] && returned[s] == tried[s]);
		assert(DRAIN_DEATHS > 0 || POLICY == OVERWRITE || lost[s] == dropped[s]);
		in_trace[s] = 0;
		lost[s] = 0;
		tried[s] = 0;
		returned[s] = 0;
		dropped[s] = 0;
		life[s] = 1 - life[s]
	}
	expected[s] = 0;
	state[s] = FREE;
	drain_store(s, STATE(s), FREE)
}

/* A chunk that `taken` was moved past by a drain that died before it was free. */
#define LEFT_BEHIND(owner, taken)                                                                  \
	((owner) != 0 && MUTANT != NOTHING_FREED_AT_ATTACH &&                                      \
	 (MUTANT == NO_NUMBER_CHECK || OWNER_NUMBER(owner) < NUMBER_OF(taken)) &&                  \
	 (MUTANT == NO_TAKEN_CHECK || chunk != CHUNK_OF(taken)))

/* All there is to know of a stream whose thread stores no more. */
inline settle()
{
	position = taken[s];
	chunk = CHUNK_OF(position);
	if
	:: position != 0 && seen[OWNER(chunk)] == OWNED_BY(NUMBER_OF(position), s) ->
		count_up_to(seen[FIRST(chunk)] + WORD_OF(position))
	:: else
	fi;
	count_up_to(seen[ATTEMPTS(s)]);
	write_out();
	assert(in_trace[s] + lost[s] >= returned[s]);
	assert(in_trace[s] + lost[s] <= tried[s]);
	assert(DRAIN_DEATHS > 0 || POLICY == OVERWRITE || lost[s] <= dropped[s]);
	assert(DRAIN_DEATHS > 0 || POLICY != BLOCK || dropped[s] == 0);
	assert(ENDING != EXITS || state[s] == FREE)
}

proctype drain()
{
	byte expected[WRITERS]; /* number of the next record */
	byte got[WRITERS];      /* taken, but not in the file yet */
	byte gap[WRITERS];      /* known to be lost, but not in the file yet */
	byte s;
	byte calm; /* streams in a row without news, while there was nothing unseen */
	bit fresh, exited;

	byte from; /* what `taken` must still be when the copy is done */
	byte position, chunk, following, limit, first, value, word, pass;
	byte copy[WORDS];

visit:
	atomic {
		if
		:: ended == WRITERS && !NOTHING_UNSEEN ->
			calm = 0;
			see_all(0);
#if WRITERS > 1
			see_all(1)
#endif
		:: else
		fi;
		fresh = NOTHING_UNSEEN;
		load(s, STATE(s), ACQUIRE, value);
		exited = (value == EXITED);
		load(s, TAKEN(s), ACQUIRE_UNLESS(NO_ACQUIRE_TAKEN), from);
		position = from;
		if
		:: from == 0 -> load(s, START(s), ACQUIRE, position)
		:: else
		fi;
		if
		:: position == 0 -> goto nothing
		:: else
		fi;
		chunk = CHUNK_OF(position);
		load(s, OWNER(chunk), ACQUIRE_UNLESS(NO_ACQUIRE_OWNER), value);
		if
		:: value != OWNED_BY(NUMBER_OF(position), s) && MUTANT != NO_OWNER_CHECK ->
			goto nothing
		:: else
		fi;

		load(s, NEXT(chunk), ACQUIRE_UNLESS(NO_ACQUIRE_NEXT), following);
		if
		:: following == 0 ->
			load(s, AT(s), ACQUIRE_UNLESS(NO_ACQUIRE_AT), value);
			if
			:: ADDRESS_IN(value, chunk) -> limit = ADDRESS_WORD(value)
			:: else -> /* sealed just now, or begun just now */
				load(s, NEXT(chunk), ACQUIRE_UNLESS(NO_ACQUIRE_NEXT), following);
				if
				:: following == 0 -> goto nothing
				:: else
				fi
			fi
		:: else
		fi;
		if
		:: following != 0 -> load(s, END(chunk), RELAXED, limit)
		:: else
		fi;
		if
		:: limit < WORD_OF(position) ||
		   (following != 0 && NUMBER_OF(following) != NUMBER_OF(position) + 1) ->
			/* Nonsense, which only a chunk may hold that was overwritten meanwhile. */
			assert(taken[s] != from);
			goto nothing
		:: else
		fi;
		if
		:: following == 0 && limit == WORD_OF(position) -> goto nothing
		:: else
		fi;
		load(s, FIRST(chunk), RELAXED, first);
#if MUTANT == FREE_BEFORE_COPY
		if
		:: following != 0 -> free_chunk(chunk); hint[chunk] = 1
		:: else
		fi
	}
	atomic {
#endif
#if MUTANT != TAKE_BEFORE_COPY
		copy_words();
#endif
		if
		:: taken[s] != from && MUTANT != NO_REVALIDATE -> goto nothing
		:: else
		fi;
		taken[s] = (following != 0 -> following :
			POSITION(NUMBER_OF(position), chunk, limit));
		drain_store(s, TAKEN(s), taken[s]);
#if MUTANT == TAKE_BEFORE_COPY
	}
	atomic {
		copy_words();
#endif
		accept_copy();
		MAY_DIE;
		if
		:: following != 0 && MUTANT != FREE_BEFORE_COPY ->
			assert(owner[chunk] == OWNED_BY(NUMBER_OF(position), s))
		:: else -> goto news
		fi
	}
	atomic {
		free_chunk(chunk);
		MAY_DIE
	}
	atomic {
		hint[chunk] = 1;
		MAY_DIE;
		goto news
	}

nothing:
	atomic {
		forget_pass();
		if
		:: exited -> goto bury
		:: !exited && fresh -> calm++
		:: !exited && !fresh -> calm = 0
		fi;
		goto turn
	}

news:
	atomic {
		forget_pass();
		calm = 0
	}

turn:
	if
	:: atomic { expected[s] != written[s] -> write_out(); MAY_DIE }
	:: DRAIN_DEATHS > 0 || expected[s] == written[s] /* it may as well be later */
	fi;
	atomic {
		fresh = 0;
		exited = 0;
		if
		:: calm < WRITERS
		:: calm == WRITERS && !NOTHING_UNSEEN -> calm = 0
		:: calm == WRITERS && NOTHING_UNSEEN && ended == WRITERS -> goto finish
		fi;
		s = (s + 1) % WRITERS;
		goto visit
	}

bury: /* the thread has exited, and all that it stored is taken */
	atomic {
		count_up_to(seen[ATTEMPTS(s)]);
		if
		:: MUTANT != LINE_FREE_BEFORE_WRITTEN -> write_out()
		:: else
		fi;
		MAY_DIE
	}
	atomic {
		position = seen[TAKEN(s)];
		chunk = CHUNK_OF(position);
		if
		:: position != 0 && owner[chunk] == OWNED_BY(NUMBER_OF(position), s) ->
			free_chunk(chunk);
			MAY_DIE;
			hint[chunk] = 1;
			MAY_DIE
		:: else
		fi;
		forget_pass()
	}
#if MUTANT == LINE_FREE_BEFORE_RESET
	atomic { free_line() }
#endif
	atomic {
		reset_stream();
#if MUTANT != LINE_FREE_BEFORE_RESET
		free_line();
#endif
		goto news
	}

died:
	atomic {
		TELL_EVENT("                    the drain dies, %d did before\n", deaths)
		deaths++;
		drain_gone = 1;
		forget_all();
		if
		:: deaths == DRAINS -> goto over
		:: else
		fi
	}
	atomic {
		TELL_EVENT("                    another drain attaches, after %d\n", deaths)
		drain_gone = 0;
		do
		:: s < WRITERS ->
			expected[s] = written[s];
			s++
		:: else -> break
		od;
		s = 0
	}
	do
	:: chunk < CHUNKS ->
		atomic {
			value = owner[chunk];
			s = (value == 0 -> 0 : OWNER_LINE(value));
			/* Acquire: if the thread moved it, its stores to the chunk came before. */
			load(s, TAKEN(s), ACQUIRE, position)
		}
		atomic {
			if
			:: value == 0 && MUTANT != NO_HINTS_AT_ATTACH -> hint[chunk] = 1
			:: LEFT_BEHIND(value, position) &&
			   (owner[chunk] == value || MUTANT == RECOVER_WITHOUT_SWAP) ->
				free_chunk(chunk);
				MAY_DIE;
				hint[chunk] = 1
			:: else
			fi;
			value = 0;
			position = 0;
			s = 0;
			chunk++
		}
	:: else -> break
	od;
	atomic {
		chunk = 0;
		goto visit
	}

finish:
	atomic {
		s = 0;
		do
		:: s < WRITERS ->
			settle();
			s++
		:: else -> break
		od;
		/* Every chunk can be had again, or is the one that a living thread is in. */
		chunk = 0;
		do
		:: chunk < CHUNKS ->
			assert(ENDING == KILLED || (owner[chunk] == 0 && hint[chunk]) ||
			       (owner[chunk] != 0 && ENDING == STAYS &&
				ADDRESS_IN(seen[AT(OWNER_LINE(owner[chunk]))], chunk)));
			chunk++
		:: else -> break
		od
	}
over:
	skip
}

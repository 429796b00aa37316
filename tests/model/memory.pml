/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A weak memory, as the drain sees the threads.
 *
 * A thread's stores go, in program order, into a queue of what the drain has
 * not seen. A load takes the value seen last, or passes any number of unseen
 * stores to that location; other locations stay as they were. Only an acquire
 * load that meets a release store sees all that was stored before it. So a
 * store that nobody releases may be seen late, early or never, and a load that
 * does not acquire may be as old as it likes. A compare-and-swap meets the
 * newest value.
 *
 * Because a load can be as old as it likes, the loads of a pass may all stand
 * right before the compare-and-swap that ends it, and a thread's stores may
 * stand together up to its next compare-and-swap: fewer steps, the same
 * outcomes.
 */
#ifndef UNSEEN
#define UNSEEN 60 /* stores in a queue; one more is an error, not a limit to what is seen */
#endif

#define RELEASE 128
#define ACQUIRE 1
#define RELAXED 0
#define RELEASE_UNLESS(mutant) (MUTANT == (mutant) -> RELAXED : RELEASE)
#define ACQUIRE_UNLESS(mutant) (MUTANT == (mutant) -> RELAXED : ACQUIRE)

typedef queue {
	byte length;
	byte location[UNSEEN]; /* | RELEASE */
	byte value[UNSEEN];
	byte pending[LOCATIONS] /* how many there are to each location */
}

queue unseen[WRITERS];
byte seen[LOCATIONS]; /* the newest value that the drain has seen */

#if WRITERS > 1
#define NOTHING_UNSEEN (unseen[0].length + unseen[1].length == 0)
#else
#define NOTHING_UNSEEN (unseen[0].length == 0)
#endif
#define LOCATION(s, index) (unseen[s].location[index] & 127)

hidden byte i, j, until, all;

#ifdef TELL
inline tell_value(where, what)
{
	if
	:: (where) >= STREAM(0) && ((where)-STREAM(0)) % STREAM_FIELDS == 0 && (what) != 0 ->
		printf(" = chunk %d word %d\n", ((what)-1) >> 2, ADDRESS_WORD(what))
	:: ((where) >= STREAM(0) && (((where)-STREAM(0)) % STREAM_FIELDS == 1 ||
				     ((where)-STREAM(0)) % STREAM_FIELDS == 3) ||
	    (where) < STREAM(0) && (where) % CHUNK_FIELDS == 2) && (what) != 0 ->
		printf(" = number %d, chunk %d word %d\n", NUMBER_OF(what), CHUNK_OF(what),
		       WORD_OF(what))
	:: (where) < STREAM(0) && (where) % CHUNK_FIELDS == 0 && (what) != 0 ->
		printf(" = number %d of line %d\n", OWNER_NUMBER(what), OWNER_LINE(what))
	:: (where) < STREAM(0) && (where) % CHUNK_FIELDS >= 4 && (what) != 0 ->
		printf(" = record %d of life %d, reset %d\n", (what)&31, (what) >> 6 & 1,
		       RECORD_RESETS(what))
	:: else -> printf(" = %d\n", what)
	fi
}

inline tell_place(where)
{
	if
	:: (where) < STREAM(0) ->
		printf("chunk %d ", (where) / CHUNK_FIELDS);
		if
		:: (where) % CHUNK_FIELDS == 0 -> printf("owner")
		:: (where) % CHUNK_FIELDS == 1 -> printf("first")
		:: (where) % CHUNK_FIELDS == 2 -> printf("next")
		:: (where) % CHUNK_FIELDS == 3 -> printf("end")
		:: else -> printf("word %d", (where) % CHUNK_FIELDS - 4)
		fi
	:: else ->
		printf("line %d ", ((where)-STREAM(0)) / STREAM_FIELDS);
		if
		:: ((where)-STREAM(0)) % STREAM_FIELDS == 0 -> printf("at")
		:: ((where)-STREAM(0)) % STREAM_FIELDS == 1 -> printf("start")
		:: ((where)-STREAM(0)) % STREAM_FIELDS == 2 -> printf("attempts")
		:: ((where)-STREAM(0)) % STREAM_FIELDS == 3 -> printf("taken")
		:: else -> printf("state")
		fi
	fi
}

#define TELL_STORE(s, where, what)                                                                 \
	printf("thread %d stores ", s);                                                            \
	tell_place(where);                                                                         \
	tell_value(where, what)
#define TELL_DRAIN(verb, where, what)                                                              \
	printf(verb);                                                                              \
	tell_place(where);                                                                         \
	tell_value(where, what)
#define TELL_EVENT(text, number) printf(text, number);
#else
#define TELL_STORE(s, where, what)
#define TELL_DRAIN(verb, where, what)
#define TELL_EVENT(text, number)
#endif

inline store(s, where, what, order)
{
	d_step {
		assert(unseen[s].length < UNSEEN);
		unseen[s].location[unseen[s].length] = (where) | (order);
		unseen[s].value[unseen[s].length] = what;
		unseen[s].length++;
		unseen[s].pending[where]++;
		TELL_STORE(s, where, what)
	}
}

/* The drain sees the stores before the index `until`, `all` or those to `where`. In a d_step. */
inline see(s, where)
{
	i = 0;
	j = 0;
	do
	:: i < unseen[s].length && i < until && (all || LOCATION(s, i) == (where)) ->
		seen[LOCATION(s, i)] = unseen[s].value[i];
		unseen[s].pending[LOCATION(s, i)]--;
		i++
	:: i < unseen[s].length && !(i < until && (all || LOCATION(s, i) == (where))) ->
		unseen[s].location[j] = unseen[s].location[i];
		unseen[s].value[j] = unseen[s].value[i];
		i++;
		j++
	:: else -> break
	od;
	i = j;
	do
	:: i < unseen[s].length ->
		unseen[s].location[i] = 0;
		unseen[s].value[i] = 0;
		i++
	:: else -> break
	od;
	unseen[s].length = j
}

inline see_all(s)
{
	d_step {
		until = unseen[s].length;
		all = 1;
		see(s, 0)
	}
}

/* Uses `pass`, a variable of the caller: how many unseen stores to the location it passes. */
inline load(s, where, order, ret)
{
	pass = 0;
	do
	:: pass < unseen[s].pending[where] -> pass++
	:: break
	od;
	skip; /* no jump may lead into a d_step */
	d_step {
		if
		:: pass > 0 ->
			until = 0;
			do
			:: pass > 0 ->
				if
				:: LOCATION(s, until) == (where) -> pass--
				:: else
				fi;
				until++
			:: else -> break
			od;
			all = (order) == ACQUIRE && unseen[s].location[until - 1] >= RELEASE;
			see(s, where)
		:: else
		fi;
		ret = seen[where];
		TELL_DRAIN("                    the drain loads ", where, ret)
	}
}

/* By the drain. It is newer than all there are. */
inline drain_store(s, where, what)
{
	d_step {
		until = unseen[s].length;
		all = 0;
		see(s, where);
		seen[where] = what;
		TELL_DRAIN("                    the drain stores ", where, what)
	}
}

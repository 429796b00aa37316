/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring of samples, as src/arena/ring.h tells it: several writers, one
 * recorder, who may die and be followed by another. README.md says how memory is
 * modelled: who knows of the last access to each word.
 *
 * A record has 2 or 3 words: a header and its body, which is its number. Numbers
 * are given in the order of the room that was taken.
 */
#ifndef RING
#define RING 5 /* words: not a multiple of either size, so that there is padding */
#endif
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef RECORDS
#define RECORDS 2 /* that a writer tries to write */
#endif
#ifndef OTHER_RECORDS
#define OTHER_RECORDS RECORDS /* that the others do */
#endif
#ifndef DEATHS
#define DEATHS 0 /* of recorders; another follows each */
#endif
#ifndef KILLED
#define KILLED 0 /* 1: the program may be killed at any step */
#endif

/* The protocol with one thing wrong. */
#define NO_RELEASE_HEADER 1      /* G */
#define NO_ACQUIRE_HEADER 2      /* G */
#define NO_RELEASE_TAIL 3        /* H */
#define NO_ACQUIRE_TAIL 4        /* H */
#define NO_RELEASE_PADDING 5     /* G, for the header of padding */
#define HEADER_BEFORE_BODY 10    /* a writer publishes what it has not written */
#define NO_SWAP 11               /* a writer stores `head` */
#define NO_LIMIT 12              /* a writer does not look at `tail` */
#define PADDING_NOT_COUNTED 13   /* nor whether there is room for the padding too */
#define PADDING_NOT_PUBLISHED 14 /* the recorder waits for it */
#define WRAPS 15                 /* there is no padding at all */
#define REFUSES_AT_ONCE 16       /* a writer believes an old `head` */
#define TAIL_BEFORE_ZEROS 20     /* the recorder gives room back that is not free yet */
#define TAIL_BEFORE_COPY 21      /* or that it still reads */
#define BODY_NOT_ZEROED 22       /* it fills only the header with zeros */
#define PADDING_NOT_ZEROED 23    /* or leaves that of padding */
#define NOT_SAID_WHAT_IS_TAKEN 24 /* a recorder dies in the middle, and nobody knows of what */
#define SAID_TOO_LATE 25         /* after the first zero */
#define HEIR_STARTS_OVER 26      /* who follows fills the ring with zeros, under the writers */
#ifndef MUTANT
#define MUTANT 0
#endif

#define SAMPLE 1
#define PADDING 2
#define HEADER(number, words, kind) (64 | (number) << 8 | (words) << 2 | (kind))
#define IS_HEADER(value) ((value) >> 6 & 1)
#define HEADER_NUMBER(value) ((value) >> 8)
#define HEADER_WORDS(value) ((value) >> 2 & 7)
#define HEADER_KIND(value) ((value)&3)

#define STORES 16 /* to `head` or to `tail`; one more is an error, not a limit */
#define RECORDER WRITERS
#define THREADS (WRITERS + 1)
#define BIT(word) (1 << (word))

short value[RING];

/*
 * Memory. A plain access must come after the last one to its word: it does if
 * its thread knows of that, a bit for each word. What a thread knows is passed on
 * with a release store, and taken with an acquire load of it; with each access
 * all but one forget.
 *
 * `head` and `tail` only grow: a load finds any of their values, from the last
 * that its thread knows of on.
 */
byte knows[THREADS];
byte told[RING];        /* with the header that stands there */
byte told_head[RING];

byte heads;             /* the last of its stores */
byte head[STORES];
byte knows_head[THREADS];

byte tails;
byte tail[STORES];
byte told_tail[STORES];
byte told_tail_head[STORES]; /* which store to `head` comes before it */
byte knows_tail[WRITERS];

/* For heirs alone, whom a lock orders. */
byte taking; /* where the record ends that is being taken; not more than `tail`: none is */

/* For the checks. */
byte numbers; /* records that got room */
byte taken;   /* the last one that was */
byte refused;
byte tried;
byte ended;   /* writers */
bit killed;

hidden byte k;

#ifdef TELL
#define TELL_WRITER(text, number) printf(text, me, number);
#define TELL_RECORDER(text, number) printf(text, number);
#define TELL_STORE(by, number) printf("thread %d stores to place %d\n", by, number);
#else
#define TELL_WRITER(text, number)
#define TELL_RECORDER(text, number)
#define TELL_STORE(by, number)
#endif

/* In a d_step. */
inline access(by, w)
{
	assert(knows[by] & BIT(w));
	k = 0;
	do
	:: k < THREADS -> knows[k] = knows[k] & ~BIT(w); k++
	:: else -> break
	od;
	knows[by] = knows[by] | BIT(w);
	k = 0;
	do
	:: k < RING -> told[k] = told[k] & ~BIT(w); k++
	:: else -> break
	od;
	k = 0;
	do
	:: k < STORES -> told_tail[k] = told_tail[k] & ~BIT(w); k++
	:: else -> break
	od;
	k = 0
}

/* Leaves the index of one of the values in `found`. */
inline load_any(from, to, found)
{
	found = from;
	do
	:: found < to -> found++
	:: break
	od;
	skip /* no jump may lead into a d_step */
}

inline store_word(thread, where, what)
{
	d_step {
		TELL_STORE(thread, where)
		access(thread, where);
		value[where] = what
	}
}

/* G */
inline publish(where, what, releases)
{
	d_step {
		access(me, where);
		value[where] = what;
		if
		:: releases ->
			told[where] = knows[me];
			told_head[where] = knows_head[me]
		:: else ->
			told[where] = 0;
			told_head[where] = 0
		fi;
		TELL_WRITER("thread %d publishes at place %d\n", where)
	}
}

inline acquire_tail(found)
{
	d_step {
		TELL_WRITER("thread %d loads tail = %d\n", tail[found])
		knows_tail[me] = found;
		if
		:: MUTANT != NO_ACQUIRE_TAIL ->
			knows[me] = knows[me] | told_tail[found];
			if
			:: told_tail_head[found] > knows_head[me] ->
				knows_head[me] = told_tail_head[found]
			:: else
			fi
		:: else
		fi
	}
}

#define PLACE (head[at] % RING)
#define PAD (MUTANT != WRAPS && PLACE + words > RING -> RING - PLACE : 0)
#define NEED (words + (MUTANT == PADDING_NOT_COUNTED -> 0 : padding))
#define HAS_ROOM                                                                                   \
	(MUTANT == NO_LIMIT || head[at] + NEED >= tail[seen] && head[at] + NEED - tail[seen] <= RING)
#define MAY_BE_KILLED                                                                              \
	if                                                                                         \
	:: killed -> goto over                                                                     \
	:: !killed && KILLED -> killed = 1; goto over                                              \
	:: !killed                                                                                 \
	fi

proctype writer(byte me)
{
	byte left = (me == 0 -> RECORDS : OTHER_RECORDS);
	byte words, padding, at, seen, number, place, word;

sample:
	atomic {
		if
		:: left == 0 -> goto over
		:: else
		fi;
		left--;
		tried++;
		d_step { /* fewer states: what is not needed any more */
			at = 0;
			seen = 0;
			number = 0;
			place = 0;
			word = 0
		}
		if
		:: words = 2
		:: words = 3
		fi
	}
reserve:
	atomic {
		MAY_BE_KILLED;
		load_any(knows_head[me], heads, at);
		d_step { knows_head[me] = at }
	}
	atomic {
		load_any(knows_tail[me], tails, seen);
		acquire_tail(seen);
		padding = PAD;
		if
		:: HAS_ROOM -> skip
		:: else ->
			/* Nothing but an old `head` may be behind it. */
			word = at;
			if
			:: MUTANT != REFUSES_AT_ONCE -> load_any(knows_head[me], heads, word)
			:: else
			fi;
			if
			:: word != at -> goto reserve
			:: else ->
				assert(head[at] >= tail[seen]);
				refused++;
				goto sample
			fi
		fi
	}
	atomic {
		if
		:: at != heads && MUTANT != NO_SWAP -> goto reserve
		:: else
		fi;
		d_step {
			assert(heads + 1 < STORES);
			heads++;
			head[heads] = head[at] + padding + words;
			knows_head[me] = heads;
			numbers++;
			number = numbers;
			place = (padding -> 0 : PLACE);
			word = 0;
			do
			:: word < words -> assert(value[(place + word) % RING] == 0); word++
			:: else -> break
			od;
			TELL_WRITER("thread %d has room for record %d\n", number)
		}
	}
	atomic {
		MAY_BE_KILLED;
		if
		:: padding && MUTANT != PADDING_NOT_PUBLISHED ->
			publish(PLACE, HEADER(0, padding, PADDING), MUTANT != NO_RELEASE_PADDING)
		:: else
		fi
	}
	atomic {
		MAY_BE_KILLED;
		if
		:: MUTANT == HEADER_BEFORE_BODY ->
			publish(place, HEADER(number, words, SAMPLE), 1)
		:: else
		fi
	}
	word = 1;
	do
	:: word < words ->
		atomic {
			MAY_BE_KILLED;
			store_word(me, (place + word) % RING, number);
			word++
		}
	:: else -> break
	od;
	atomic {
		MAY_BE_KILLED;
		if
		:: MUTANT != HEADER_BEFORE_BODY ->
			publish(place, HEADER(number, words, SAMPLE), MUTANT != NO_RELEASE_HEADER)
		:: else
		fi;
		goto sample
	}
over:
	ended++
}

#define MAY_DIE                                                                                    \
	if                                                                                         \
	:: deaths < DEATHS -> deaths++; goto heir                                                  \
	:: skip                                                                                    \
	fi
#define NOW (tail[tails])
#define TAIL_PLACE (NOW % RING)

/* H */
inline move_tail(to)
{
	d_step {
		assert(tails + 1 < STORES);
		tails++;
		tail[tails] = to;
		if
		:: MUTANT != NO_RELEASE_TAIL ->
			told_tail[tails] = knows[RECORDER];
			told_tail_head[tails] = knows_head[RECORDER]
		:: else
		fi;
		TELL_RECORDER("                    the recorder moves its tail to %d\n", to)
	}
}

inline acquire_header()
{
	d_step {
		header = value[TAIL_PLACE];
		if
		:: MUTANT != NO_ACQUIRE_HEADER ->
			knows[RECORDER] = knows[RECORDER] | told[TAIL_PLACE];
			if
			:: told_head[TAIL_PLACE] > knows_head[RECORDER] ->
				knows_head[RECORDER] = told_head[TAIL_PLACE]
			:: else
			fi
		:: else
		fi;
		TELL_RECORDER("                    the recorder finds a header at place %d\n", TAIL_PLACE)
	}
}

/* It is whole, and the next in line. */
inline copy()
{
	d_step {
		assert(HEADER_NUMBER(header) == taken + 1);
		word = 0;
		do
		:: word < HEADER_WORDS(header) ->
			access(RECORDER, (place + word) % RING);
			assert(word == 0 || value[(place + word) % RING] == HEADER_NUMBER(header));
			word++
		:: else -> break
		od
	}
}

inline say_what_is_taken()
{
	d_step {
		if
		:: MUTANT != NOT_SAID_WHAT_IS_TAKEN -> taking = end
		:: else
		fi;
		if
		:: HEADER_KIND(header) == SAMPLE -> taken = HEADER_NUMBER(header)
		:: else
		fi
	}
}

#define ZEROS                                                                                      \
	(MUTANT == PADDING_NOT_ZEROED && HEADER_KIND(header) == PADDING -> 0 :                     \
	 (MUTANT == BODY_NOT_ZEROED -> 1 : HEADER_WORDS(header)))

proctype recorder()
{
	short header;
	byte deaths, place, word, end, at;

next:
	atomic {
		if
		:: value[TAIL_PLACE] != 0
		:: value[TAIL_PLACE] == 0 && ended == WRITERS && (killed || NOW == head[heads]) ->
			goto done
		fi;
		place = TAIL_PLACE;
		acquire_header();
		load_any(knows_head[RECORDER], heads, at);
		d_step {
			end = NOW + HEADER_WORDS(header);
			/* Or it would be taken for damage. */
			assert(IS_HEADER(header));
			assert(end <= head[at] && place + HEADER_WORDS(header) <= RING)
		}
	}
	atomic {
		if
		:: MUTANT == TAIL_BEFORE_COPY -> move_tail(end)
		:: else
		fi;
		MAY_DIE
	}
	atomic {
		if
		:: HEADER_KIND(header) == SAMPLE -> copy()
		:: else -> d_step { access(RECORDER, place) }
		fi;
		MAY_DIE
	}
	atomic {
		if
		:: MUTANT == TAIL_BEFORE_ZEROS -> move_tail(end)
		:: else
		fi;
		if
		:: MUTANT == SAID_TOO_LATE ->
			store_word(RECORDER, place, 0);
			MAY_DIE
		:: else
		fi;
		say_what_is_taken();
		MAY_DIE
	}
	word = 0;
	do
	:: word < ZEROS ->
		atomic {
			store_word(RECORDER, place + word, 0);
			word++;
			MAY_DIE
		}
	:: else -> break
	od;
	atomic {
		if
		:: MUTANT != TAIL_BEFORE_COPY && MUTANT != TAIL_BEFORE_ZEROS -> move_tail(end)
		:: else
		fi;
		d_step { /* fewer states */
			header = 0;
			place = 0;
			word = 0;
			end = 0;
			at = 0
		}
		MAY_DIE;
		goto next
	}

heir:
	atomic {
		TELL_RECORDER("                    the recorder is dead; another takes over at %d\n", NOW)
		if
		:: MUTANT == HEIR_STARTS_OVER ->
			at = heads;
			word = 0;
			do
			:: word < RING ->
				/* It asks nobody: as if it knew. */
				knows[RECORDER] = knows[RECORDER] | BIT(word);
				store_word(RECORDER, word, 0);
				word++
			:: else -> break
			od;
			taken = numbers;
			move_tail(head[at]);
			goto next
		:: MUTANT != HEIR_STARTS_OVER && taking > NOW ->
			word = TAIL_PLACE;
			end = taking
		:: else -> goto next
		fi
	}
	do
	:: NOW + word - TAIL_PLACE < end ->
		atomic {
			store_word(RECORDER, word, 0);
			word++;
			MAY_DIE
		}
	:: else -> break
	od;
	atomic {
		move_tail(end);
		MAY_DIE;
		goto next
	}

done:
	assert(killed || taken == numbers && numbers + refused == tried)
}

init
{
	atomic {
		/* A new ring: everybody knows that it is all zeros. */
		knows[0] = (1 << RING) - 1;
		knows[1] = (1 << RING) - 1;
#if WRITERS > 1
		knows[2] = (1 << RING) - 1;
#endif
#if WRITERS > 2
		knows[3] = (1 << RING) - 1;
#endif
		told_tail[0] = (1 << RING) - 1;
		run writer(0);
#if WRITERS > 1
		run writer(1);
#endif
#if WRITERS > 2
		run writer(2);
#endif
		run recorder()
	}
}

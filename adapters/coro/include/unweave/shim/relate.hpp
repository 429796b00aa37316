// SPDX-License-Identifier: Apache-2.0
/*
 * Who awaits whom, in a program that does not say: right, or silent.
 *
 * A coroutine P awaits X if two things come together. The awaiter that P suspends
 * with has the address of X's frame or promise in it, before it does; and X's
 * promise has, when X next does something, the address of P's frame or promise,
 * its continuation, or one inside of P's awaiter: a counter, a node of a list. The
 * first is noted beside X in the table of living frames, as a mark; the second is
 * looked at by X itself, so that nothing is read that may be gone. A mark goes
 * with the wait that left it.
 *
 * An awaiter that hands over to a coroutine which happens to be next, a queue that
 * goes through promises, an address in stale bytes: each is only one of the two.
 */
#ifndef UNWEAVE_SHIM_RELATE_HPP
#define UNWEAVE_SHIM_RELATE_HPP

#include <sys/single_threaded.h>

#include "unweave/shim/frames.hpp"

namespace unweave::shim
{
/* Larger objects are looked through up to here. */
inline constexpr std::uint32_t most_bytes = 512;

/* What is awaited may be shared with other threads, which change it: no matter. */
__attribute__((no_sanitize("thread"))) inline address word_at(const unsigned char *from) noexcept
{
	address word;

	__builtin_memcpy(&word, from, sizeof(word));
	return word;
}

/* The first word of an object, and where they end. */
struct words {
	const unsigned char *first, *end;

	explicit words(object object) noexcept
	    : first(object.bytes + (-reinterpret_cast<address>(object.bytes) % sizeof(address))),
	      end(object.bytes + (object.size < most_bytes ? object.size : most_bytes))
	{
		end -= (end - first) % sizeof(address);
	}
};

/* The two are one task only if the awaited one has the awaiter itself, and not just its counter. */
enum class relation { none, counter, continuation };

inline relation relation_of(address word, const record &awaiter) noexcept
{
	if (word == reinterpret_cast<address>(awaiter.frame()) ||
	    word == reinterpret_cast<address>(awaiter.promise()))
		return relation::continuation;
	return awaiter.awaiter.has(word) || awaiter.awaitable.has(word) ? relation::counter
									: relation::none;
}

/* What `awaited`, which is alive and does not run anywhere else, has of its awaiter. */
inline relation find_relation(const record &awaited, const record &awaiter) noexcept
{
	std::uint32_t &guess = awaited.of->continuation;
	words all(object{awaited.promise(), awaited.of->promise_size});
	relation found = relation::none;

	if (std::uint32_t at = __atomic_load_n(&guess, __ATOMIC_RELAXED);
	    all.first + at < all.end &&
	    relation_of(word_at(all.first + at), awaiter) == relation::continuation)
		return relation::continuation;
	for (const unsigned char *at = all.first; at < all.end; at += sizeof(address)) {
		relation one = relation_of(word_at(at), awaiter);

		if (one > found)
			found = one;
		if (one == relation::continuation) {
			__atomic_store_n(&guess, std::uint32_t(at - all.first), __ATOMIC_RELAXED);
			break;
		}
	}
	return found;
}

/* The frame that a word points to, or to the promise of; NULL: neither, or the own one. */
inline place *find_pointed_to(address word, const record &self) noexcept
{
	constexpr address header = 2 * sizeof(void *);
	place *found;

	if (word < 4096 || word % sizeof(void *))
		return nullptr;
	found = find_live(word);
	if (!found)
		found = find_live(word - header);
	return found != self.at ? found : nullptr;
}

/* Leaves the mark: it is about to await that one. NULL: somebody else is, or it is done. */
inline place *mark(place *awaited, const record &self) noexcept
{
	address state = load(awaited->mark);

	if (state != IDLE && state != BEGUN)
		return nullptr;
	return swap(awaited->mark, state, state | reinterpret_cast<address>(&self)) ? awaited
										    : nullptr;
}

/* The wait is over, or was none. */
inline void unmark(place *awaited, const record &self) noexcept
{
	address mark = load(awaited->mark);

	if ((mark & ~address(STATES)) == reinterpret_cast<address>(&self))
		swap(awaited->mark, mark, mark & STATES);
}

/* The marks that one wait has left. */
template <std::size_t most> struct marks {
	const record &self;
	std::size_t count = 0;
	place *places[most];

	explicit marks(const record &self) noexcept : self(self)
	{
	}

	~marks()
	{
		take_off();
	}

	/* Looks through an object that a coroutine is about to await with for others. */
	void leave(object object) noexcept
	{
		words all(object);

		for (const unsigned char *at = all.first; at < all.end && count < most;
		     at += sizeof(address)) {
			place *found = find_pointed_to(word_at(at), self);

			if (found && (found = mark(found, self)))
				places[count++] = found;
		}
	}

	void take_off() noexcept
	{
		while (count)
			unmark(places[--count], self);
	}

	place *only() const noexcept
	{
		return count == 1 ? places[0] : nullptr;
	}
};

/*
 * For waits that leave none. Nothing to destroy, either: where an exception leaves a coroutine,
 * clang destroys its final awaiter without having made it.
 */
template <> struct marks<0> {
	explicit marks(const record &) noexcept
	{
	}

	void take_off() noexcept
	{
	}
};

/* The frame of the one that may be called; NULL: there is none. */
inline void *callable(const place *awaited) noexcept
{
	return awaited && (load(awaited->mark) & STATES) == IDLE
		       ? reinterpret_cast<void *>(load(awaited->frame))
		       : nullptr;
}

/* Takes the mark off, and says how far the coroutine is now. */
inline record *take_mark(record &self, address state) noexcept
{
	address mark = __atomic_exchange_n(&self.at->mark, state, __ATOMIC_ACQ_REL);

	return reinterpret_cast<record *>(mark & ~address(STATES));
}

/* The coroutine does something: who was about to await it before does, or does not. */
inline void acts(record &self) noexcept
{
	if (!self.at || !(load(self.at->mark) & ~address(STATES)))
		return;
	if (record *awaiter = take_mark(self, BEGUN);
	    awaiter && find_relation(self, *awaiter) != relation::none)
		unweave_routine_await(&awaiter->routine, &self.routine);
}

/* It runs for the first time, or is asked for its next value. */
inline relation begins(record &self) noexcept
{
	record *awaiter;
	relation found;

	if (!self.at)
		return relation::none;
	if ((load(self.at->mark) & STATES) != IDLE) {
		acts(self);
		return relation::none;
	}
	awaiter = take_mark(self, BEGUN);
	found = awaiter ? find_relation(self, *awaiter) : relation::none;
	if (self.of->generator)
		self.routine.flags = found == relation::none ? UNWEAVE_ROUTINE_GENERATOR : 0;
	if (found == relation::continuation)
		unweave_routine_call(&awaiter->routine, &self.routine, awaiter->line);
	else if (found == relation::counter)
		unweave_routine_await(&awaiter->routine, &self.routine);
	return found;
}

/* Its body is done, or gave a value, which comes to the same for who asked for it. */
inline void ends(record &self, address state) noexcept
{
	acts(self);
	if (self.at)
		store(self.at->mark, state);
}

/*
 * The coroutine `self` has suspended, perhaps, and perhaps has gone on and is gone. If no
 * other thread can be at it, and it still waits, then what it awaits can be asked at once.
 */
inline void ask_awaited(place *awaited, const record *self) noexcept
{
	if (__libc_single_threaded &&
	    load(awaited->mark) == (reinterpret_cast<address>(self) | BEGUN))
		if (record *other = find_record(reinterpret_cast<void *>(load(awaited->frame))))
			acts(*other);
}
} // namespace unweave::shim

#endif // UNWEAVE_SHIM_RELATE_HPP

// SPDX-License-Identifier: Apache-2.0
/*
 * From the address of a coroutine's frame to what we keep of it.
 *
 * A frame begins with two pointers, to the functions that resume and destroy it,
 * in every compiler; the promise follows, and our record after it. Two tables in
 * static memory, without locks, say what an address is. One has the functions
 * that destroy frames, and how far from its frame each has the record: it answers
 * for a handle that the program uses right now, whose frame must be alive. The
 * other has the frames that are alive: it answers for words that may be anything,
 * and is all that we look at then. What does not fit in is unknown, and stays so.
 */
#ifndef UNWEAVE_SHIM_FRAMES_HPP
#define UNWEAVE_SHIM_FRAMES_HPP

#include <cstddef>
#include <cstdint>

#include "unweave/routine.h"

namespace unweave::shim
{
using address = std::uintptr_t;

/* One for the whole program, also where its libraries hide their symbols. */
#define UNWEAVE_SHIM_SHARED __attribute__((visibility("default"))) inline

template <class T> T load(const T &from) noexcept
{
	return __atomic_load_n(&from, __ATOMIC_ACQUIRE);
}

template <class T> void store(T &to, T value) noexcept
{
	__atomic_store_n(&to, value, __ATOMIC_RELEASE);
}

template <class T> bool swap(T &at, T expected, T value) noexcept
{
	return __atomic_compare_exchange_n(&at, &expected, value, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* What transfers have come to so far, at one place of the code: so that the next is foreseen. */
inline constexpr unsigned char HABIT_UNKNOWN = 0, HABIT_TRANSFERS = 1, HABIT_MIXED = 2;

/* What coroutines with the same promise type have in common. */
struct kind {
	std::uint32_t record = 0;       /* where it is, from the start of the frame; 0: not known */
	std::uint32_t promise = 0;      /* the same of the program's promise, ... */
	std::uint32_t promise_size;     /* ... and its size */
	std::uint32_t continuation = 0; /* where in that its awaiter's address was the last time */
	bool generator;                 /* it can yield values */
	unsigned char back = HABIT_UNKNOWN; /* when it ends, or yields */
};

/* The place of a frame in the table of those that are alive. */
struct place {
	address frame; /* 0: free */
	/*
	 * How far the coroutine is, and, in the bits above, the record of the one that is
	 * about to await it, until that turns out to be so or not.
	 */
	address mark;
};

enum : address {
	IDLE,  /* it has not begun, or gave a value and has not been asked for the next: may be
		  called */
	BEGUN, /* it runs or waits */
	DONE,
	STATES = 7,
};

struct object {
	const unsigned char *bytes;
	std::size_t size;

	bool has(address word) const noexcept
	{
		return word - reinterpret_cast<address>(bytes) < size;
	}
};

template <class T> object object_of(T &from) noexcept
{
	return {&reinterpret_cast<const unsigned char &>(from), sizeof(from)};
}

/* What we keep of a coroutine, in its frame. */
struct record {
	unweave_routine routine{};     /* first: the other way round is a cast */
	kind *of = nullptr;            /* NULL: it has not come to its initial suspension */
	place *at = nullptr;           /* NULL: there was no room */
	object awaiter{}, awaitable{}; /* that it awaits with, while it does */
	std::uint32_t line = 0;        /* where it awaits */
	bool failed = false;           /* an exception ended it */

	record() = default;
	record(const record &) = delete;
	inline ~record();

	void *frame() const noexcept
	{
		return reinterpret_cast<char *>(const_cast<record *>(this)) - of->record;
	}

	unsigned char *promise() const noexcept
	{
		return static_cast<unsigned char *>(frame()) + of->promise;
	}
};

inline record *record_of(unweave_link *link) noexcept
{
	return reinterpret_cast<record *>(link);
}

/* The functions that destroy frames. */
struct destroyer {
	address function;
	address record; /* as in a kind */
};

inline constexpr std::size_t destroyers_size = 1 << 12, destroyers_tries = 16;
UNWEAVE_SHIM_SHARED destroyer destroyers[destroyers_size];

inline destroyer &destroyer_at(address function, std::size_t attempt) noexcept
{
	return destroyers[((function >> 4) + attempt) % destroyers_size];
}

inline address destroyer_of(const void *frame) noexcept
{
	return static_cast<const address *>(frame)[1];
}

inline void note_destroyer(address function, address record) noexcept
{
	for (std::size_t attempt = 0; attempt < destroyers_tries; attempt++) {
		destroyer &at = destroyer_at(function, attempt);

		if (load(at.function) != function &&
		    (load(at.function) || !swap(at.function, address(0), function)) &&
		    load(at.function) != function)
			continue;
		/* Another one can only be that of a library which was unloaded. */
		if (load(at.record) != record)
			store(at.record, record);
		return;
	}
}

/* NULL: a frame of code that was built without us, or that we have no room for. */
inline record *find_record(void *frame) noexcept
{
	address function = destroyer_of(frame);

	for (std::size_t attempt = 0; attempt < destroyers_tries; attempt++) {
		const destroyer &at = destroyer_at(function, attempt);
		address known = load(at.function);

		if (known == function) {
			address record_at = load(at.record);

			return record_at ? reinterpret_cast<record *>(static_cast<char *>(frame) +
								      record_at)
					 : nullptr;
		}
		if (!known)
			return nullptr;
	}
	return nullptr;
}

/* The frames that are alive; neighbours in memory are neighbours here. */
struct alignas(64) line_of_places {
	place places[4];
};

inline constexpr std::size_t live_size = 1 << 15, live_tries = 2;
UNWEAVE_SHIM_SHARED line_of_places live[live_size];

inline line_of_places &live_at(address frame, std::size_t attempt) noexcept
{
	return live[((frame >> 6 ^ frame >> 21) + attempt) % live_size];
}

inline place *enter_live(address frame) noexcept
{
	for (std::size_t attempt = 0; attempt < live_tries; attempt++)
		for (place &place : live_at(frame, attempt).places)
			if (!load(place.frame) && swap(place.frame, address(0), frame))
				return &place;
	return nullptr;
}

inline void leave_live(place *place) noexcept
{
	if (!place)
		return;
	store(place->mark, address(IDLE));
	store(place->frame, address(0));
}

inline place *find_live(address frame) noexcept
{
	for (std::size_t attempt = 0; attempt < live_tries; attempt++)
		for (place &place : live_at(frame, attempt).places)
			if (load(place.frame) == frame)
				return &place;
	return nullptr;
}

inline record::~record()
{
	if (!of)
		return;
	leave_live(at);
	unweave_routine_drop(&routine);
}
} // namespace unweave::shim

#endif // UNWEAVE_SHIM_FRAMES_HPP

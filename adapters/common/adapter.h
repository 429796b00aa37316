/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the adapters have in common. An adapter is a shared object that is
 * preloaded into a program which never heard of unweave. It defines functions of
 * an event library under their own names, so that the program's calls come here
 * first; what they do they have done by the library's own function, and say what
 * it means by the hooks of unweave/callback.h.
 *
 * An adapter links with libunweave and libc alone: in a program that does not use
 * the library it does nothing, and needs nothing.
 */
#ifndef ADAPTER_ADAPTER_H
#define ADAPTER_ADAPTER_H

#include <stdbool.h>
#include <stdint.h>

#include "unweave/callback.h"

#define adapter_likely(condition) __builtin_expect(!!(condition), 1)
#define adapter_unlikely(condition) __builtin_expect(!!(condition), 0)

/* For functions that stand in for the library's. All others are hidden. */
#define ADAPTER_EXPORT __attribute__((visibility("default")))
#define ADAPTER_TLS __thread __attribute__((tls_model("initial-exec")))
/* Where the program goes on after the interposed function: the place that armed. */
#define ADAPTER_PLACE __builtin_return_address(0)

/* The library of an adapter, as far as it is known; static, one in each adapter. */
struct adapter {
	const char *name;       /* as the user knows it: "libuv" */
	const char *soname;     /* "libuv.so.1": of a library that was loaded for itself alone */
	const char *also;       /* another library with the same functions, or NULL */
	const char *probe;      /* a function of it, by which it is found */
	uintptr_t start, bytes; /* where its code lies; 0 bytes: not known yet */
};

/*
 * The library's own function behind an interposed one. Looked up at the first
 * call; NULL if the library has none such, which a program can only find out by
 * asking for it by name.
 */
void *adapter_find(const struct adapter *adapter, _Atomic(void *) *cache, const char *name);

#define ADAPTER_NEXT(adapter, function)                                                            \
	(__extension__({                                                                           \
		static _Atomic(void *) next_;                                                      \
		void *found_ = __atomic_load_n((void **)&next_, __ATOMIC_RELAXED);                 \
                                                                                                   \
		if (adapter_unlikely(!found_))                                                     \
			found_ = adapter_find(adapter, &next_, #function);                         \
		(__typeof__(&function))found_;                                                     \
	}))

/* Looks where the library's code lies. Does nothing if it is not loaded. */
void adapter_locate(struct adapter *adapter);

/*
 * Whether an address lies in the library's code, as far as that is known. For functions whose
 * usual way calls nothing, so that no register is saved for the sake of a first time. [hot]
 */
static inline bool adapter_is_surely_inside(const struct adapter *adapter, const void *address)
{
	/* Pairs with the release in adapter_locate(). */
	uintptr_t bytes = __atomic_load_n(&adapter->bytes, __ATOMIC_ACQUIRE);

	return (uintptr_t)address - __atomic_load_n(&adapter->start, __ATOMIC_RELAXED) < bytes;
}

/* Whether it does: it is the library that calls, and not the program. [hot] */
static inline bool adapter_is_inside(struct adapter *adapter, const void *address)
{
	if (adapter_unlikely(!__atomic_load_n(&adapter->bytes, __ATOMIC_RELAXED)))
		adapter_locate(adapter);
	return adapter_is_surely_inside(adapter, address);
}

/*
 * How often this process is the child of a fork(). What an adapter keeps from
 * before, such as the tasks of loops, is its parent's.
 */
unsigned adapter_forks(void);

/*
 * The object that has this address calls callbacks, and arms none: it is no place that arms. So is
 * the adapter itself, once it took hold.
 */
void adapter_only_calls(const void *address);

/* Tells the trace, once, that the adapter took hold, of which version of the library. */
void adapter_took_hold(const struct adapter *adapter, const char *version);

/*
 * The task of a loop, by the address of the library's object; made at its first
 * use. Loops are few: beyond some dozens, they are not told. [hot]
 */
uint64_t adapter_loop(const void *object, const char *kind, const void *code, const void *place);
/* The object is gone. */
void adapter_loop_gone(const void *object);

#endif /* ADAPTER_ADAPTER_H */

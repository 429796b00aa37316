/* SPDX-License-Identifier: Apache-2.0 */
#include "common/adapter.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>

#define LOOPS 64u

/* In a library, if it is loaded. */
static void *find_in(const char *soname, const char *name)
{
	void *library = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
	void *found;

	if (!library)
		return NULL;
	found = dlsym(library, name);
	dlclose(library);
	return found;
}

void *adapter_find(const struct adapter *adapter, _Atomic(void *) *cache, const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	/* One that was loaded by dlopen(), for its loader alone, is not among the next. */
	if (!found)
		found = find_in(adapter->soname, name);
	if (!found && adapter->also)
		found = find_in(adapter->also, name);
	atomic_store_explicit(cache, found, memory_order_relaxed);
	return found;
}

struct search {
	uintptr_t address;
	uintptr_t start, end;
};

/* Widens the bounds to all code of the object that has the address. */
static int look_at_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	uintptr_t start = UINTPTR_MAX, end = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		start = at < start ? at : start;
		end = at + segment->p_memsz > end ? at + segment->p_memsz : end;
	}
	if (search->address < start || search->address >= end)
		return 0;
	search->start = start;
	search->end = end;
	return 1;
}

void adapter_locate(struct adapter *adapter)
{
	_Atomic(void *) probe = NULL;
	struct search search = {.address =
					(uintptr_t)adapter_find(adapter, &probe, adapter->probe)};

	if (!search.address || !dl_iterate_phdr(look_at_object, &search))
		return;
	__atomic_store_n(&adapter->start, search.start, __ATOMIC_RELAXED);
	/* Pairs with the acquire in adapter_is_surely_inside(). */
	__atomic_store_n(&adapter->bytes, search.end - search.start, __ATOMIC_RELEASE);
}

void adapter_only_calls(const void *address)
{
	struct search search = {.address = (uintptr_t)address};

	if (dl_iterate_phdr(look_at_object, &search))
		unweave_priv_only_calls((const void *)search.start, (const void *)search.end);
}

void adapter_took_hold(const struct adapter *adapter, const char *version)
{
	adapter_only_calls((const void *)(uintptr_t)adapter_took_hold);
	unweave_adapter(adapter->name, version);
}

/*
 * The loops that were seen. An entry is taken by a compare-and-swap of its object,
 * and its task stored after: until then it has none, which is told as no loop.
 */
static struct {
	_Atomic(const void *) object;
	_Atomic uint64_t task;
} loops[LOOPS];

static uint64_t enter(const void *object, const char *kind, const void *code, const void *place)
{
	for (unsigned i = 0; i < LOOPS; i++) {
		const void *seen = NULL;

		if (atomic_compare_exchange_strong(&loops[i].object, &seen, object)) {
			uint64_t task = unweave_loop_open(kind, code, place);

			atomic_store_explicit(&loops[i].task, task, memory_order_relaxed);
			return task;
		}
		/* Another thread was first. */
		if (seen == object)
			return atomic_load_explicit(&loops[i].task, memory_order_relaxed);
	}
	return 0;
}

uint64_t adapter_loop(const void *object, const char *kind, const void *code, const void *place)
{
	/* All of them: a loop that went may have left an empty entry before this one. */
	for (unsigned i = 0; i < LOOPS; i++)
		if (atomic_load_explicit(&loops[i].object, memory_order_relaxed) == object)
			return atomic_load_explicit(&loops[i].task, memory_order_relaxed);
	return enter(object, kind, code, place);
}

void adapter_loop_gone(const void *object)
{
	for (unsigned i = 0; i < LOOPS; i++) {
		if (atomic_load_explicit(&loops[i].object, memory_order_relaxed) != object)
			continue;
		unweave_callback_drop(atomic_exchange(&loops[i].task, 0));
		atomic_store_explicit(&loops[i].object, NULL, memory_order_release);
		return;
	}
}

static _Atomic unsigned forks;

static void child_of_fork(void)
{
	for (unsigned i = 0; i < LOOPS; i++) {
		atomic_store_explicit(&loops[i].task, 0, memory_order_relaxed);
		atomic_store_explicit(&loops[i].object, NULL, memory_order_relaxed);
	}
	atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static __attribute__((constructor)) void await_forks(void)
{
	pthread_atfork(NULL, NULL, child_of_fork);
}

unsigned adapter_forks(void)
{
	return atomic_load_explicit(&forks, memory_order_relaxed);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records: a part of the address space of their own, handed out from its start, so
 * that each has a number. A thread keeps those that it frees; when it has many, half go to a stack
 * that all threads share, as one chain. So a thread that only frees feeds one that only takes.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "libevent/state.h"

#define RECORDS (1u << 20)
#define BATCH (KEPT / 2)

static struct record *records; /* NULL: no room, so that nothing deferred is told */
static _Atomic uint32_t handed_out;
/* number of the first record | changes << 32: so it differs after each change */
static _Atomic uint64_t shared;
static pthread_key_t at_thread_end;

uint32_t pool_number(const struct record *record)
{
	return (uint32_t)(record - records) + 1;
}

struct record *pool_record(uint32_t number)
{
	if (number == 0 || number > RECORDS || !records)
		return NULL;
	return records + (number - 1);
}

/* A chain on the stack: linked by `next`, the chain below it by `below` of its first. */
static void share(struct record *chain)
{
	uint64_t top = atomic_load_explicit(&shared, memory_order_relaxed), now;

	do {
		chain->below = pool_record((uint32_t)top);
		now = ((top >> 32) + 1) << 32 | pool_number(chain);
		/* Pairs with the acquire in take_shared(): the links before the chain. */
	} while (!atomic_compare_exchange_weak_explicit(&shared, &top, now, memory_order_release,
							memory_order_relaxed));
}

static uint32_t number_or_none(const struct record *record)
{
	return record ? pool_number(record) : 0;
}

static struct record *take_shared(void)
{
	uint64_t top = atomic_load_explicit(&shared, memory_order_acquire), now;
	struct record *chain;

	do {
		chain = pool_record((uint32_t)top);
		if (!chain)
			return NULL;
		/* Of a chain that was taken meanwhile this is any word: then the exchange fails. */
		now = ((top >> 32) + 1) << 32 |
		      number_or_none(__atomic_load_n(&chain->below, __ATOMIC_RELAXED));
	} while (!atomic_compare_exchange_weak_explicit(&shared, &top, now, memory_order_acquire,
							memory_order_acquire));
	return chain;
}

/* From the end of those that were never used. */
static struct record *take_new(void)
{
	if (!records || atomic_load_explicit(&handed_out, memory_order_relaxed) >= RECORDS)
		return NULL;
	return pool_record(atomic_fetch_add_explicit(&handed_out, 1, memory_order_relaxed) + 1);
}

static void give_all_back(void *unused)
{
	(void)unused;
	if (self.free)
		share(self.free);
	self.free = NULL;
	self.kept = 0;
}

struct record *pool_take(void *owner)
{
	struct record *record = self.free;

	if (adapter_unlikely(!record))
		record = take_shared();
	if (adapter_unlikely(!record)) {
		record = take_new();
		if (!record)
			return NULL;
		record->next = NULL;
	}
	self.free = record->next;
	self.kept -= self.kept > 0;
	record->owner = owner;
	return record;
}

/* The older half of those that the thread keeps, for others. */
static void share_half(void)
{
	struct record *last = self.free, *chain;

	for (unsigned i = 1; i < BATCH && last->next; i++)
		last = last->next;
	chain = last->next;
	last->next = NULL;
	self.kept = BATCH;
	if (chain)
		share(chain);
}

void pool_give(struct record *record)
{
	record->owner = NULL;
	record->next = self.free;
	self.free = record;
	if (adapter_unlikely(!self.leaves)) {
		self.leaves = true;
		pthread_setspecific(at_thread_end, &self);
	}
	if (adapter_unlikely(++self.kept >= KEPT))
		share_half();
}

__attribute__((constructor)) static void reserve(void)
{
	void *room = mmap(NULL, RECORDS * sizeof(*records), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (room == MAP_FAILED || pthread_key_create(&at_thread_end, give_all_back) != 0)
		return;
	records = room;
}

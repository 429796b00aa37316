/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources of the program's own sort: their dispatch functions stand in tables of
 * the program, or of a library.
 *
 * Most of these can be written to, and are: the table keeps its address, by which
 * programs tell their sources from others. A constant one has a stand-in, a copy
 * that its sources are given instead.
 *
 * A table may be copied by its owner, with our function in it. So there is one
 * function for each table that was seen, which knows by its number what to call.
 */
#include "hooks.h"

#include <link.h>
#include <stdatomic.h>

#define TABLES 64u

static struct table {
	_Atomic(const GSourceFuncs *) funcs; /* the program's; NULL: not used yet */
	_Atomic(glib_dispatch) dispatch;     /* what was there before; NULL: not yet entered */
	GSourceFuncs stand_in;               /* the same, but for our function */
	bool stands_in;                      /* the table is a constant */
} tables[TABLES];

static inline gboolean dispatch_custom(unsigned number, GSource *source, GSourceFunc callback,
				       gpointer data)
{
	struct glib_call call = {
		.dispatch = atomic_load_explicit(&tables[number].dispatch, memory_order_acquire),
		.source = source,
		.callback = callback,
		.data = data,
	};

	return source_dispatch(&call, "source");
}

#define ONE(n)                                                                                     \
	static gboolean dispatch_##n(GSource *source, GSourceFunc callback, gpointer data)         \
	{                                                                                          \
		return dispatch_custom(n, source, callback, data);                                 \
	}
#define EIGHT(n) DO(n##0) DO(n##1) DO(n##2) DO(n##3) DO(n##4) DO(n##5) DO(n##6) DO(n##7)
#define ALL EIGHT(00) EIGHT(01) EIGHT(02) EIGHT(03) EIGHT(04) EIGHT(05) EIGHT(06) EIGHT(07)

#define DO(n) ONE(n)
ALL
#undef DO
#define DO(n) [n] = dispatch_##n,
	static const glib_dispatch ours[TABLES] = {ALL};

struct search {
	uintptr_t address;
	bool writable;
};

/* Whether the table lies in the data of this object, and stays writable there. */
static int look_at_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	bool found = false, writable = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (search->address < start || search->address - start >= segment->p_memsz)
			continue;
		if (segment->p_type == PT_GNU_RELRO)
			return 1;
		if (segment->p_type == PT_LOAD) {
			found = true;
			writable = segment->p_flags & PF_W;
		}
	}
	search->writable = writable;
	return found;
}

static bool is_writable(const GSourceFuncs *funcs)
{
	struct search search = {.address = (uintptr_t)funcs};

	dl_iterate_phdr(look_at_object, &search);
	return search.writable;
}

static bool is_ours(glib_dispatch dispatch)
{
	for (unsigned i = 0; i < TABLES; i++)
		if (dispatch == ours[i])
			return true;
	for (unsigned i = 0; i < GLIB_SORTS; i++)
		if (dispatch == glib_tables[i].ours)
			return true;
	return false;
}

/* Puts our function into the program's table. */
static void put(struct table *table, const GSourceFuncs *funcs)
{
	__atomic_store_n(&((GSourceFuncs *)funcs)->dispatch, table->stand_in.dispatch,
			 __ATOMIC_RELEASE);
}

/* Enters a table; two threads may do so at once, for two entries. NULL if there are too many. */
static struct table *enter(const GSourceFuncs *funcs, glib_dispatch dispatch)
{
	for (unsigned i = 0; i < TABLES; i++) {
		struct table *table = &tables[i];
		const GSourceFuncs *seen = NULL;

		if (!atomic_compare_exchange_strong(&table->funcs, &seen, funcs))
			continue;
		table->stand_in = *funcs;
		table->stand_in.dispatch = ours[i];
		table->stands_in = !is_writable(funcs);
		/* Pairs with the acquire in find() and in dispatch_custom(). */
		atomic_store_explicit(&table->dispatch, dispatch, memory_order_release);
		if (!table->stands_in)
			put(table, funcs);
		return table;
	}
	return NULL;
}

/* Another one may lie there by now: of a library that came when one had gone. */
static bool is_same(const struct table *table, const GSourceFuncs *funcs, glib_dispatch dispatch)
{
	return (dispatch == table->stand_in.dispatch || dispatch == table->dispatch) &&
	       table->stand_in.prepare == funcs->prepare && table->stand_in.check == funcs->check &&
	       table->stand_in.finalize == funcs->finalize;
}

/* The entry of a table that is the same as when it was entered. */
static struct table *find(const GSourceFuncs *funcs, glib_dispatch dispatch)
{
	for (unsigned i = 0; i < TABLES; i++) {
		const GSourceFuncs *seen =
			atomic_load_explicit(&tables[i].funcs, memory_order_relaxed);

		if (!seen)
			break;
		if (seen == funcs &&
		    atomic_load_explicit(&tables[i].dispatch, memory_order_acquire) &&
		    is_same(&tables[i], funcs, dispatch))
			return &tables[i];
	}
	return NULL;
}

void custom_adopt(GSource *source)
{
	const GSourceFuncs *funcs = source->source_funcs;
	glib_dispatch dispatch = __atomic_load_n(&funcs->dispatch, __ATOMIC_ACQUIRE);
	struct table *table;

	if (adapter_unlikely(!dispatch))
		return;
	table = find(funcs, dispatch);
	if (!table && !is_ours(dispatch))
		table = enter(funcs, dispatch);
	if (!table)
		return;
	if (table->stands_in)
		source->source_funcs = &table->stand_in;
	else if (dispatch != table->stand_in.dispatch)
		put(table, funcs);
}

glib_dispatch custom_original(const GSourceFuncs *funcs)
{
	for (unsigned i = 0; i < GLIB_SORTS; i++)
		if (funcs == glib_tables[i].funcs)
			return glib_tables[i].dispatch;
	for (unsigned i = 0; i < TABLES; i++)
		if (funcs->dispatch == ours[i])
			return atomic_load_explicit(&tables[i].dispatch, memory_order_relaxed);
	return funcs->dispatch;
}

GSourceFuncs *custom_stand_in(const GSourceFuncs *funcs)
{
	struct table *table = find(funcs, funcs->dispatch);

	return table && table->stands_in ? &table->stand_in : NULL;
}

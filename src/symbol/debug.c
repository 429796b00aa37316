/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/debug.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "symbol/demangle.h"
#include "symbol/ranges.h"
#include "util/cleanup.h"
#include "util/grow.h"

/* Debug information that nests deeper than any compiler's is not followed. */
#define DEPTH_MOST 256u

struct unit {
	Dwarf_Die lines;     /* has the line table */
	Dwarf_Die functions; /* the same, or where the rest of a split unit is */
	bool indexed;
	struct ranges ranges; /* owner: index in `of` */
	Dwarf_Die *of;
	uint32_t count, capacity;
};

struct debug_index {
	Dwarf *dwarf;
	Dwarf_Addr bias; /* address of the module less the one in the debug information */
	struct ranges ranges;
	struct unit *units;
	uint32_t count, capacity;
};

DEFINE_FREEP(struct debug_index, debug_index_free)

/*
 * Adds all that `die` covers. What the linker left out stands at 0, where no
 * program has code.
 */
static int add_ranges(struct ranges *ranges, Dwarf_Die *die, uint32_t owner)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	int r = 0;

	while (r == 0 && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		r = start ? ranges_add(ranges, start, end, owner) : 0;
	return r;
}

static int add_unit(struct debug_index *index, Dwarf_Die *unit, Dwarf_Die *split)
{
	struct unit *more = grow(index->units, index->count, &index->capacity, 64, sizeof(*more));

	if (!more)
		return -ENOMEM;
	index->units = more;
	index->units[index->count] =
		(struct unit){.lines = *unit, .functions = split ? *split : *unit};
	return add_ranges(&index->ranges, unit, index->count++);
}

static int add_units(struct debug_index *index)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit, split;
	uint8_t type;
	int r = 0;

	while (r == 0 && dwarf_get_units(index->dwarf, cu, &cu, NULL, &type, &unit, &split) == 0) {
		if (type == DW_UT_skeleton && split.addr)
			r = add_unit(index, &unit, &split);
		else if (type == DW_UT_compile || type == DW_UT_skeleton)
			r = add_unit(index, &unit, NULL);
	}
	ranges_sort(&index->ranges);
	return r;
}

int debug_index_new(struct debug_index **ret, Dwfl_Module *module)
{
	cleanup(debug_index_freep) struct debug_index *index = NULL;
	Dwarf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(module, &bias);
	int r;

	if (!dwarf) {
		*ret = NULL;
		return 0;
	}
	index = calloc(1, sizeof(*index));
	if (!index)
		return -ENOMEM;
	index->dwarf = dwarf;
	index->bias = bias;
	r = add_units(index);
	if (r < 0)
		return r;
	*ret = take(index);
	return 0;
}

struct debug_index *debug_index_free(struct debug_index *index)
{
	if (!index)
		return NULL;
	for (uint32_t i = 0; i < index->count; i++) {
		ranges_fini(&index->units[i].ranges);
		free(index->units[i].of);
	}
	ranges_fini(&index->ranges);
	free(index->units);
	free(index);
	return NULL;
}

static int add_function(struct unit *unit, Dwarf_Die *die)
{
	Dwarf_Die *of = grow(unit->of, unit->count, &unit->capacity, 32, sizeof(*of));
	size_t before = unit->ranges.count;
	int r;

	if (!of)
		return -ENOMEM;
	unit->of = of;
	r = add_ranges(&unit->ranges, die, unit->count);
	/* A declaration, or one that is only inlined, covers nothing. */
	if (r == 0 && unit->ranges.count > before)
		unit->of[unit->count++] = *die;
	return r;
}

/* Whether a function may stand inside: methods of a local class do, with code of their own. */
static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

static int add_functions(struct unit *unit, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	int r = 0;

	if (depth == DEPTH_MOST || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			r = add_function(unit, &die);
		if (r == 0 && may_hold_functions(tag))
			r = add_functions(unit, &die, depth + 1);
	} while (r == 0 && dwarf_siblingof(&die, &die) == 0);
	return r;
}

static int index_unit(struct unit *unit)
{
	int r;

	if (unit->indexed)
		return 0;
	r = add_functions(unit, &unit->functions, 0);
	if (r < 0) {
		/* Half of them would be a wrong answer. */
		ranges_fini(&unit->ranges);
		unit->count = 0;
		return r;
	}
	ranges_sort(&unit->ranges);
	unit->indexed = true;
	return 0;
}

/* The calls around `address` from the function in; returns how many were put in `scopes`. */
static uint32_t find_inlined(const Dwarf_Die *function, Dwarf_Addr address,
			     Dwarf_Die scopes[DEBUG_FRAMES_MOST])
{
	Dwarf_Die at = *function, die;
	uint32_t count = 1;

	scopes[0] = at;
	for (unsigned depth = 0; depth < DEPTH_MOST && count < DEBUG_FRAMES_MOST; depth++) {
		bool found = false;

		if (dwarf_child(&at, &die) != 0)
			break;
		do {
			int tag = dwarf_tag(&die);

			found = (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
				dwarf_haspc(&die, address) > 0;
			if (found && tag == DW_TAG_inlined_subroutine)
				scopes[count++] = die;
		} while (!found && dwarf_siblingof(&die, &die) == 0);
		if (!found)
			break;
		at = die;
	}
	return count;
}

/* The linkage name if it says more than the name: so it does where it is mangled. */
static const char *name_of(Dwarf_Die *function)
{
	const char *name = dwarf_diename(function), *linkage = NULL;
	Dwarf_Attribute attribute;

	if (dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(function, DW_AT_MIPS_linkage_name, &attribute))
		linkage = dwarf_formstring(&attribute);
	return linkage && (!name || is_mangled(linkage)) ? linkage : name;
}

/* Where the call of an inlined function stands. */
static void place_call(struct unit *unit, Dwarf_Die *call, struct symbol_frame *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t count;

	if (dwarf_attr(call, DW_AT_call_line, &attribute) &&
	    dwarf_formudata(&attribute, &line) == 0 && line <= UINT32_MAX)
		frame->line = (uint32_t)line;
	if (dwarf_attr(call, DW_AT_call_file, &attribute) &&
	    dwarf_formudata(&attribute, &file) == 0 &&
	    dwarf_getsrcfiles(&unit->lines, &files, &count) == 0 && file < count)
		frame->file = dwarf_filesrc(files, file, NULL, NULL);
}

static void place_line(struct unit *unit, Dwarf_Addr address, struct symbol_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->lines, address);
	int number;

	if (!line)
		return;
	frame->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		frame->line = (uint32_t)number;
}

/* Frame 0 is the innermost, scope 0 the outermost. */
static void fill_frames(struct unit *unit, Dwarf_Die *scopes, uint32_t count,
			struct debug_place *place)
{
	place->count = count;
	for (uint32_t i = 0; i < count; i++)
		place->frames[i].function = name_of(&scopes[count - 1 - i]);
	for (uint32_t i = 1; i < count; i++)
		place_call(unit, &scopes[count - i], &place->frames[i]);
}

/* One that lies in several parts begins with the first of them. */
static bool entry_of(Dwarf_Die *function, Dwarf_Addr *ret)
{
	Dwarf_Addr base, end;

	return dwarf_entrypc(function, ret) == 0 || dwarf_ranges(function, 0, &base, ret, &end) > 0;
}

/* Where a function stands that was only just entered. False: the debug information does not say. */
static bool place_declaration(Dwarf_Die *function, struct symbol_frame *frame)
{
	int line;

	if (dwarf_decl_line(function, &line) != 0 || line <= 0)
		return false;
	frame->file = dwarf_decl_file(function);
	frame->line = (uint32_t)line;
	return frame->file != NULL;
}

/*
 * Its first instruction may be that of a function inlined there, and of that one's
 * lines. But who names a function by its address means the function itself, and one
 * that was only just entered has called nothing.
 */
static void place_function(struct unit *unit, Dwarf_Die *function, Dwarf_Addr at, bool entered,
			   struct debug_place *place)
{
	Dwarf_Die scopes[DEBUG_FRAMES_MOST] = {*function};
	uint32_t count = entered ? 1 : find_inlined(function, at, scopes);

	fill_frames(unit, scopes, count, place);
	if (!entered || !place_declaration(function, &place->frames[0]))
		place_line(unit, at, &place->frames[0]);
}

int debug_index_find(struct debug_index *index, uint64_t address, struct debug_place *ret)
{
	Dwarf_Addr at = address - index->bias;
	uint32_t number = ranges_find(&index->ranges, at);
	Dwarf_Addr entry = 0;
	struct unit *unit;
	bool known;
	int r;

	*ret = (struct debug_place){0};
	if (number == RANGES_NONE)
		return 0;
	unit = &index->units[number];
	r = index_unit(unit);
	if (r < 0)
		return r;
	ret->count = 1;
	number = ranges_find(&unit->ranges, at);
	if (number == RANGES_NONE) {
		place_line(unit, at, &ret->frames[0]);
		return 0;
	}
	known = entry_of(&unit->of[number], &entry);
	if (known)
		ret->start = entry + index->bias;
	place_function(unit, &unit->of[number], at, known && at == entry, ret);
	return 0;
}

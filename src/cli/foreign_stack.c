/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/foreign_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/modules.h"
#include "symbol/unwind.h"
#include "util/cleanup.h"

/* In a callchain: what follows was found in the kernel, in the program, ... */
#define CONTEXT_USER ((uint64_t)-512)
#define CONTEXT_MOST ((uint64_t)-4095)
#define SCANNED_MOST 64u

/* perf's numbers of the registers, by those that DWARF has. */
static const uint8_t x86_registers[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8};
#define X86_SP 7u
#define X86_PC 16u
#define ARM_REGISTERS 33u
#define ARM_SP 31u
#define ARM_PC 32u

struct foreign_walker {
	struct unwinder *unwinder;
	struct symbols *symbols;
	struct splice_anchors anchors;
	bool arm;
	bool own; /* the machine is of the kind that this one is: only such stacks can be unwound */
};

#ifdef __aarch64__
#define OWN_MACHINE "aarch64"
#else
#define OWN_MACHINE "x86_64"
#endif

DEFINE_FREEP(struct foreign_walker, foreign_walker_free)

int foreign_walker_new(struct foreign_walker **ret, struct symbols *symbols, const char *machine,
		       struct splice_anchors anchors)
{
	cleanup(foreign_walker_freep) struct foreign_walker *walker = calloc(1, sizeof(*walker));
	int r;

	if (!walker)
		return -ENOMEM;
	walker->symbols = symbols;
	walker->anchors = anchors;
	walker->arm = strcmp(machine, "aarch64") == 0;
	walker->own = strcmp(machine, OWN_MACHINE) == 0;
	r = unwinder_new(&walker->unwinder, symbols);
	if (r < 0)
		return r;
	*ret = take(walker);
	return 0;
}

struct foreign_walker *foreign_walker_free(struct foreign_walker *walker)
{
	if (!walker)
		return NULL;
	unwinder_free(walker->unwinder);
	free(walker);
	return NULL;
}

static bool is_anchor(const struct foreign_walker *walker, uint64_t address)
{
	return address >= walker->anchors.start && address < walker->anchors.end;
}

static bool is_code(const struct foreign_walker *walker, uint64_t address)
{
	return symbols_is_mapped(walker->symbols, address);
}

/* The program's part of what the kernel walked: its pc, then return addresses. */
static void take_callchain(const struct foreign_walker *walker, const struct perf_sample *sample,
			   struct foreign_stack *ret)
{
	bool user = !sample->in_kernel;

	for (uint32_t i = 0; i < sample->callchain_count; i++) {
		uint64_t address = sample->callchain[i];

		if (address >= CONTEXT_MOST) {
			user = address == CONTEXT_USER;
			continue;
		}
		if (!user)
			continue;
		/* Where code has no frame pointers, what is found may be anything. */
		if (!is_code(walker, address) || ret->count == FOREIGN_FRAMES_MOST) {
			ret->cut = true;
			return;
		}
		ret->addresses[ret->count] = ret->count ? address - 1 : address;
		ret->count++;
	}
}

static bool take_registers(const struct foreign_walker *walker, const struct perf_sample *sample,
			   struct unwind_input *ret)
{
	uint32_t count = walker->arm ? ARM_REGISTERS : sizeof(x86_registers);
	uint64_t needed = walker->arm ? UINT64_C(1) << ARM_SP | UINT64_C(1) << ARM_PC
				      : UINT64_C(1) << x86_registers[X86_SP] |
						UINT64_C(1) << x86_registers[X86_PC];

	if ((sample->registers_mask & needed) != needed)
		return false;
	for (uint32_t i = 0; i < count; i++)
		ret->registers[i] = sample->registers[walker->arm ? i : x86_registers[i]];
	ret->sp = ret->registers[walker->arm ? ARM_SP : X86_SP];
	ret->stack = sample->stack;
	ret->bytes = sample->stack_bytes;
	return true;
}

static bool has_anchor(const struct foreign_walker *walker, const struct foreign_stack *stack)
{
	for (uint32_t i = 0; i < stack->count; i++)
		if (is_anchor(walker, stack->addresses[i]))
			return true;
	return false;
}

/*
 * Where the walk did not come to an anchor, its return address is in the bytes of
 * the stack all the same. Whether it is one that is still in use others must say.
 */
static void scan(const struct foreign_walker *walker, const struct unwind_input *input,
		 struct foreign_stack *ret)
{
	size_t first = (8 - (input->sp & 7)) & 7;

	for (size_t at = first; input->bytes >= 8 && at <= input->bytes - 8; at += 8) {
		uint64_t word;

		memcpy(&word, input->stack + at, sizeof(word));
		if (!is_anchor(walker, word - 1))
			continue;
		if (ret->scanned == SCANNED_MOST || ret->count == FOREIGN_FRAMES_MOST)
			return;
		ret->addresses[ret->count++] = word - 1;
		ret->scanned++;
	}
}

static void walk_bytes(struct foreign_walker *walker, const struct perf_sample *sample,
		       struct foreign_stack *ret)
{
	struct unwind_input input = {0};
	struct unwind_result result = {.count = 1};

	if (!take_registers(walker, sample, &input))
		return;
	ret->addresses[0] = input.registers[walker->arm ? ARM_PC : X86_PC];
	if (walker->own)
		result = unwind(walker->unwinder, &input, ret->addresses, NULL,
				FOREIGN_FRAMES_MOST - SCANNED_MOST);
	ret->count = result.count;
	ret->cut = !result.complete;
	if (ret->cut && input.stack && !has_anchor(walker, ret))
		scan(walker, &input, ret);
}

void foreign_walk(struct foreign_walker *walker, const struct perf_sample *sample,
		  struct foreign_stack *ret)
{
	ret->count = 0;
	ret->scanned = 0;
	ret->cut = false;
	take_callchain(walker, sample, ret);
	/* With copied stacks, what the kernel walked are its own frames at most. */
	if (!ret->count && sample->registers_mask)
		walk_bytes(walker, sample, ret);
	if (!ret->count) {
		ret->cut = true;
		if (!sample->in_kernel)
			ret->addresses[ret->count++] = sample->ip;
	}
}

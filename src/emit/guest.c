/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/guest.h"

#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* The program, as the kernel mapped it. */
struct program {
	const ElfW(Phdr) * segments;
	uint64_t count;
	uintptr_t bias;
	const ElfW(Dyn) * dynamic; /* NULL: it has none */
};

static void look_at_program(struct program *program)
{
	*program = (struct program){.segments = (const void *)getauxval(AT_PHDR),
				    .count = getauxval(AT_PHNUM)};
	if (!program->segments)
		program->count = 0;
	for (uint64_t i = 0; i < program->count; i++)
		if (program->segments[i].p_type == PT_PHDR)
			program->bias = (uintptr_t)program->segments - program->segments[i].p_vaddr;
	for (uint64_t i = 0; i < program->count; i++)
		if (program->segments[i].p_type == PT_DYNAMIC)
			program->dynamic =
				(const void *)(program->bias + program->segments[i].p_vaddr);
}

/* Whether this code is the program's own. */
static bool is_inside(const struct program *program)
{
	uintptr_t here = (uintptr_t)guest_is_uncalled - program->bias;

	for (uint64_t i = 0; i < program->count; i++)
		if (program->segments[i].p_type == PT_LOAD &&
		    here - program->segments[i].p_vaddr < program->segments[i].p_memsz)
			return true;
	return false;
}

/* Whether it is linked with the shared library. The loader may have moved the address or not. */
static bool needs_us(const struct program *program)
{
	const char *texts = NULL;

	for (const ElfW(Dyn) *entry = program->dynamic; entry && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_STRTAB)
			texts = (const char *)(entry->d_un.d_ptr < program->bias
						       ? entry->d_un.d_ptr + program->bias
						       : entry->d_un.d_ptr);
	for (const ElfW(Dyn) *entry = program->dynamic; texts && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_NEEDED &&
		    strncmp(texts + entry->d_un.d_val, "libunweave.so", 13) == 0)
			return true;
	return false;
}

bool guest_is_uncalled(void)
{
	const char *preloaded = secure_getenv("LD_PRELOAD");
	struct program program;

	if (!preloaded || !strstr(preloaded, "/libunweave-"))
		return false;
	look_at_program(&program);
	return !is_inside(&program) && !needs_us(&program);
}

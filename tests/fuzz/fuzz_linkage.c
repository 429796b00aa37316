/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes at all as a program, and as the loader's cache: reading must end, must
 * not go outside of them, and every text that it gives must be good.
 */
#include <string.h>

#include "fuzz.h"
#include "symbol/ldcache.h"
#include "symbol/linkage.h"

/* So that nothing that is read can be left out by a compiler. */
static volatile uint64_t sink;

/* It lies in the bytes, and ends there. */
static void check_text(const uint8_t *bytes, size_t length, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;

	if (!text)
		return;
	must(at >= bytes && at < bytes + length);
	must(memchr(at, '\0', length - (size_t)(at - bytes)) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const char *const names[] = {"uv_run", "main", ""};
	struct linkage linkage;

	if (linkage_read(&linkage, bytes, length) == 0) {
		check_text(bytes, length, linkage.rpath);
		check_text(bytes, length, linkage.runpath);
		must(linkage.needed_count <= LINKAGE_NEEDED_MAX);
		for (uint32_t i = 0; i < linkage.needed_count; i++)
			check_text(bytes, length, linkage.needed[i]);
	}
	must(linkage_defines(bytes, length, names, 3) < 8);
	sink += linkage_has_section(bytes, length, "unweave_anchor");
	for (uint32_t i = 0; i < 4; i++)
		check_text(bytes, length, ldcache_find(bytes, length, "libuv.so.1", i));
	return 0;
}

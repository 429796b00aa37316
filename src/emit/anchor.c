/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The anchors. Each is a frame of its own on the stack, so none may be inlined,
 * merged with another or left by a jump: the number in an instruction that does
 * nothing tells them apart for compilers and linkers alike, and stands after the
 * call, so that the call cannot be the last thing.
 */
#include "emit/links.h"

#if defined(__x86_64__)
#define MARK(n) __asm__ volatile("nopl %c0(%%rax)" : : "i"(n))
#elif defined(__aarch64__)
#define MARK(n) __asm__ volatile("movz x17, #%c0" : : "i"(n) : "x17")
#else
#define MARK(n) __asm__ volatile("" : : "i"(n))
#endif

#ifdef __clang__
/* What ThreadSanitizer adds would make them longer than they may be. */
#define ALONE                                                                                      \
	__attribute__((noinline, no_sanitize("undefined"), disable_sanitizer_instrumentation,      \
		       section("unweave_anchor"), aligned(UNWEAVE_ANCHOR_BYTES)))
#else
#define ALONE                                                                                      \
	__attribute__((noinline, noclone, no_icf, no_sanitize("undefined"),                        \
		       section("unweave_anchor"), aligned(UNWEAVE_ANCHOR_BYTES)))
#endif

/*
 * Functions that take two arguments get a third one as well, which on all machines that
 * this runs on is a register that they do not look at.
 */
typedef int (*go_with_more)(struct unweave_link *link, void *context, void *more);

/* The first one is called by its name, too. */
#define anchor_0 emit_first_anchor

#define ANCHOR(n)                                                                                  \
	int anchor_##n(struct unweave_link *link, void *context, void *more, unweave_go go);       \
	ALONE int anchor_##n(struct unweave_link *link, void *context, void *more, unweave_go go)  \
	{                                                                                          \
		int result = ((go_with_more)(void (*)(void))go)(link, context, more);              \
                                                                                                   \
		MARK(n);                                                                           \
		return result;                                                                     \
	}

/* clang-format off */
#define FOR_ALL(X)                                                                                 \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)      \
	X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30)  \
	X(31)
/* clang-format on */

FOR_ALL(ANCHOR)

#define NAME(n) anchor_##n,

const emit_anchor emit_anchors[UNWEAVE_ANCHORS] = {FOR_ALL(NAME)};

/* The linker's, for any section whose name is one of C. */
extern const char __start_unweave_anchor[] __attribute__((weak, visibility("hidden")));
extern const char __stop_unweave_anchor[] __attribute__((weak, visibility("hidden")));

struct links_code links_code(void)
{
	return (struct links_code){(uintptr_t)__start_unweave_anchor,
				   (uintptr_t)__stop_unweave_anchor};
}

const void *unweave_anchors(void)
{
	return (const void *)(uintptr_t)emit_anchors[0];
}

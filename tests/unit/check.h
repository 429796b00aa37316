/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks for test programs, which speak TAP:
 *
 *     int main(void)
 *     {
 *             RUN(a_short_read_marks_the_cursor_bad);
 *             return check_done();
 *     }
 *
 * A failed check is said and counted, and the test goes on.
 */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of each in a program, of however many files. */
__attribute__((weak)) int check_tests, check_failed_tests, check_failed;

/* Stops telling after 20 in one test: random inputs tend to fail by the thousand. */
static inline bool check_note(bool ok)
{
	if (!ok)
		check_failed++;
	return !ok && check_failed <= 20;
}

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (check_note(condition))                                                         \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition);                   \
	} while (0)

/* Integers only; shown signed, since most are counts or a negative errno. */
#define CHECK_EQ(left, right)                                                                      \
	do {                                                                                       \
		int64_t left_ = (int64_t)(left), right_ = (int64_t)(right);                        \
		if (check_note(left_ == right_))                                                   \
			printf("# %s:%d: %s is %" PRId64 ", not %" PRId64 "\n", __FILE__,          \
			       __LINE__, #left, left_, right_);                                    \
	} while (0)

#define CHECK_STR_EQ(left, right)                                                                  \
	do {                                                                                       \
		const char *left_ = (left), *right_ = (right);                                     \
		if (check_note(left_ && right_ && strcmp(left_, right_) == 0))                     \
			printf("# %s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #left,   \
			       left_ ? left_ : "(null)", right_ ? right_ : "(null)");              \
	} while (0)

static inline void check_run(void (*test)(void), const char *name)
{
	check_failed = 0;
	test();
	check_failed_tests += check_failed != 0;
	printf("%s %d - ", check_failed ? "not ok" : "ok", ++check_tests);
	for (; *name; name++)
		putchar(*name == '_' ? ' ' : *name);
	putchar('\n');
	fflush(stdout);
}

/* An emulator's clock is coarse, and not every call of the kernel's is there. */
static inline int check_emulated(void)
{
	return getenv("MESON_EXE_WRAPPER") != NULL;
}

#define RUN(test) check_run(test, #test)

static inline int check_done(void)
{
	printf("1..%d\n", check_tests);
	return check_failed_tests ? 1 : 0;
}

#endif /* TESTS_CHECK_H */

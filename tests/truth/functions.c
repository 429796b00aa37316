/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that do the same under many names. None may be inlined, merged with
 * another, or left by a jump: each is to be seen on the stack.
 */
#include <time.h>

#include "planted.h"

#ifdef __clang__
#define SEEN __attribute__((noinline))
#else
#define SEEN __attribute__((noinline, noclone, no_icf))
#endif
#define CLOCK_EVERY 8000     /* rounds between two looks at the clock, which is a system call */
#define STANDSTILL_NS 300000 /* they take some 10 us, and interrupts as much again */

uint64_t burnt[TASKS][LEVELS];

uint64_t cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Burns so much CPU time, and says how much it was. A processor of a virtual
 * machine may stand still for milliseconds, which count as CPU time although no
 * timer ticks meanwhile: of a round that takes far too long only the least is counted
 * that it can have been.
 */
static SEEN uint64_t spin(uint64_t ns)
{
	uint64_t before = cpu_now(), value = before, burned = 0;

	do {
		uint64_t now;

		for (unsigned i = 0; i < CLOCK_EVERY; i++) {
			value = value * 6364136223846793005u + 1442695040888963407u;
			__asm__ volatile("" : "+r"(value));
		}
		now = cpu_now();
		burned += now - before < STANDSTILL_NS ? now - before : STANDSTILL_NS;
		before = now;
	} while (burned < ns);
	return burned;
}

#define BURN(t, l)                                                                                 \
	static SEEN void burn_T##t##_L##l(uint64_t ns)                                             \
	{                                                                                          \
		burnt[t][l] += spin(ns);                                                           \
	}

/* clang-format off */
#define FOR_LEVELS(X, t) X(t, 0) X(t, 1) X(t, 2) X(t, 3) X(t, 4)
#define FOR_TASKS(X)                                                                               \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)      \
	X(16) X(17) X(18) X(19) X(20) X(21) X(22)
#define FOR_DIGITS(X, h)                                                                           \
	X(h##0) X(h##1) X(h##2) X(h##3) X(h##4) X(h##5) X(h##6) X(h##7)                            \
	X(h##8) X(h##9) X(h##a) X(h##b) X(h##c) X(h##d) X(h##e) X(h##f)
#define FOR_FUNCTIONS(X)                                                                           \
	FOR_DIGITS(X, 0) FOR_DIGITS(X, 1) FOR_DIGITS(X, 2) FOR_DIGITS(X, 3)                        \
	FOR_DIGITS(X, 4) FOR_DIGITS(X, 5) FOR_DIGITS(X, 6) FOR_DIGITS(X, 7)                        \
	FOR_DIGITS(X, 8) FOR_DIGITS(X, 9) FOR_DIGITS(X, a) FOR_DIGITS(X, b)                        \
	FOR_DIGITS(X, c) FOR_DIGITS(X, d) FOR_DIGITS(X, e) FOR_DIGITS(X, f)
#define BURNS(t) FOR_LEVELS(BURN, t)
#define BURN_NAME(t, l) burn_T##t##_L##l,
#define BURN_NAMES(t) {FOR_LEVELS(BURN_NAME, t)},

FOR_TASKS(BURNS)

const burn burns[TASKS][LEVELS] = {FOR_TASKS(BURN_NAMES)};
/* clang-format on */

SEEN void burn_in_loop(uint64_t ns, uint64_t *account)
{
	*account += spin(ns);
}

SEEN void burn_alone(uint64_t ns, uint64_t *account)
{
	*account += spin(ns);
}

/* The number is in the code, so that no two are alike. */
#define FUNCTION(x)                                                                                \
	static SEEN int f_##x(struct unweave_link *link, void *context)                            \
	{                                                                                          \
		int result = step(link, context);                                                  \
                                                                                                   \
		__asm__ volatile("" : "+r"(result) : "i"(0x##x));                                  \
		return result;                                                                     \
	}

/* clang-format off */
FOR_FUNCTIONS(FUNCTION)
#define FUNCTION_NAME(x) f_##x,

const unweave_go functions[FUNCTIONS] = {FOR_FUNCTIONS(FUNCTION_NAME)};
/* clang-format on */

SEEN int walk(struct unweave_link *link, void *context)
{
	int result = step(link, context);

	__asm__ volatile("" : "+r"(result));
	return result;
}

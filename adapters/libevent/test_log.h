/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a test program says itself of what it does, to be compared with a recording
 * of it by test_tree.py. It knows nothing of unweave: it has a number for each
 * operation, and keeps which one each thread is in.
 */
/* clang-format off */
/*
 *     node NUMBER PARENT KIND CODE    armed inside of PARENT, 0: of none; (nil): code of libevent's
 *     run NUMBER                      it is called
 *     end NUMBER ok|error|cancelled   if it ends at all
 *     late CODE NS                    the call of CODE was at least so late
 *     only KIND                       there are tasks of other kinds, which the program does not know
 *     wake CODE                       a thread that is not its loop's made CODE ready
 */
/* clang-format on */
#ifndef LIBEVENT_TEST_LOG_H
#define LIBEVENT_TEST_LOG_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int words;
static _Atomic int nodes;
static __thread int current;

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	char line[160];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	CHECK(write(words, line, length) == length);
}

static int node(int parent, const char *kind, const void *code)
{
	int number = ++nodes;

	say("node %d %d %s %p\n", number, parent, kind, code);
	return number;
}

/* Returns what the thread was in before, for end(). */
__attribute__((unused)) static int begin(int number)
{
	int outer = current;

	say("run %d\n", number);
	current = number;
	return outer;
}

__attribute__((unused)) static void end(int number, int outer)
{
	say("end %d ok\n", number);
	current = outer;
}

__attribute__((unused)) static void cancelled(int number)
{
	say("end %d cancelled\n", number);
}

#endif /* LIBEVENT_TEST_LOG_H */

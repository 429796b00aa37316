/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program of the tree test says itself of what it does, for tree.py to
 * compare with a recording. It knows nothing of unweave: it numbers its operations
 * and keeps which one each thread is in.
 *
 *     arm NUMBER PARENT CODE KIND     inside of PARENT, 0: of none
 *     run NUMBER THREAD
 *     end NUMBER STATUS               ok, error or cancelled; not all do
 *     wake NUMBER WAKER               what runs there, 0: nothing
 *     late NUMBER NS                  its run comes at least so late
 *
 * The number of an operation is kept in the `data` of its handle or request.
 */
#ifndef LIBUV_TEST_LOG_H
#define LIBUV_TEST_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

void log_open(const char *path);
/* In a child of fork(): to another file, and nothing runs. */
void log_fork(const char *path);

void *log_arm(const char *kind, const void *code);
void log_end(void *op, int status);
/* The operation's own run begins; returns what to give to log_leave(). */
void *log_enter(void *op);
void log_leave(void *outer);
/* A call of a standing one begins: a new operation. */
void *log_fire(void *op, const char *kind, const void *code, void **ret_call);
void log_wake(void *op, void *waker);
void *log_current(void);
void log_late(void *op, uint64_t ns);

/* Arms what libuv calls once by way of OBJECT. */
#define ARM(object, kind, code) ((object)->data = log_arm(kind, (const void *)(code)))

/* In the callback of an operation that ends with it. */
#define ONCE(object, status)                                                                       \
	void *op_ = (object)->data, *outer_ = log_enter(op_);                                      \
	int status_ = (status)
#define ONCE_DONE                                                                                  \
	do {                                                                                       \
		log_leave(outer_);                                                                 \
		log_end(op_, status_);                                                             \
	} while (0)

/* In the callback of a handle that stands. */
#define FIRES(object, kind, code, status)                                                          \
	void *call_, *outer_ = log_fire((object)->data, kind, (const void *)(code), &call_);       \
	int status_ = (status)
#define FIRES_DONE                                                                                 \
	do {                                                                                       \
		log_leave(outer_);                                                                 \
		log_end(call_, status_);                                                           \
	} while (0)

/* The program stops or closes what it armed. */
static inline void log_stop(void *op)
{
	log_end(op, UV_ECANCELED);
}

/* Closes a handle, with an operation of its own that needs nothing but to be called. */
void close_handle(void *handle);
/* A handle's memory as it may be: full of rubbish, or of what another handle left. */
void *rubbish(size_t size);
void *copied(size_t size, const void *from);

/* Runs a loop, which is an operation as well; and ends it. */
struct looped {
	uv_loop_t loop;
	void *op;
};
void loop_begin(struct looped *looped);
void loop_run(struct looped *looped);
void loop_end(struct looped *looped);

/* The parts of the tree. Each leaves its loop with nothing to do. */
void test_timers(struct looped *looped);
void test_turns(struct looped *looped);
void test_watches(struct looped *looped);
void test_streams(struct looped *looped);
void test_closes(struct looped *looped);
void test_files(struct looped *looped);
void test_pool(struct looped *looped);
void test_cancels(struct looped *looped);

#endif /* LIBUV_TEST_LOG_H */

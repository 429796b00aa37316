/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fd = -1;
static _Atomic intptr_t last;
static __thread void *here;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	char line[200];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	CHECK(write(fd, line, (size_t)length) == length);
}

void log_open(const char *path)
{
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
}

void log_fork(const char *path)
{
	close(fd);
	log_open(path);
	here = NULL;
}

static void *arm(void *parent, const char *kind, const void *code)
{
	intptr_t number = atomic_fetch_add(&last, 1) + 1;

	say("arm %ld %ld %p %s\n", (long)number, (long)(intptr_t)parent, code, kind);
	return (void *)number;
}

void *log_arm(const char *kind, const void *code)
{
	return arm(here, kind, code);
}

void log_end(void *op, int status)
{
	const char *word = "error";

	if (status >= 0 || status == UV_EOF)
		word = "ok";
	else if (status == UV_ECANCELED)
		word = "cancelled";
	say("end %ld %s\n", (long)(intptr_t)op, word);
}

void *log_enter(void *op)
{
	void *outer = here;

	say("run %ld %ld\n", (long)(intptr_t)op, (long)syscall(SYS_gettid));
	here = op;
	return outer;
}

void log_leave(void *outer)
{
	here = outer;
}

void *log_fire(void *op, const char *kind, const void *code, void **ret_call)
{
	*ret_call = arm(op, kind, code);
	return log_enter(*ret_call);
}

void log_wake(void *op, void *waker)
{
	say("wake %ld %ld\n", (long)(intptr_t)op, (long)(intptr_t)waker);
}

void log_late(void *op, uint64_t ns)
{
	say("late %ld %ld\n", (long)(intptr_t)op, (long)ns);
}

void *log_current(void)
{
	return here;
}

static void was_closed(uv_handle_t *handle)
{
	ONCE(handle, 0);
	ONCE_DONE;
}

void close_handle(void *handle)
{
	ARM((uv_handle_t *)handle, "close", was_closed);
	uv_close(handle, was_closed);
}

void *rubbish(size_t size)
{
	void *memory = malloc(size);

	CHECK(memory);
	return memset(memory, 0xa5, size);
}

void *copied(size_t size, const void *from)
{
	return memcpy(rubbish(size), from, size);
}

void loop_begin(struct looped *looped)
{
	looped->op = NULL;
	CHECK(uv_loop_init(&looped->loop) == 0);
}

void loop_run(struct looped *looped)
{
	if (!looped->op)
		looped->op = log_arm("loop", NULL);
	uv_run(&looped->loop, UV_RUN_DEFAULT);
}

void loop_end(struct looped *looped)
{
	CHECK(uv_loop_close(&looped->loop) == 0);
	log_stop(looped->op);
}

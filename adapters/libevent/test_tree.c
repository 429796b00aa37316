/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libevent program with a known tree of operations: what it arms, what is called,
 * and how each ends it writes down by itself, in the words of test_log.h.
 *
 * What a program can see of its events must be as without an adapter; if it is not,
 * this one ends with status 1.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/listener.h>
#include <event2/thread.h>

#include "test_log.h"

/* One event, as the program sees it. */
struct op {
	struct event *event;
	event_callback_fn callback;
	const char *kind;
	void (*then)(struct op *op); /* inside of the call */
	int id;
	bool armed;
	int calls;
	struct op *other;
	struct event_base *base;
};

static void called_once(evutil_socket_t fd, short what, void *argument)
{
	struct op *op = argument;
	int id = op->id, outer = begin(id);

	(void)fd, (void)what;
	op->armed = false;
	op->calls++;
	if (op->then)
		op->then(op);
	end(id, outer);
}

static void called_again(evutil_socket_t fd, short what, void *argument)
{
	struct op *op = argument;
	int id = node(op->id, op->kind, (const void *)op->callback), outer = begin(id);

	(void)fd, (void)what;
	op->calls++;
	if (op->then)
		op->then(op);
	end(id, outer);
}

/* As called_once() and called_again(), to be told from them. */
static void called_late(evutil_socket_t fd, short what, void *argument)
{
	called_once(fd, what, argument);
}

static void called_by_thread(evutil_socket_t fd, short what, void *argument)
{
	called_again(fd, what, argument);
}

static struct op *op_new(struct event_base *base, const char *kind, int fd, short events,
			 void (*then)(struct op *op))
{
	struct op *op = calloc(1, sizeof(*op));

	CHECK(op);
	op->base = base;
	op->kind = kind;
	op->then = then;
	op->callback = events & EV_PERSIST ? called_again : called_once;
	op->event = event_new(base, fd, events, op->callback, op);
	CHECK(op->event);
	return op;
}

static void armed(struct op *op)
{
	if (op->armed)
		return;
	op->id = node(current, op->kind, (const void *)op->callback);
	op->armed = true;
}

/* After `ms`; never, if it is negative. */
static void add(struct op *op, int ms)
{
	struct timeval timeout = {ms / 1000, ms % 1000 * 1000};

	armed(op);
	CHECK(event_add(op->event, ms < 0 ? NULL : &timeout) == 0);
	CHECK(event_get_callback(op->event) == op->callback);
	CHECK(event_get_callback_arg(op->event) == op);
}

static void gone(struct op *op)
{
	if (op->armed)
		cancelled(op->id);
	op->armed = false;
}

static void del(struct op *op)
{
	CHECK(event_del(op->event) == 0);
	CHECK(!event_pending(op->event, EV_READ | EV_WRITE | EV_SIGNAL | EV_TIMEOUT, NULL));
	gone(op);
}

static void op_free(struct op *op)
{
	event_free(op->event);
	gone(op);
	free(op);
}

/* Runs a base until nothing is left, or the loop is broken off. */
static int loop_open(void)
{
	return node(current, "loop", NULL);
}

static void by_thread(struct event_base *base);

/* A thread that still uses the base of a scenario when its loop has ended. */
static pthread_t helper;

static void scenario(void (*set_up)(struct event_base *base))
{
	struct event_base *base = event_base_new();
	int loop;

	CHECK(base);
	set_up(base);
	loop = loop_open();
	CHECK(event_base_dispatch(base) >= 0);
	if (set_up == by_thread)
		CHECK(pthread_join(helper, NULL) == 0);
	event_base_free(base);
	cancelled(loop);
}

/* Timers. */

static void arm_next(struct op *op)
{
	if (op->calls < 3)
		add(op, 0);
	else
		op_free(op);
}

static void free_self(struct op *op)
{
	op_free(op);
}

static void free_other(struct op *op)
{
	op_free(op->other);
	op_free(op);
}

static void thrice(struct op *op)
{
	if (op->calls == 3)
		del(op);
}

static void free_at_second(struct op *op)
{
	if (op->calls == 2)
		op_free(op);
}

static void timers(struct event_base *base)
{
	struct op *op = op_new(base, "timer", -1, 0, free_other);

	add(op_new(base, "timer", -1, 0, arm_next), 1);
	op->other = op_new(base, "timer", -1, 0, NULL);
	add(op->other, 3600000);
	add(op, 1);
	op = op_new(base, "timer", -1, 0, free_self);
	add(op, 3600000);
	add(op, 1);
	op = op_new(base, "timer", -1, 0, NULL);
	add(op, 3600000);
	del(op);
	add(op, 3600000);
	CHECK(event_remove_timer(op->event) == 0);
	gone(op);
	add(op, 3600000);
	CHECK(event_del_noblock(op->event) == 0);
	gone(op);
	op_free(op);
	add(op_new(base, "timer", -1, EV_PERSIST, thrice), 1);
	add(op_new(base, "timer", -1, EV_PERSIST, free_at_second), 1);
}

/* A loop that is found as adapters cannot see it, and before any other one. */
static void unseen_loop(struct event_base *base)
{
	void *library = dlopen("libevent_core-2.1.so.7", RTLD_LAZY | RTLD_NOLOAD);
	int (*loop)(struct event_base *, int);

	if (!library)
		return;
	loop = (int (*)(struct event_base *, int))(uintptr_t)dlsym(library, "event_base_loop");
	CHECK(loop);
	timers(base);
	CHECK(loop(base, 0) >= 0);
	dlclose(library);
}

/* The same event set up again and again, in memory that held whatever it held. */
static void reuse(struct event_base *base)
{
	static struct event slot, copy;
	static struct op op = {.event = &slot, .callback = called_once, .kind = "timer"};

	memset(&slot, 0xa5, sizeof(slot));
	for (int i = 0; i < 3; i++) {
		CHECK(event_assign(&slot, base, -1, 0, called_once, &op) == 0);
		add(&op, 3600000);
		copy = slot;
		del(&op);
	}
	memset(&slot, 0, sizeof(slot));
	CHECK(!event_initialized(&slot));
	/* A copy of one that was armed, set up again. */
	op.event = &copy;
	CHECK(event_assign(&copy, base, -1, EV_PERSIST, called_again, &op) == 0);
	op.callback = called_again;
	op.then = thrice;
	add(&op, 1);
}

static void nothing(struct event *event, void *argument)
{
	(void)event, (void)argument;
}

static void finalizers(struct event_base *base)
{
	struct op *op = op_new(base, "timer", -1, EV_FINALIZE, NULL);

	add(op, 3600000);
	CHECK(event_free_finalize(0, op->event, nothing) == 0);
	gone(op);
	op = op_new(base, "timer", -1, EV_PERSIST | EV_FINALIZE, NULL);
	add(op, 3600000);
	CHECK(event_finalize(0, op->event, nothing) == 0);
	gone(op);
}

static void sleep_long(struct op *op)
{
	usleep(80000);
	op_free(op);
}

static void lateness(struct event_base *base)
{
	struct op *op = op_new(base, "timer", -1, 0, free_self);

	add(op_new(base, "timer", -1, 0, sleep_long), 0);
	op->callback = called_late;
	CHECK(event_assign(op->event, base, -1, 0, called_late, op) == 0);
	add(op, 10);
	say("late %p 40000000\n", (void *)called_late);
}

/* Descriptors and signals. */

static void read_one(struct op *op)
{
	char byte;

	CHECK(read(event_get_fd(op->event), &byte, 1) == 1);
	if (op->calls == 2) {
		close(event_get_fd(op->event));
		op_free(op);
	}
}

static void descriptors(struct event_base *base)
{
	int quiet[2], full[2], pair[2], file = open("/proc/self/exe", O_RDONLY);
	struct op *op;

	CHECK(pipe(quiet) == 0 && pipe(full) == 0 && file >= 0);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	CHECK(write(full[1], "ab", 2) == 2);
	add(op_new(base, "read", quiet[0], EV_READ, free_self), 2);
	add(op_new(base, "read", full[0], EV_READ | EV_PERSIST, read_one), -1);
	add(op_new(base, "write", full[1], EV_WRITE, free_self), -1);
	add(op_new(base, "poll", pair[0], EV_READ | EV_WRITE, free_self), -1);
	/* It is ready and late at once; and called once. */
	op = op_new(base, "write", pair[1], EV_WRITE, free_self);
	add(op, 0);
	if (strcmp(event_base_get_method(base), "epoll") != 0)
		return;
	/* Which cannot wait for a file. */
	op = op_new(base, "read", file, EV_READ, NULL);
	armed(op);
	CHECK(event_add(op->event, NULL) < 0);
	say("end %d error\n", op->id);
	op->armed = false;
	op_free(op);
}

static void raise_more(struct op *op)
{
	if (op->calls < 3)
		raise(SIGUSR1);
	else
		op_free(op);
}

static void signals(struct event_base *base)
{
	add(op_new(base, "signal", SIGUSR1, EV_SIGNAL | EV_PERSIST, raise_more), -1);
	add(op_new(base, "signal", SIGUSR2, EV_SIGNAL, free_self), -1);
	raise(SIGUSR1);
	raise(SIGUSR2);
}

/* event_active(), event_base_once(), and loops in loops. */

static void said_once(evutil_socket_t fd, short what, void *argument)
{
	int id = *(int *)argument;

	(void)fd, (void)what;
	end(id, begin(id));
}

static void activate_other(struct op *op)
{
	armed(op->other);
	event_active(op->other->event, EV_WRITE, 1);
	event_active(op->other->event, EV_WRITE, 1);
	op_free(op);
}

static void by_hand(struct event_base *base)
{
	static int ids[3];
	static const struct timeval soon = {0, 1000};
	struct op *op = op_new(base, "timer", -1, 0, activate_other);
	int ready[2];

	op->other = op_new(base, "async", -1, 0, free_self);
	add(op, 1);
	op = op_new(base, "async", -1, EV_PERSIST, thrice);
	armed(op);
	for (int i = 0; i < 3; i++) {
		event_active(op->event, EV_READ, 1);
		CHECK(event_base_loop(base, EVLOOP_NONBLOCK) >= 0);
	}
	CHECK(pipe(ready) == 0 && write(ready[1], "a", 1) == 1);
	ids[0] = node(current, "timer", (void *)said_once);
	CHECK(event_base_once(base, -1, EV_TIMEOUT, said_once, &ids[0], &soon) == 0);
	ids[1] = node(current, "timer", (void *)said_once);
	CHECK(event_base_once(base, -1, EV_TIMEOUT, said_once, &ids[1], NULL) == 0);
	ids[2] = node(current, "read", (void *)said_once);
	CHECK(event_base_once(base, ready[0], EV_READ, said_once, &ids[2], NULL) == 0);
}

static void break_off(struct op *op)
{
	CHECK(event_base_loopbreak(op->base) == 0);
	op_free(op);
}

/* The second is active when the first breaks off the loop: it is called in the next one. */
static void breaks(struct event_base *base)
{
	add(op_new(base, "timer", -1, 0, break_off), 0);
	add(op_new(base, "timer", -1, 0, free_self), 0);
	usleep(10000);
	CHECK(event_base_loop(base, EVLOOP_ONCE) >= 0);
}

static void loop_inside(struct op *op)
{
	struct event_base *other = event_base_new();
	int loop;

	add(op_new(op->base, "timer", -1, 0, free_self), 0);
	add(op_new(other, "timer", -1, 0, free_self), 0);
	loop = loop_open();
	CHECK(event_base_dispatch(other) >= 0);
	event_base_free(other);
	cancelled(loop);
	op_free(op);
}

static void nested(struct event_base *base)
{
	add(op_new(base, "timer", -1, 0, loop_inside), 0);
}

/* Bufferevents with deferred callbacks, and a listener. */

struct end {
	struct bufferevent *buffer;
	int reads, writes; /* the events under it; 0: not armed */
	int deferred;
};
static struct end ends[2];

static void deferred_begin(struct end *side, int *ret_outer)
{
	*ret_outer = begin(side->deferred);
}

/* libevent calls the program from a deferred callback, which it scheduled in the event's call. */
static void got(struct bufferevent *buffer, void *argument)
{
	struct end *side = argument;
	int outer;
	char byte;

	deferred_begin(side, &outer);
	CHECK(bufferevent_read(buffer, &byte, 1) == 1 && byte == 'a');
	bufferevent_free(ends[1].buffer);
	cancelled(ends[1].reads);
	bufferevent_free(ends[0].buffer);
	cancelled(ends[0].reads);
	end(side->deferred, outer);
}

static void sent(struct bufferevent *buffer, void *argument)
{
	struct end *side = argument;
	int outer;

	(void)buffer;
	deferred_begin(side, &outer);
	end(side->deferred, outer);
}

static void happened(struct bufferevent *buffer, short what, void *argument)
{
	(void)buffer, (void)what, (void)argument;
	CHECK(!"no event is expected");
}

/* What is known of how libevent works: one call writes it all, one call reads it all. */
static void moved(int event, const char *kind, void *code, struct end *side)
{
	int call = node(event, kind, code);

	say("run %d\nend %d ok\n", call, call);
	side->deferred = node(call, "deferred", NULL);
}

static void buffers(struct event_base *base)
{
	int pair[2];

	CHECK(evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(evutil_make_socket_nonblocking(pair[i]) == 0);
		ends[i].buffer = bufferevent_socket_new(
			base, pair[i], BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
		bufferevent_setcb(ends[i].buffer, got, sent, happened, &ends[i]);
		CHECK(bufferevent_enable(ends[i].buffer, EV_READ) == 0);
		ends[i].reads = node(current, "read", (void *)got);
	}
	CHECK(bufferevent_write(ends[0].buffer, "a", 1) == 0);
	ends[0].writes = node(current, "write", (void *)sent);
	moved(ends[0].writes, "write", (void *)sent, &ends[0]);
	cancelled(ends[0].writes);
	moved(ends[1].reads, "read", (void *)got, &ends[1]);
}

static int accepting;

static void accepted(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
		     int length, void *argument)
{
	int id = node(accepting, "accept", (void *)accepted), outer = begin(id);

	(void)address, (void)length;
	close(fd);
	add(op_new(argument, "timer", -1, 0, free_self), 0);
	evconnlistener_free(listener);
	cancelled(accepting);
	end(id, outer);
}

static void listener(struct event_base *base)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	struct evconnlistener *listens = evconnlistener_new_bind(
		base, accepted, base, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_DISABLED, 4,
		(struct sockaddr *)&address, sizeof(address));
	int client = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(listens && client >= 0);
	CHECK(getsockname(evconnlistener_get_fd(listens), (struct sockaddr *)&address, &length) ==
	      0);
	CHECK(connect(client, (struct sockaddr *)&address, length) == 0);
	CHECK(evconnlistener_enable(listens) == 0);
	accepting = node(current, "accept", (void *)accepted);
}

/* Threads and processes. */

static void *activate(void *argument)
{
	struct op *op = argument;

	event_active(op->event, EV_READ, 1);
	return NULL;
}

static void free_both(struct op *op)
{
	op_free(op->other);
	op_free(op);
}

/* The loop must not end before the thread has come. */
static void by_thread(struct event_base *base)
{
	struct op *op = op_new(base, "async", -1, EV_PERSIST, free_both);

	op->other = op_new(base, "timer", -1, 0, NULL);
	add(op->other, 60000);
	op->callback = called_by_thread;
	CHECK(event_assign(op->event, base, -1, EV_PERSIST, called_by_thread, op) == 0);
	add(op, -1);
	say("wake %p\n", (void *)called_by_thread);
	CHECK(pthread_create(&helper, NULL, activate, op) == 0);
}

static void *loop_of_own(void *unused)
{
	(void)unused;
	scenario(timers);
	return NULL;
}

static void threads(struct event_base *base)
{
	pthread_t workers[3];

	(void)base;
	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&workers[i], NULL, loop_of_own, NULL) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(workers[i], NULL) == 0);
}

/* The child has its own words, and its own trace. */
static void fork_off(const char *path, struct event_base *base)
{
	pid_t child = fork();
	int status, loop;

	CHECK(child >= 0);
	if (child) {
		CHECK(waitpid(child, &status, 0) == child && status == 0);
		return;
	}
	words = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	CHECK(words >= 0);
	current = 0;
	CHECK(event_reinit(base) == 0);
	add(op_new(base, "timer", -1, 0, arm_next), 1);
	loop = loop_open();
	CHECK(event_base_dispatch(base) >= 0);
	event_base_free(base);
	cancelled(loop);
	_exit(0);
}

static void be_quiet(int severity, const char *message)
{
	(void)severity, (void)message;
}

int main(int argc, char **argv)
{
	static void (*const scenarios[])(struct event_base * base) = {
		unseen_loop, timers, reuse,  finalizers, lateness, descriptors, signals,
		by_hand,     breaks, nested, buffers,    listener, by_thread,   threads,
	};
	struct event_base *base;

	if (argc != 3)
		return 2;
	words = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	event_set_log_callback(be_quiet);
	CHECK(words >= 0 && evthread_use_pthreads() == 0);
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		scenario(scenarios[i]);
	base = event_base_new();
	fork_off(argv[2], base);
	add(op_new(base, "timer", -1, 0, NULL), 3600000);
	add(op_new(base, "timer", -1, EV_PERSIST, NULL), 3600000);
	return 0;
}

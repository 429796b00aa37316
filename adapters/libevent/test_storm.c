/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that add, delete and activate the same events at random, while a loop calls
 * them: nothing may be called with another event's callback or argument. Writes how many calls
 * there were, each of which a recording has to tell.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/thread.h>

#define EVENTS 16
#define THREADS 3
#define TURNS 2000
#define MARK 0x600dc0deu

struct thing {
	unsigned mark;
	int kind; /* which of the callbacks is its own */
	struct event *event;
};

static struct thing things[EVENTS];
static struct event_base *base;
static struct event *the_end;
static unsigned long calls; /* by the loop alone */
static atomic_bool wrong;

static void count(struct thing *thing, int kind)
{
	calls++;
	if (thing->mark != MARK || thing->kind != kind)
		wrong = true;
}

static void once(evutil_socket_t fd, short what, void *argument)
{
	(void)fd, (void)what;
	count(argument, 0);
}

static void again(evutil_socket_t fd, short what, void *argument)
{
	(void)fd, (void)what;
	count(argument, 1);
}

static void stop(evutil_socket_t fd, short what, void *argument)
{
	(void)fd, (void)what, (void)argument;
	calls++;
	event_base_loopbreak(base);
}

static void *disturb(void *argument)
{
	unsigned seed = (unsigned)(size_t)argument;

	for (int i = 0; i < TURNS; i++) {
		struct thing *thing = &things[rand_r(&seed) % EVENTS];
		struct timeval soon = {0, rand_r(&seed) % 3};

		switch (rand_r(&seed) % 4) {
		case 0:
			event_del(thing->event);
			break;
		case 1:
			event_add(thing->event, &soon);
			break;
		default:
			event_active(thing->event, EV_READ, 1);
		}
		if (i % 4 == 0)
			usleep(50);
		if (event_get_callback(thing->event) != (thing->kind ? again : once))
			wrong = true;
	}
	return NULL;
}

static void *disturb_and_end(void *unused)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, disturb, (void *)(i + 1));
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	event_active(the_end, EV_READ, 1);
	return unused;
}

int main(void)
{
	pthread_t others;

	evthread_use_pthreads();
	base = event_base_new();
	for (int i = 0; i < EVENTS; i++) {
		things[i] = (struct thing){.mark = MARK, .kind = i & 1};
		things[i].event = event_new(base, -1, i & 1 ? EV_PERSIST : 0, i & 1 ? again : once,
					    &things[i]);
	}
	the_end = event_new(base, -1, 0, stop, NULL);
	pthread_create(&others, NULL, disturb_and_end, NULL);
	event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
	pthread_join(others, NULL);
	for (int i = 0; i < EVENTS; i++)
		event_free(things[i].event);
	event_free(the_end);
	event_base_free(base);
	printf("%lu\n", calls);
	return wrong;
}

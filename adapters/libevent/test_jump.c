/* SPDX-License-Identifier: Apache-2.0 */
/* A callback whose last act is a jump into libevent. */
#include <event2/event.h>

static const struct timeval soon = {.tv_usec = 1000};
static struct event_base *base;
static struct event *event;

static void second(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	(void)data;
	event_base_loopbreak(base);
}

static void first(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	(void)data;
	event_add(event, &soon);
}

int main(void)
{
	struct event *before;

	base = event_base_new();
	before = evtimer_new(base, first, NULL);
	event = evtimer_new(base, second, NULL);
	event_add(before, &soon);
	event_base_dispatch(base);
	event_free(before);
	event_free(event);
	event_base_free(base);
	return 0;
}

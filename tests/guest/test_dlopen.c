/* SPDX-License-Identifier: Apache-2.0 */
/* A program that loads libunweave.so and lets it go again. usage: test_dlopen LIBRARY */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "unweave.h"

static const char *library;
static char trace[64];

/* What a plugin would call through its own table. */
struct api {
	void *handle;
	int (*start)(const struct unweave_options *options);
	void (*stop)(void);
	int (*flush)(void);
	const char *(*status)(void);
	void (*idle)(void);
};

static void *find(void *handle, const char *name)
{
	void *symbol = dlsym(handle, name);

	CHECK(symbol != NULL);
	return symbol;
}

static bool load(struct api *api)
{
	*api = (struct api){.handle = dlopen(library, RTLD_NOW | RTLD_LOCAL)};
	if (!api->handle) {
		printf("# %s\n", dlerror());
		CHECK(api->handle != NULL);
		return false;
	}
	*(void **)&api->start = find(api->handle, "unweave_start");
	*(void **)&api->stop = find(api->handle, "unweave_stop");
	*(void **)&api->flush = find(api->handle, "unweave_flush");
	*(void **)&api->status = find(api->handle, "unweave_status");
	*(void **)&api->idle = find(api->handle, "unweave_priv_idle");
	return true;
}

static _Atomic uint64_t told;

static void count(const struct unweave_event *event, void *data)
{
	(void)data;
	told += event->kind == UNWEAVE_EVENT_IDLE;
}

static int start(const struct api *api, bool listening)
{
	struct unweave_options options;

	unweave_options_init(&options);
	options.path = trace;
	options.listener = listening ? count : NULL;
	return api->start(&options);
}

struct emitter {
	const struct api *api;
	pthread_t thread;
	pthread_barrier_t emitted;
	pthread_barrier_t unloaded;
};

static void *emit_and_outlive(void *data)
{
	struct emitter *emitter = data;

	for (int i = 0; i < 100; i++)
		emitter->api->idle();
	pthread_barrier_wait(&emitter->emitted);
	/* Ends after the library was closed: what runs at its end must still be there. */
	pthread_barrier_wait(&emitter->unloaded);
	return NULL;
}

static void it_may_be_loaded_and_closed_a_hundred_times(void)
{
	for (int i = 0; i < 100; i++) {
		struct emitter emitter;
		struct api api;

		if (!load(&api))
			return;
		emitter.api = &api;
		pthread_barrier_init(&emitter.emitted, NULL, 2);
		pthread_barrier_init(&emitter.unloaded, NULL, 2);
		told = 0;
		CHECK_EQ(start(&api, i % 2), 0);
		pthread_create(&emitter.thread, NULL, emit_and_outlive, &emitter);
		pthread_barrier_wait(&emitter.emitted);
		api.idle();
		api.stop();
		CHECK_EQ(told, i % 2 ? 101 : 0);
		CHECK_EQ(dlclose(api.handle), 0);
		pthread_barrier_wait(&emitter.unloaded);
		pthread_join(emitter.thread, NULL);
	}
}

static void it_may_be_closed_in_the_middle_of_a_session(void)
{
	struct api api, again;

	if (!load(&api))
		return;
	CHECK_EQ(start(&api, false), 0);
	api.idle();
	CHECK_EQ(dlclose(api.handle), 0);
	/* The code that calls it may be in another plugin, which has not closed it. */
	api.idle();
	if (!load(&again))
		return;
	CHECK(again.idle == api.idle);
	CHECK_EQ(again.flush(), 0);
	CHECK_EQ(start(&again, false), -EALREADY);
	again.stop();
	CHECK_EQ(dlclose(again.handle), 0);
}

static void *load_on_a_thread(void *data)
{
	struct api *api = data;

	if (load(api)) {
		api->idle();
		dlclose(api->handle);
	}
	return NULL;
}

static void threads_may_load_it_at_the_same_time(void)
{
	pthread_t threads[8];
	struct api apis[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, load_on_a_thread, &apis[i]);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	CHECK(strstr(apis[0].status(), "arena in"));
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	library = argv[1];
	snprintf(trace, sizeof(trace), "/tmp/unweave-dlopen-%d.unw", getpid());
	RUN(it_may_be_loaded_and_closed_a_hundred_times);
	RUN(it_may_be_closed_in_the_middle_of_a_session);
	RUN(threads_may_load_it_at_the_same_time);
	unlink(trace);
	return check_done();
}

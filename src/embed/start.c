/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that records itself: a background thread drains the arena into a
 * file, or to a listener.
 *
 * The mutex guards the few fields by which callers and the thread talk; it is
 * never held while records are taken, written or listened to.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arena/clock.h"
#include "drain/attach.h"
#include "drain/recorder.h"
#include "embed/modules.h"
#include "emit/emit.h"
#include "emit/place.h"
#include "emit/text.h"
#include "unweave.h"

struct session {
	_Atomic pid_t pid; /* of the process that records itself; 0: none does */
	pthread_mutex_t mutex;
	pthread_cond_t changed;

	/* Under the mutex. */
	bool active;    /* there is a thread, or one to be joined */
	bool opening;   /* the thread has not said yet how it went */
	bool stopping;  /* the thread is asked to end */
	bool over;      /* the thread has done all it had to */
	bool joining;   /* somebody waits for its end */
	int opened;     /* 0 or a negative errno */
	uint64_t ended; /* sessions so far; and so do the passes count on from one to the next */
	uint64_t passes_wanted;
	uint64_t passes_begun;
	uint64_t passes_done;
	bool new_keywords;
	uint64_t keywords;
	pthread_t thread;

	/* Of the thread alone. */
	struct attachment attachment;
	struct recorder *recorder;
};

static struct session session = {.mutex = PTHREAD_MUTEX_INITIALIZER,
				 .changed = PTHREAD_COND_INITIALIZER};
static bool fork_is_handled;

/* In a child of fork() there is no thread, and what it left open is the parent's. */
static void child_of_fork(void)
{
	attach_fini(&session.attachment);
	session = (struct session){.mutex = PTHREAD_MUTEX_INITIALIZER,
				   .changed = PTHREAD_COND_INITIALIZER};
}

/* A child that was made without fork() was told of nothing. */
static void notice_fork(void)
{
	pid_t pid = atomic_load_explicit(&session.pid, memory_order_relaxed);

	if (pid && pid != getpid())
		child_of_fork();
}

/* Takes the mutex, with which no thread may be cancelled. */
static void enter(int *ret_cancelling)
{
	notice_fork();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, ret_cancelling);
	pthread_mutex_lock(&session.mutex);
}

static void leave(int cancelling)
{
	pthread_mutex_unlock(&session.mutex);
	pthread_setcancelstate(cancelling, NULL);
}

static bool is_listener(void)
{
	return emit_self() == &emit_muted;
}

static struct timespec after(uint64_t ns)
{
	uint64_t then = clock_monotonic() + ns;

	return (struct timespec){.tv_sec = (time_t)(then / 1000000000),
				 .tv_nsec = (long)(then % 1000000000)};
}

/* Rests until there is something to do; false when it is time to stop. */
static bool rest(uint64_t ns)
{
	struct timespec until = after(ns);
	uint64_t keywords;
	bool stopping, changed;

	pthread_mutex_lock(&session.mutex);
	session.passes_done = session.passes_begun;
	pthread_cond_broadcast(&session.changed);
	while (!session.stopping && !session.new_keywords &&
	       session.passes_wanted <= session.passes_done)
		if (pthread_cond_clockwait(&session.changed, &session.mutex, CLOCK_MONOTONIC,
					   &until) == ETIMEDOUT)
			break;
	stopping = session.stopping;
	changed = session.new_keywords;
	keywords = session.keywords;
	session.new_keywords = false;
	session.passes_begun++;
	pthread_mutex_unlock(&session.mutex);
	if (changed)
		recorder_set_keywords(session.recorder, keywords);
	return !stopping;
}

/* `path` with %p replaced by the process id. False if it does not fit. */
static bool expand_path(char *to, size_t size, const char *path)
{
	struct text text = text_in(to, size);

	for (; *path; path++) {
		char letter[2] = {*path, '\0'};

		if (path[0] == '%' && path[1] == 'p') {
			text_put_number(&text, (uint64_t)getpid());
			path++;
		} else {
			text_put(&text, letter);
		}
	}
	return text.at < text.end;
}

static bool options_are_valid(const struct unweave_options *options)
{
	const char *beyond = (const char *)(options + 1);

	if (options->size < sizeof(*options))
		return false;
	/* A newer program may ask for what this library does not know; not setting it is fine. */
	for (size_t i = sizeof(*options); i < options->size; i++)
		if (*beyond++)
			return false;
	return (unsigned)options->detail <= UNWEAVE_DETAIL_FULL &&
	       (unsigned)options->policy <= UNWEAVE_POLICY_BLOCK &&
	       (options->path || options->listener);
}

/*
 * Descriptors of its own for the thread. A program that closes all of its does
 * not close the trace then, has no file of ours under a number that it counts
 * on, and hands none to its children; and we keep none of its open.
 */
static void part_with_descriptors(void)
{
	if (syscall(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) < 0)
		return;
	/* Whoever complains on this thread must not do so in the trace. */
	while (open("/dev/null", O_RDWR | O_CLOEXEC) >= 0)
		if (fcntl(STDERR_FILENO, F_GETFD) >= 0)
			break;
}

static int open_recorder(const struct unweave_options *options)
{
	char path[4096];
	struct recorder_options wanted = {
		.path = options->path ? path : NULL,
		.listener = options->listener,
		.listener_data = options->listener_data,
		.detail = options->detail,
		.policy = options->policy,
		.keywords = options->keywords,
		.buffer_bytes = options->buffer_bytes,
	};
	int r;

	if (options->path && !expand_path(path, sizeof(path), options->path))
		return -ENAMETOOLONG;
	r = recorder_new(&session.recorder, &session.attachment, &wanted, NULL);
	if (r >= 0 && options->path)
		modules_tell(session.recorder, &session.attachment);
	return r;
}

static int open_session(const struct unweave_options *options)
{
	int r = attach_own(&session.attachment, emit_process.control, place_file(), NULL);

	if (r >= 0)
		r = attach_lock(&session.attachment, NULL);
	return r < 0 ? r : open_recorder(options);
}

/* Tells unweave_start(); its options are not ours any more then. */
static void say_opened(int result)
{
	pthread_mutex_lock(&session.mutex);
	session.opened = result;
	session.opening = false;
	session.passes_begun++;
	pthread_cond_broadcast(&session.changed);
	pthread_mutex_unlock(&session.mutex);
}

static void close_session(void)
{
	session.recorder = recorder_free(session.recorder);
	attach_fini(&session.attachment);
	pthread_mutex_lock(&session.mutex);
	session.over = true;
	if (session.passes_begun < session.passes_wanted)
		session.passes_begun = session.passes_wanted;
	session.passes_done = session.passes_begun;
	pthread_cond_broadcast(&session.changed);
	pthread_mutex_unlock(&session.mutex);
}

static void *drain_thread(void *data)
{
	const struct unweave_options *options = data;
	int r;

	unweave_priv_self = &emit_muted.hot;
	pthread_setname_np(pthread_self(), "unweave");
	/* A listener is a part of the program, and may need its files. */
	if (!options->listener)
		part_with_descriptors();
	r = open_session(options);
	say_opened(r);
	if (r >= 0) {
		do
			recorder_pass(session.recorder);
		while (rest(recorder_pause_ns(session.recorder)));
		/* With what was loaded meanwhile. */
		modules_tell(session.recorder, &session.attachment);
		recorder_stop(session.recorder);
	}
	close_session();
	return NULL;
}

/* With all signals blocked: the program's handlers belong on the program's threads. */
static int start_thread(const struct unweave_options *options)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&session.thread, NULL, drain_thread, (void *)options);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

/* Sees a session off that is asked to end. Under the mutex, which is let go meanwhile. */
static void finish(void)
{
	uint64_t ended = session.ended;

	if (session.joining) {
		while (session.ended == ended)
			pthread_cond_wait(&session.changed, &session.mutex);
		return;
	}
	session.joining = true;
	pthread_mutex_unlock(&session.mutex);
	pthread_join(session.thread, NULL);
	pthread_mutex_lock(&session.mutex);
	session.joining = false;
	session.active = false;
	session.ended++;
	atomic_store_explicit(&session.pid, 0, memory_order_relaxed);
	pthread_cond_broadcast(&session.changed);
}

/* Under the mutex. */
static int start(const struct unweave_options *options)
{
	size_t chunks = (options->buffer_bytes + ARENA_CHUNK_BYTES - 1) / ARENA_CHUNK_BYTES;
	int r;

	if (!options_are_valid(options))
		return -EINVAL;
	/* One that a listener stopped is still to be swept up. */
	while (session.active && session.stopping && !is_listener())
		finish();
	if (session.active)
		return -EALREADY;
	place_chunks_wanted = chunks < ARENA_CHUNKS_MAX ? (uint32_t)chunks : ARENA_CHUNKS_MAX;
	if (!emit_await_birth())
		return -ENOTSUP;
	session.stopping = false;
	session.over = false;
	session.new_keywords = false;
	r = start_thread(options);
	if (r < 0)
		return r;
	session.active = true;
	session.opening = true;
	atomic_store_explicit(&session.pid, getpid(), memory_order_relaxed);
	while (session.opening)
		pthread_cond_wait(&session.changed, &session.mutex);
	r = session.opened;
	if (r < 0)
		finish();
	return r;
}

int unweave_start(const struct unweave_options *options)
{
	int error = errno;
	int cancelling, r;

	if (!options)
		return -EINVAL;
	enter(&cancelling);
	if (!fork_is_handled)
		fork_is_handled = pthread_atfork(NULL, NULL, child_of_fork) == 0;
	r = start(options);
	leave(cancelling);
	errno = error;
	return r;
}

/* Waits for the end of a pass that begins from now on. Under the mutex. */
static void await_pass(void)
{
	uint64_t pass = session.passes_begun + 1;

	if (session.passes_wanted < pass)
		session.passes_wanted = pass;
	pthread_cond_broadcast(&session.changed);
	while (session.passes_done < pass)
		pthread_cond_wait(&session.changed, &session.mutex);
}

int unweave_set_keywords(uint64_t keywords)
{
	int cancelling;
	int r = 0;

	if (is_listener())
		return -EDEADLK;
	enter(&cancelling);
	if (session.active && !session.over) {
		session.keywords = keywords;
		session.new_keywords = true;
		await_pass();
	} else {
		r = -ENOENT;
	}
	leave(cancelling);
	return r;
}

int unweave_flush(void)
{
	int cancelling;
	int r = 0;

	if (is_listener())
		return -EDEADLK;
	enter(&cancelling);
	if (session.active && !session.over)
		await_pass();
	else
		r = -ENOENT;
	leave(cancelling);
	return r;
}

/* Under the mutex. */
static void stop(void)
{
	if (!session.active)
		return;
	session.stopping = true;
	pthread_cond_broadcast(&session.changed);
	/* A listener's thread ends by itself, and who calls next sweeps up. */
	if (!is_listener())
		finish();
}

void unweave_stop(void)
{
	int error = errno;
	int cancelling;

	enter(&cancelling);
	stop();
	leave(cancelling);
	errno = error;
}

static unsigned find_word(const char *word, const char *const *words, unsigned count)
{
	for (unsigned i = 0; word && i < count; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	return 0;
}

/* UNWEAVE_TRACE and its companions. A set-user-ID program does not listen to its environment. */
__attribute__((constructor(102))) static void start_from_environment(void)
{
	static const char *const details[] = {"", "samples", "tasks", "full"};
	static const char *const policies[] = {"drop", "overwrite", "block"};
	const char *path = secure_getenv("UNWEAVE_TRACE");
	const char *buffer = secure_getenv("UNWEAVE_BUFFER");
	struct unweave_options options;

	if (!path || !*path)
		return;
	unweave_options_init(&options);
	options.path = path;
	options.detail = find_word(secure_getenv("UNWEAVE_DETAIL"), details, 4);
	options.policy = find_word(secure_getenv("UNWEAVE_POLICY"), policies, 3);
	options.buffer_bytes = buffer ? strtoull(buffer, NULL, 10) : 0;
	unweave_start(&options);
}

/* At exit(). A signal handler may have called that in the middle of a start or stop. */
__attribute__((destructor(102))) static void stop_at_exit(void)
{
	struct timespec pause = {.tv_nsec = 1000000};

	notice_fork();
	for (int i = 0; i < 1000; i++) {
		if (pthread_mutex_trylock(&session.mutex) == 0) {
			stop();
			pthread_mutex_unlock(&session.mutex);
			return;
		}
		nanosleep(&pause, NULL);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a process gets its arena: at its first hook, in the best place there is.
 *
 * All memory is reserved before it is used, so that a full tmpfs is found here
 * and not by a SIGBUS later. Whatever fails, the program goes on without.
 */
#include "emit/emit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena/where.h"
#include "emit/arm.h"
#include "emit/guest.h"
#include "emit/mapped.h"
#include "emit/place.h"
#include "emit/sampler.h"
#include "emit/table.h"
#include "emit/text.h"

enum { UNBORN, IN_LABOUR, BORN, STILLBORN };

struct emit_process emit_process;

static struct unweave_priv_config unborn = {.gate = EMIT_FIRST_GATE(ARENA_MODE_UNBORN)};
static struct unweave_priv_config never = {.gate = EMIT_FIRST_GATE(ARENA_MODE_OFF)};
struct unweave_priv_config *unweave_priv_config = &unborn;

static _Atomic int stage;
static _Atomic uint64_t early_orphans; /* events that came while the arena was being made */

/* What a child of fork() has from its parent's arena, which it does not hold on to. */
static struct {
	uint64_t generation; /* of its newest task; 0: nothing */
	uint32_t next_site;
	uint32_t names_bytes;
	char *names;
} inherited;

static pthread_key_t exit_key;
static bool exit_key_made;
static char status[256] = "no hook has been called yet";

/* Both sides look after they stored (sequentially consistent): one of them moves the count. */
static void move_early_orphans(void)
{
	uint64_t orphans;

	if (atomic_load(&stage) != BORN)
		return;
	orphans = atomic_exchange(&early_orphans, 0);
	/* Nobody misses them unless it is to record from the first hook on. */
	if ((unweave_priv_gate() & UNWEAVE_PRIV_MODE_MASK) != ARENA_MODE_OFF)
		atomic_fetch_add(&emit_process.control->orphans, orphans);
}

void emit_orphan(void)
{
	if ((unweave_priv_gate() & UNWEAVE_PRIV_MODE_MASK) == ARENA_MODE_OFF)
		return;
	atomic_fetch_add(&early_orphans, 1);
	move_early_orphans();
}

void emit_call_at_exit(struct emit_thread *self)
{
	/* The first 32 keys need no memory of the thread's own. */
	if (exit_key_made && exit_key < 32)
		pthread_setspecific(exit_key, self);
}

/*
 * Sites keep the ids that they got in the parent, so they are told again; and
 * tasks of the parent may live on here, so their ids are not used again.
 */
static void take_over(struct arena_control *parent)
{
	uint32_t bytes = atomic_load(&parent->names_used);
	char *names = MAP_FAILED;

	if (bytes)
		names = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	if (names != MAP_FAILED) {
		memcpy(names, arena_names(parent), bytes);
		inherited.names = names;
		inherited.names_bytes = bytes;
	}
	inherited.next_site = atomic_load(&parent->next_site);
	inherited.generation = emit_table_newest(parent);
	munmap(parent, parent->bytes);
}

/* In a child of fork(): everything of the parent's is forgotten, and made anew when needed. */
void emit_child(void)
{
	/* What another thread was still making is not fit to inherit from. */
	if (atomic_load(&stage) == BORN)
		take_over(emit_process.control);
	else
		emit_adapters_forget();
	if (emit_process.threads)
		munmap(emit_process.threads, ARENA_LINES * sizeof(struct emit_thread) + 4096);
	place_forget();
	sampler_forget();
	emit_process = (struct emit_process){0};
	unweave_priv_self = &emit_nobody.hot;
	if (exit_key_made)
		pthread_setspecific(exit_key, NULL);
	__atomic_store_n(&unweave_priv_config, &unborn, __ATOMIC_RELAXED);
	atomic_store(&early_orphans, 0);
	atomic_store(&stage, UNBORN);
}

static void child_of_fork(void)
{
	int error = errno;

	if (atomic_load(&stage) == BORN || atomic_load(&stage) == IN_LABOUR)
		emit_child();
	errno = error;
}

/* Memory for the threads' own parts. A child of fork() finds it zeroed, however it was made. */
static bool make_threads(void)
{
	size_t bytes = ARENA_LINES * sizeof(struct emit_thread);
	char *memory = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	if (memory == MAP_FAILED)
		return false;
	madvise(memory, bytes + 4096, MADV_WIPEONFORK);
	emit_process.threads = (struct emit_thread *)memory;
	emit_process.alive = (uint64_t *)(memory + bytes);
	*emit_process.alive = 1;
	return true;
}

/* One that was not whole yet ends them. */
static void inherit(struct arena_control *control)
{
	uint32_t used = 0;

	if (!inherited.generation)
		return;
	while (used < inherited.names_bytes) {
		struct arena_site *site = (struct arena_site *)(inherited.names + used);
		uint32_t bytes = atomic_load_explicit(&site->bytes, memory_order_relaxed);

		if (!bytes)
			break;
		used += bytes;
	}
	if (used)
		memcpy(arena_names(control), inherited.names, used);
	atomic_store(&control->names_used, used);
	atomic_store(&control->next_site, inherited.next_site);
	control->first_generation = inherited.generation + 1;
	if (inherited.names)
		munmap(inherited.names, inherited.names_bytes);
	memset(&inherited, 0, sizeof(inherited));
}

static void fill_control(struct arena_control *control, const struct place *place)
{
	control->layout = ARENA_LAYOUT;
	control->place = place->kind;
	control->bytes = place->bytes;
	control->lines_at = ARENA_LINES_AT;
	control->names_at = ARENA_NAMES_AT;
	control->pool_at = ARENA_POOL_AT;
	control->lines = ARENA_LINES;
	control->chunks_max = place->chunks;
	control->pool_address = (uint64_t)(uintptr_t)emit_process.pool;
	control->pid = (uint32_t)getpid();
	control->uid = (uint32_t)geteuid();
	control->pid_namespace = place_namespace();
	control->started = place_started();
	control->clock = emit_process.clock;
	control->tasks_max = place->tasks;
	control->tasks_at = place_tasks_at(place);
	control->task_names_at = place_tasks_at(place) + table_bytes(place->tasks);
	/* Not 0: a number that a program made up is then no slot's id, free or not. */
	control->first_generation = 1;
	place_program(control->program, sizeof(control->program));
	memcpy(control->note, place->note, sizeof(control->note));
	__atomic_store_n(&control->config.hot.gate, EMIT_FIRST_GATE(ARENA_MODE_OFF),
			 __ATOMIC_RELAXED);
	inherit(control);
	emit_table_init();
	sampler_install(control);
	arm_begin(control);
	if (atomic_load(&control->armed))
		mapped_tell(control);
	/* Pairs with the acquire of whoever attaches: all of the above is there. */
	atomic_store_explicit(&control->magic, ARENA_MAGIC, memory_order_release);
}

static void describe(const struct place *place)
{
	struct text text = text_in(status, sizeof(status));

	if (place->kind == ARENA_PLACE_FILE) {
		text_put(&text, "arena in ");
		text_put(&text, place->path);
		return;
	}
	text_put(&text, place->kind == ARENA_PLACE_MEMFD     ? "arena in a memfd"
			: place->kind == ARENA_PLACE_PRIVATE ? "arena in private memory"
							     : "no arena");
	text_put(&text, ": ");
	text_put(&text, place->note);
}

static bool make_arena(void)
{
	struct place place;

	if (!place_find(&place)) {
		describe(&place);
		return false;
	}
	if (!make_threads()) {
		place_abandon(&place);
		memcpy(status, "no arena: out of memory", sizeof("no arena: out of memory"));
		return false;
	}
	emit_process.clock = clock_choose();
	emit_process.pool = (struct arena_chunk *)((char *)place.memory + ARENA_POOL_AT);
	emit_process.control = place.memory;
	emit_process.tasks_reserved = place.tasks_reserved;
	fill_control(place.memory, &place);
	describe(&place);
	return true;
}

/*
 * What outlives a forked child's new start: once per process image. When it is
 * loaded, since the first hook may be in a signal handler, and these allocate.
 */
__attribute__((constructor(101))) static void make_handlers(void)
{
	if (exit_key_made)
		return;
	exit_key_made = pthread_key_create(&exit_key, emit_thread_exit) == 0;
	pthread_atfork(NULL, NULL, child_of_fork);
}

bool emit_birth(void)
{
	int now = atomic_load_explicit(&stage, memory_order_acquire);
	int cancelling;
	bool born;

	/* Forked without fork(), so that nobody was told. */
	if (emit_unlikely(now == BORN && !*emit_process.alive)) {
		emit_child();
		now = UNBORN;
	}
	if (emit_likely(now != UNBORN))
		return now == BORN;
	if (!atomic_compare_exchange_strong(&stage, &now, IN_LABOUR))
		return now == BORN;
	/* A thread that is cancelled in here would leave the process without an arena for good. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
	make_handlers();
	born = make_arena();
	__atomic_store_n(&unweave_priv_config, born ? &emit_process.control->config.hot : &never,
			 __ATOMIC_RELEASE);
	atomic_store(&stage, born ? BORN : STILLBORN);
	if (born) {
		move_early_orphans();
		emit_adapters_tell();
	}
	pthread_setcancelstate(cancelling, NULL);
	return born;
}

bool emit_is_unborn(void)
{
	int now = atomic_load(&stage);

	return now == UNBORN || (now == BORN && !*emit_process.alive);
}

bool emit_await_birth(void)
{
	while (!emit_birth()) {
		if (atomic_load(&stage) == STILLBORN)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
	return true;
}

const char *unweave_status(void)
{
	return status;
}

/*
 * A program that is to record from its first hook on is ready before it has a
 * second thread; but one that has this library from an adapter may never call one.
 */
__attribute__((constructor(101))) static void begin_of_process(void)
{
	int error = errno;

	if (arm_prepare()) {
		place_remember();
		if (!guest_is_uncalled())
			emit_birth();
	}
	errno = error;
}

/*
 * An arena that nobody records ends with its program; one that is recorded is
 * left to the drain. After the end of a session of our own (embed/start.c).
 */
__attribute__((destructor(101))) static void end_of_process(void)
{
	struct arena_control *control = emit_process.control;

	if (!control || !emit_process.alive || !*emit_process.alive ||
	    control->pid != (uint32_t)getpid())
		return;
	atomic_store_explicit(&control->life, ARENA_EXITED, memory_order_release);
	if (control->place == ARENA_PLACE_FILE && !atomic_load(&control->session.pid) &&
	    !atomic_load(&control->armed))
		place_remove();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the sampler's signal handler finds: asked by a signal to the own thread. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "emit/emit.h"
#include "sample/take.h"
#include "unweave/chain.h"

/* ThreadSanitizer calls handlers at places of its own choice. */
#ifdef __SANITIZE_THREAD__
#define DEFERS_SIGNALS true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DEFERS_SIGNALS true
#endif
#endif
#ifndef DEFERS_SIGNALS
#define DEFERS_SIGNALS false
#endif

static struct take taker;

/* As a recorder's config would. */
static void set_mode(enum arena_mode mode)
{
	struct arena_config *config = &emit_process.control->config;
	uint64_t revision = (unweave_priv_gate() >> 8) + 1;

	if (mode == ARENA_MODE_OFF)
		atomic_store(&config->off_revision, revision);
	__atomic_store_n(&config->hot.gate, revision << 8 | mode, __ATOMIC_RELEASE);
}

static void set_up(void)
{
	/* The first hook makes the arena. */
	unweave_task_complete(unweave_task_new(NULL, UNWEAVE_MODEL_CHAIN, 0, NULL), UNWEAVE_OK);
	taker.control = emit_process.control;
	take_start_over(&taker);
	atomic_store(&taker.control->sampler.on, ARENA_SAMPLING_CLOCKS);
	set_mode(ARENA_MODE_OFF);
}

static void send_order(enum ring_order order)
{
	union sigval value = {.sival_ptr = (void *)(uintptr_t)order};

	pthread_sigqueue(pthread_self(), (int)taker.control->sampler.signal, value);
}

static void ask(void)
{
	send_order(RING_ORDER_SAMPLE);
}

/* What the functions of a chain found out while they ran. */
static struct {
	struct taken taken;
	enum take_result result;
	bool anew; /* a new session begins first */
} found;

static int last(struct unweave_link *link, void *context)
{
	(void)link;
	(void)context;
	if (found.anew) {
		set_mode(ARENA_MODE_OFF);
		set_mode(ARENA_MODE_SAMPLES);
	}
	ask();
	found.result = take_next(&taker, &found.taken);
	return 0;
}

static int middle(struct unweave_link *link, void *context)
{
	(void)link;
	(void)context;
	return 0;
}

static int first(struct unweave_link *link, void *context)
{
	(void)link;
	(void)context;
	return 0;
}

/* Runs last <- middle <- first; returns the task. */
static uint64_t run_chain(void)
{
	struct unweave_link links[3] = {{.go = last}, {.go = middle}, {.go = first}};
	static struct unweave_site site = {.name = "made here"};
	struct unweave_chain chain;
	uint64_t task;

	unweave_chain_init(&chain);
	for (int i = 0; i < 3; i++)
		unweave_chain_push(&chain, &links[i]);
	unweave_chain_start(&chain, &site, 0);
	task = chain.head.task;
	unweave_chain_run(&chain, 0);
	return task;
}

static void check_chain(uint64_t task)
{
	const struct taken *taken = &found.taken;

	CHECK_EQ(found.result, TAKE_SAMPLE);
	CHECK_EQ(taken->tid, syscall(SYS_gettid));
	CHECK_EQ(taken->run_count, 1);
	CHECK_EQ(taken->runs[0].task, task);
	CHECK(taken->runs[0].site != 0);
	CHECK_EQ(taken->runs[0].count, 3);
	if (taken->run_count != 1 || taken->runs[0].count != 3)
		return;
	CHECK(taken->runs[0].addresses[0] == (uintptr_t)last);
	CHECK(taken->runs[0].addresses[1] == (uintptr_t)middle);
	CHECK(taken->runs[0].addresses[2] == (uintptr_t)first);
	CHECK(taken->asked && !taken->stack_cut && !taken->runs_cut);
}

static void a_thread_without_a_task_has_its_stack_and_no_run(void)
{
	struct taken taken;
	/* Not a variable: a sanitizer may have put it elsewhere. */
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	set_up();
	set_mode(ARENA_MODE_SAMPLES);
	errno = 4711;
	ask();
	CHECK_EQ(errno, 4711);
	CHECK_EQ(take_next(&taker, &taken), TAKE_SAMPLE);
	CHECK_EQ(taken.run_count, 0);
	CHECK(taken.bytes > 256);
	/* What is on the stack is in the copy. */
	CHECK(here > taken.sp && here < taken.sp + taken.bytes);
}

static void a_task_has_its_chain(void)
{
	set_up();
	set_mode(ARENA_MODE_SAMPLES);
	found.anew = false;
	check_chain(run_chain());
}

static void a_task_that_runs_since_an_earlier_session_has_its_chain(void)
{
	set_up();
	set_mode(ARENA_MODE_SAMPLES);
	found.anew = true;
	check_chain(run_chain());
}

static void what_a_nest_says_of_an_earlier_session_does_not_count(void)
{
	uint64_t other = unweave_task_new(NULL, UNWEAVE_MODEL_CHAIN, 0, NULL);
	struct taken taken;

	set_up();
	set_mode(ARENA_MODE_SAMPLES);
	unweave_task_resume(other);
	set_mode(ARENA_MODE_OFF);
	unweave_task_suspend(other);
	set_mode(ARENA_MODE_SAMPLES);
	ask();
	CHECK_EQ(take_next(&taker, &taken), TAKE_SAMPLE);
	CHECK_EQ(taken.run_count, 0);
	unweave_task_complete(other, UNWEAVE_OK);
}

static void nothing_is_taken_once_the_sampler_is_off(void)
{
	struct taken taken;

	set_up();
	atomic_store(&taker.control->sampler.on, ARENA_SAMPLING_OFF);
	ask();
	raise((int)taker.control->sampler.signal);
	CHECK_EQ(take_next(&taker, &taken), TAKE_NONE);
}

static void signals_of_others_are_ignored_as_before(void)
{
	struct taken taken;

	set_up();
	set_mode(ARENA_MODE_SAMPLES);
	raise((int)taker.control->sampler.signal);
	pthread_sigqueue(pthread_self(), (int)taker.control->sampler.signal,
			 (union sigval){.sival_int = 1});
	CHECK_EQ(take_next(&taker, &taken), TAKE_NONE);
}

static bool cancel_now;

/* Threads are cancelled by a signal, at any instruction if they allow it. */
static void *sample_until_cancelled(void *data)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	__atomic_store_n(&cancel_now, true, __ATOMIC_RELEASE);
	for (;;)
		ask();
	return data;
}

static void a_thread_that_is_cancelled_finishes_its_sample(void)
{
	struct arena_sampler *sampler;
	struct taken taken;
	pthread_t thread;

	set_up();
	sampler = &taker.control->sampler;
	for (int i = 0; i < 200; i++) {
		__atomic_store_n(&cancel_now, false, __ATOMIC_RELAXED);
		CHECK_EQ(pthread_create(&thread, NULL, sample_until_cancelled, NULL), 0);
		while (!__atomic_load_n(&cancel_now, __ATOMIC_ACQUIRE))
			sched_yield();
		for (volatile int pause = 0; pause < 100 * i; pause++)
			;
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		while (take_next(&taker, &taken) == TAKE_SAMPLE)
			;
		CHECK(atomic_load(&sampler->head) == atomic_load(&sampler->tail));
	}
}

#ifdef __x86_64__
/* Sends itself the signal while its stack pointer is anything but that. */
static void ask_without_stack(uint64_t sp)
{
	siginfo_t info = {.si_signo = (int)taker.control->sampler.signal, .si_code = SI_QUEUE};
	uint64_t number = SYS_rt_tgsigqueueinfo, process = (uint64_t)getpid();
	uint64_t thread = (uint64_t)syscall(SYS_gettid), saved;

	info.si_value.sival_ptr = (void *)(uintptr_t)RING_ORDER_SAMPLE;
	__asm__ volatile("mov %[info], %%r10; mov %%rsp, %[saved]; mov %[sp], %%rsp; syscall;"
			 "mov %[saved], %%rsp"
			 : "+a"(number), [saved] "=&b"(saved)
			 : [sp] "r"(sp), [info] "r"(&info), "D"(process), "S"(thread),
			   "d"((uint64_t)info.si_signo)
			 : "rcx", "r10", "r11", "memory");
	CHECK_EQ(number, 0);
}

static void a_thread_whose_stack_is_elsewhere_has_a_sample_without(void)
{
	static char room[65536];
	stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};
	struct taken taken;

	set_up();
	set_mode(ARENA_MODE_SAMPLES);
	CHECK_EQ(sigaltstack(&stack, NULL), 0);
	for (uint64_t sp = 0; sp < 4096; sp += 4080) {
		ask_without_stack(sp);
		CHECK_EQ(take_next(&taker, &taken), TAKE_SAMPLE);
		CHECK_EQ(taken.sp, sp);
		CHECK_EQ(taken.bytes, 0);
	}
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
}

/* Timers, which an emulator has of its own. They are not to tick. */
#define NEVER_NS (3600 * UINT64_C(1000000000))

static void begin_timers(void)
{
	struct arena_sampler *sampler;

	set_up();
	sampler = &taker.control->sampler;
	atomic_fetch_add(&sampler->session, 1);
	atomic_store(&sampler->period_ns, NEVER_NS);
	set_mode(ARENA_MODE_SAMPLES);
}

/* Orders a timer for a thread; returns what is said to that. */
static uint32_t order_timer(uint32_t tid)
{
	struct arena_sampler *sampler = &taker.control->sampler;

	atomic_store(&sampler->timers[3], tid);
	send_order(RING_ORDER_TIMERS);
	return atomic_exchange(&sampler->timers[3], 0);
}

static unsigned count_timers(void)
{
	FILE *file = fopen("/proc/self/timers", "r");
	unsigned count = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		count += strncmp(line, "ID:", 3) == 0;
	if (file)
		fclose(file);
	return count;
}

static void end_timers(void)
{
	atomic_store(&taker.control->sampler.on, ARENA_SAMPLING_OFF);
	set_mode(ARENA_MODE_OFF);
	unweave_task_complete(unweave_task_new(NULL, UNWEAVE_MODEL_CHAIN, 0, NULL), UNWEAVE_OK);
	CHECK_EQ(count_timers(), 0);
}

/* How many of the user's signals and timers are pending. */
static rlim_t count_pending(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned long count = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "SigQ: %lu", &count) == 1)
			break;
	if (file)
		fclose(file);
	return count;
}

static struct rlimit set_pending_limit(rlim_t most)
{
	struct rlimit before, now;

	CHECK_EQ(getrlimit(RLIMIT_SIGPENDING, &before), 0);
	now = (struct rlimit){most < before.rlim_max ? most : before.rlim_max, before.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_SIGPENDING, &now), 0);
	return before;
}

static void a_timer_that_is_refused_is_told(void)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct rlimit before;

	begin_timers();
	/* The order itself arrives without what it says. */
	before = set_pending_limit(0);
	CHECK_EQ(order_timer(tid), tid | (uint32_t)EAGAIN << ARENA_TIMER_SHIFT);
	CHECK_EQ(count_timers(), 0);
	setrlimit(RLIMIT_SIGPENDING, &before);
	CHECK_EQ(order_timer(tid), 0);
	CHECK_EQ(count_timers(), 1);
	end_timers();
}

static void a_sample_is_taken_though_too_many_signals_are_pending(void)
{
	struct rlimit before = set_pending_limit(0);
	struct taken taken;

	begin_timers();
	ask();
	CHECK_EQ(take_next(&taker, &taken), TAKE_NONE);
	atomic_store(&taker.control->sampler.on, ARENA_SAMPLING_ASKED);
	ask();
	CHECK_EQ(take_next(&taker, &taken), TAKE_SAMPLE);
	CHECK(taken.asked);
	setrlimit(RLIMIT_SIGPENDING, &before);
	end_timers();
}

static void an_order_that_another_thread_has_begun_is_left_to_it(void)
{
	uint32_t begun = (uint32_t)syscall(SYS_gettid) | ARENA_TIMER_BEGUN << ARENA_TIMER_SHIFT;

	begin_timers();
	CHECK_EQ(order_timer(begun), begun);
	CHECK_EQ(count_timers(), 0);
	end_timers();
}

static void *order_own_timer(void *data)
{
	(void)data;
	CHECK_EQ(order_timer((uint32_t)syscall(SYS_gettid)), 0);
	return NULL;
}

/* The limit is a user's, who may have more timers elsewhere: root can be one who has not. */
static void be_alone(bool alone)
{
	uid_t user = alone ? 40000 + (uid_t)getpid() % 20000 : 0;
	uid_t real, effective, saved;

	CHECK_EQ(getresuid(&real, &effective, &saved), 0);
	if (saved == 0)
		CHECK_EQ(setresuid(user, user, 0), 0);
}

static void timers_of_ended_threads_make_room(void)
{
	struct rlimit before;
	pthread_t thread;

	begin_timers();
	be_alone(true);
	before = set_pending_limit(count_pending() + 30);
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(pthread_create(&thread, NULL, order_own_timer, NULL), 0);
		pthread_join(thread, NULL);
	}
	setrlimit(RLIMIT_SIGPENDING, &before);
	be_alone(false);
	end_timers();
}

/* The limit of signals may be lower. */
static void threads_beyond_the_table_are_told(void)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid), said = 0;
	unsigned count = 0;

	begin_timers();
	while (count < 100000 && !said) {
		said = order_timer(tid);
		count += !said;
	}
	CHECK(said >> ARENA_TIMER_SHIFT == ENOSPC || said >> ARENA_TIMER_SHIFT == EAGAIN);
	CHECK_EQ(count_timers(), count);
	CHECK(count >= ARENA_LINES || said >> ARENA_TIMER_SHIFT == EAGAIN);
	end_timers();
}
#endif

static void on_own_signal(int signal)
{
	(void)signal;
}

/* Last: the signal is the test's from here on. */
static void a_program_that_takes_the_signal_is_noticed_at_the_next_session(void)
{
	set_up();
	CHECK_EQ(taker.control->sampler.signal, SIGURG);
	signal(SIGURG, on_own_signal);
	set_mode(ARENA_MODE_SAMPLES);
	unweave_task_complete(unweave_task_new(NULL, UNWEAVE_MODEL_CHAIN, 0, NULL), UNWEAVE_OK);
	CHECK_EQ(taker.control->sampler.signal, 0);
	CHECK_EQ(taker.control->sampler.refused, ARENA_SIGNAL_TAKEN);
}

int main(void)
{
	RUN(a_thread_without_a_task_has_its_stack_and_no_run);
	RUN(a_task_has_its_chain);
	RUN(a_task_that_runs_since_an_earlier_session_has_its_chain);
	RUN(what_a_nest_says_of_an_earlier_session_does_not_count);
	RUN(nothing_is_taken_once_the_sampler_is_off);
	RUN(signals_of_others_are_ignored_as_before);
	if (!DEFERS_SIGNALS)
		RUN(a_thread_that_is_cancelled_finishes_its_sample);
#ifdef __x86_64__
	if (!DEFERS_SIGNALS)
		RUN(a_thread_whose_stack_is_elsewhere_has_a_sample_without);
	RUN(a_timer_that_is_refused_is_told);
	RUN(a_sample_is_taken_though_too_many_signals_are_pending);
	RUN(an_order_that_another_thread_has_begun_is_left_to_it);
	RUN(timers_of_ended_threads_make_room);
	RUN(threads_beyond_the_table_are_told);
#endif
	RUN(a_program_that_takes_the_signal_is_noticed_at_the_next_session);
	return check_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a thread is, asked at any instruction: a signal comes 10,000 times a second
 * on every thread, and its handler must find the task and the chain that were there
 * before the interrupted step, or those after it.
 *
 * Where the processor can, one thread is also asked after each of its instructions. Each
 * time unweave_here() is asked, and the sampler, which must find the same.
 *
 * A thread says beforehand what a step will lead to, in plain arrays, and afterwards
 * that it has: a handler compares with what is said at its time.
 */
#include "sampling_stage.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampling_routines.h"
#include "scenario.h"
#include "unweave/chain.h"
#include "unweave/machine.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define THREADS 3u
#define PERIOD_NS 100000
#define SECONDS_MOST 30 /* a busy machine takes longer to come to enough samples */
#define ENOUGH_INSIDE 12000u
#define ENOUGH_AMID 2000u
/* ThreadSanitizer calls handlers at places of its own choice. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DEFERS_SIGNALS true
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define DEFERS_SIGNALS true
#endif
#ifndef DEFERS_SIGNALS
#define DEFERS_SIGNALS false
#endif
#define STEPPED 20 /* requests or calls */

static bool stop;
static bool alone; /* only one thread runs */

/* The chain model: three functions, of which the outermost catches errors. */

#define LINKS 3u

struct request {
	struct unweave_chain chain;
	struct unweave_link links[LINKS];
	struct picture outer; /* what runs outside of it */
	uint32_t at;          /* the innermost link that is left */
	uint32_t dice;
};

static uint32_t roll(uint32_t *dice)
{
	*dice = *dice * 1664525 + 1013904223;
	return *dice >> 20;
}

static struct picture picture_of(const struct request *request, uint32_t from)
{
	struct picture picture = {.task = request->chain.head.task};

	for (uint32_t i = from; i < LINKS; i++)
		add_frame(&picture, &request->links[i]);
	return picture;
}

static int catches(const struct unweave_link *link, const struct unweave_chain *chain)
{
	return link == &((const struct request *)chain)->links[LINKS - 1];
}

/* Whoever looks at a continuation that an error took off is to fall over it. */
static void unwound(struct unweave_link *link, struct unweave_chain *chain)
{
	(void)chain;
	memset(link, 0xdd, sizeof(*link));
}

static void run_calls(uint32_t dice);
static __thread uint32_t depth; /* of requests and calls inside of each other */

/* On with the functions from `next` on, or with whatever runs outside. */
static int go_on(struct request *request, uint32_t next)
{
	struct picture after = picture_of(request, next);

	request->at = next;
	will_be(next < LINKS ? &after : &request->outer);
	return UNWEAVE_STEP_DONE;
}

static int fail(struct request *request)
{
	struct picture between = {.task = request->chain.head.task};
	bool caught = request->at < LINKS - 1;

	add_frame(&between, &request->links[request->at]);
	if (caught)
		add_frame(&between, &request->links[LINKS - 1]);
	will_be(&between);
	go_on(request, caught ? LINKS - 1 : LINKS);
	return UNWEAVE_STEP_ERROR;
}

static int request_go(struct unweave_link *link, void *context)
{
	struct request *request = context;

	is_now();
	switch (roll(&request->dice) % 8) {
	case 0:
	case 1:
		link->state++;
		unweave_chain_push(&request->chain, link);
		will_be(&request->outer);
		return UNWEAVE_STEP_SUSPENDED;
	case 2:
		return fail(request);
	case 3:
		if (depth < 3) {
			depth++;
			if (roll(&request->dice) % 2)
				run_calls(request->dice);
			else
				routines_run(request->dice);
			depth--;
		}
		break;
	}
	return go_on(request, request->at + 1);
}

static void run_request(uint32_t dice)
{
	struct request request = {.outer = now(), .dice = dice};
	enum unweave_step step;

	unweave_chain_init(&request.chain);
	request.chain.catches = catches;
	request.chain.unwound = unwound;
	for (uint32_t i = 0; i < LINKS; i++) {
		unweave_link_init(&request.links[i], request_go,
				  (const void *)(uintptr_t)(0x1000 + 16 * i), (int32_t)i);
		unweave_chain_push(&request.chain, &request.links[i]);
	}
	unweave_chain_start(&request.chain, NULL, UNWEAVE_PARENT_CURRENT);
	do {
		struct picture first = picture_of(&request, request.at);

		will_be(&first);
		step = unweave_chain_run(&request.chain, 0);
		is_now();
	} while (step == UNWEAVE_STEP_SUSPENDED);
}

/*
 * The state-machine model: a box that waits, and some that await it. All is freed as
 * soon as it may be, on whatever thread that is.
 */

#define CALLS_MOST 4u
#define WAITING_MOST 64u

struct call {
	struct unweave_box box;
	struct call *awaiter;
	bool hops; /* it goes on on whatever thread takes it: so it is a task of its own */
};

static struct call *handed_over;
static __thread struct call *waiting[WAITING_MOST];
static __thread uint32_t waiting_count;
static __thread struct picture outer; /* what runs outside of the run of a box that this is in */
static __thread uint32_t calls_dice;

static struct picture chain_of(uint64_t task, const struct call *call)
{
	struct picture picture = {.task = task};

	for (; call; call = call->awaiter)
		add_frame(&picture, &call->box.link);
	return picture;
}

/* Whoever looks at a box that is gone is to fall over it. */
static void forget(struct call *call)
{
	memset(call, 0xdd, sizeof(*call));
	free(call);
}

static int call_go(struct unweave_link *link, void *context);

static struct call *new_call(uint32_t number)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call)
		abort();
	unweave_box_init(&call->box, call_go, (const void *)(uintptr_t)(0x2000 + 16 * number),
			 NULL);
	call->box.link.state = (int32_t)number;
	return call;
}

static void run_call(struct call *call)
{
	struct picture first = chain_of(call->box.head.task, call), before = outer;

	outer = now();
	will_be(&first);
	unweave_box_run(&call->box, 0);
	is_now();
	outer = before;
}

static void await(struct call *awaiter, struct call *call)
{
	awaiter->hops = roll(&calls_dice) % 16 == 0;
	if (awaiter->hops)
		unweave_box_suspend(&awaiter->box);
	unweave_box_await(&awaiter->box, &call->box);
}

/* Somebody awaits the outermost box while this one runs. */
static void await_here(struct call *call)
{
	struct picture after = now();
	struct call *late;

	if (after.count == FRAMES_MOST)
		return;
	while (call->awaiter)
		call = call->awaiter;
	late = new_call(after.count);
	add_frame(&after, &late->box.link);
	will_be(&after);
	await(late, call);
	is_now();
	call->awaiter = late;
}

/* The run ends, be it the box's own or that of another, where it went on. */
static void wait_here(struct call *call)
{
	call->box.link.state++;
	will_be(&outer);
	unweave_box_suspend(&call->box);
	is_now();
	waiting[waiting_count++] = call;
}

static bool hand_over(struct call *call)
{
	struct call *none = NULL;

	return __atomic_compare_exchange_n(&handed_over, &none, call, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* Long enough for another thread to take what was handed over, and to free it. */
static void linger(void)
{
	if (alone)
		return;
	for (volatile int i = 0; i < 4000; i++)
		;
}

/* What awaits it goes on here, in its run; or elsewhere, while this function is still returning. */
static void complete_here(struct call *call)
{
	struct picture nothing = {.task = now().task}, next;
	struct call *awaiter = call->awaiter;
	bool over = !awaiter || awaiter->hops;

	will_be(&nothing);
	if (over)
		will_be(&outer);
	unweave_box_complete(&call->box, UNWEAVE_OK);
	is_now();
	if (!over) {
		next = chain_of(nothing.task, awaiter);
		will_be(&next);
		unweave_box_continue(&awaiter->box, &call->box);
	} else if (awaiter && hand_over(awaiter)) {
		linger();
	} else if (awaiter) {
		run_call(awaiter);
	}
	forget(call);
}

static int call_go(struct unweave_link *link, void *context)
{
	struct call *call = (struct call *)link;
	uint32_t choice = roll(&calls_dice) % 8;

	(void)context;
	is_now();
	if (choice == 0 && depth < 3) {
		depth++;
		run_request(calls_dice);
		depth--;
	}
	if (choice == 1 || choice == 2)
		await_here(call);
	if (choice > 5 && waiting_count < WAITING_MOST)
		wait_here(call);
	else
		complete_here(call);
	return 0;
}

/* As if the innermost was called by the next, and so on, and they wait. */
static void run_calls(uint32_t dice)
{
	struct call *call = new_call(0), *inner = call;

	unweave_box_suspend(&call->box);
	for (uint32_t i = 1; i < dice / 16 % CALLS_MOST; i++) {
		inner->awaiter = new_call(i);
		await(inner->awaiter, inner);
		inner = inner->awaiter;
	}
	run_call(call);
}

static bool run_waiting(void)
{
	struct call *call = __atomic_exchange_n(&handed_over, NULL, __ATOMIC_ACQ_REL);

	if (!call && waiting_count)
		call = waiting[--waiting_count];
	if (call)
		run_call(call);
	return call != NULL;
}

/* The threads. */

static timer_t sample_thread(void)
{
	struct itimerspec often = {.it_interval = {.tv_nsec = PERIOD_NS},
				   .it_value = {.tv_nsec = PERIOD_NS}};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	timer_t timer;

	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &often, NULL))
		abort();
	return timer;
}

static void run_some(uint32_t *dice)
{
	switch (roll(dice) % 3) {
	case 0:
		run_request(*dice);
		break;
	case 1:
		if (!routines_run_waiting())
			routines_run(*dice);
		break;
	default:
		if (!run_waiting())
			run_calls(*dice);
		break;
	}
}

static void begin(uint32_t dice)
{
	stage_begin();
	calls_dice = dice;
}

static void end(void)
{
	while (run_waiting() || routines_run_waiting())
		;
	stage_end();
}

static void *work(void *data)
{
	uint32_t dice = (uint32_t)(uintptr_t)data * 7919;
	timer_t timer;

	begin(dice);
	timer = sample_thread();
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		run_some(&dice);
	timer_delete(timer);
	end();
	return NULL;
}

static void on_event(const struct unweave_event *event, void *data)
{
	(void)event, (void)data;
}

static void begin_session(enum unweave_detail detail)
{
	struct unweave_options options;

	unweave_options_init(&options);
	options.detail = detail;
	options.listener = on_event;
	CHECK_EQ(unweave_start(&options), 0);
	sample_counts = (struct sample_counts){0};
	/* The first hook may have been long ago, or never: the arena is there now. */
	unweave_task_complete(unweave_task_new(NULL, UNWEAVE_MODEL_CHAIN, 0, NULL), UNWEAVE_OK);
	if (!DEFERS_SIGNALS)
		stage_sample(true);
}

static void end_session(void)
{
	if (!DEFERS_SIGNALS)
		stage_sample(false);
	unweave_stop();
	printf("# %" PRIu64 " samples inside a task, %" PRIu64 " by the sampler, %" PRIu64
	       " amid a step, %" PRIu64 " wrong\n",
	       sample_counts.inside, sample_counts.sampled, sample_counts.amid,
	       sample_counts.wrong);
	CHECK_EQ(sample_counts.wrong, 0);
	CHECK(DEFERS_SIGNALS || sample_counts.sampled == sample_counts.inside);
	CHECK(sample_counts.inside >= ENOUGH_INSIDE);
	CHECK(sample_counts.amid >= ENOUGH_AMID);
}

static void sample_at(enum unweave_detail detail)
{
	pthread_t threads[THREADS];

	begin_session(detail);
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)))
			abort();
	for (int i = 0; i < 10 * SECONDS_MOST; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
		if (__atomic_load_n(&sample_counts.inside, __ATOMIC_RELAXED) >= ENOUGH_INSIDE)
			break;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	end_session();
}

/* A trap after each instruction, or none any more; only a processor of this kind can. */
#ifdef __x86_64__
#define CAN_STEP true
static void trap_each(bool on)
{
	if (on)
		__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq;"
				 "lea 128(%%rsp), %%rsp" ::
					 : "memory", "cc");
	else
		__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $-0x101, (%%rsp); popfq;"
				 "lea 128(%%rsp), %%rsp" ::
					 : "memory", "cc");
}
#else
#define CAN_STEP false
static void trap_each(bool on)
{
	(void)on;
}
#endif

static void step_at(enum unweave_detail detail)
{
	uint32_t dice = 1;

	alone = true;
	begin_session(detail);
	begin(dice);
	trap_each(true);
	for (int i = 0; i < STEPPED; i++)
		run_some(&dice);
	trap_each(false);
	end();
	end_session();
	alone = false;
}

static void a_handler_finds_the_chain_before_or_after_a_step_at_detail_samples(void)
{
	sample_at(UNWEAVE_DETAIL_SAMPLES);
}

static void a_handler_finds_the_chain_before_or_after_a_step_at_detail_full(void)
{
	sample_at(UNWEAVE_DETAIL_FULL);
}

static void after_each_instruction_the_chain_is_that_before_or_after_a_step(void)
{
	step_at(UNWEAVE_DETAIL_SAMPLES);
	step_at(UNWEAVE_DETAIL_FULL);
}

int main(void)
{
	sigaction(SIGTRAP, &(struct sigaction){.sa_handler = on_sample}, NULL);
	sigaction(SIGPROF, &(struct sigaction){.sa_handler = on_sample, .sa_flags = SA_RESTART},
		  NULL);
	RUN(a_handler_finds_the_chain_before_or_after_a_step_at_detail_samples);
	RUN(a_handler_finds_the_chain_before_or_after_a_step_at_detail_full);
	if (CAN_STEP && !DEFERS_SIGNALS)
		RUN(after_each_instruction_the_chain_is_that_before_or_after_a_step);
	return check_done();
}

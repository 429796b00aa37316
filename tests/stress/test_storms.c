/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ten thousand samples a second of every thread, by perf events or by asking, while
 * everything happens that a program may do: each is of the task that runs there,
 * and the program does not notice.
 */
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/check.h"
#include "drain/find.h"
#include "drain/recorder.h"
#include "sample/clocks.h"
#include "sample/take.h"
#include "storms.h"
#include "stress.h"

/* ThreadSanitizer takes longer for a signal than there is between two. */
#define PERIOD_NS (STRESS_TSAN ? 2000000u : 100000u)
#define SHORT_THREADS (STRESS_TSAN ? 96u : 1000u)
#define LIMIT_MS 60000u

static struct {
	struct storms_board *board;
	struct attachment attachment;
	struct recorder *recorder;
	struct take take;
	struct threads threads;
	bool perf, user_only;
	/* Samples. */
	uint64_t all, tasks, marked, taskless, wrong, lost, threads_seen;
	char why[160]; /* the first that was wrong was so */
} storm;

__attribute__((format(printf, 1, 2))) static void say_wrong(const char *format, ...)
{
	va_list arguments;

	if (storm.wrong++)
		return;
	va_start(arguments, format);
	vsnprintf(storm.why, sizeof(storm.why), format, arguments);
	va_end(arguments);
}

/* The number of the task that the stack says runs, from the innermost function that says so. */
static uint64_t find_mark(const struct taken *taken)
{
	uint64_t words[3];

	for (size_t at = 0; at + sizeof(words) <= taken->bytes; at += 8) {
		memcpy(words, taken->stack + at, sizeof(words));
		/* The first alone may be a register that was saved. */
		if (words[0] == STORMS_MARK && words[2] == ~words[1])
			return words[1];
	}
	return 0;
}

static void check_chain(const struct taken *taken, const struct take_run *run)
{
	uint64_t slot = run->addresses[0] >> 34 & 0xfff,
		 number = run->addresses[0] >> 4 & 0x3fffffff;
	uint64_t mark = find_mark(taken);
	uint32_t level = (uint32_t)run->states[0];

	for (uint32_t i = 0; i < run->count; i++, level++)
		if (run->addresses[i] != STORMS_ADDRESS(slot, number, level) ||
		    run->states[i] != (int32_t)level)
			return say_wrong("frame %u of task %" PRIx64 " is of another", i,
					 run->task);
	if (level != STORMS_LINKS)
		say_wrong("task %" PRIx64 " has no root", run->task);
	else if (slot >= STORMS_SLOTS || atomic_load(&storm.board->all[slot].tid) != taken->tid)
		say_wrong("task %" PRIx64 " runs on another thread", run->task);
	else if (atomic_load(&storm.board->all[slot].tasks[number % STORMS_TASKS]) != run->task)
		say_wrong("task %" PRIx64 " is another", run->task);
	/* Where signals are put off, the stack is that of another moment. */
	else if (mark && mark != number && !STRESS_TSAN)
		say_wrong("%" PRIu64 " runs, and %" PRIu64 " is said to", mark, number);
	storm.marked += mark != 0;
}

static void check_sample(const struct taken *taken)
{
	storm.all++;
	if (taken->tid == atomic_load(&storm.board->taskless)) {
		storm.taskless++;
		if (taken->run_count)
			say_wrong("a thread without tasks has one");
	}
	if (taken->run_count > 1)
		return say_wrong("%u runs inside of each other", taken->run_count);
	/* Between two functions a chain is not known. */
	if (taken->run_count && taken->runs[0].count) {
		storm.tasks++;
		check_chain(taken, &taken->runs[0]);
	}
}

static bool begin(pid_t pid)
{
	struct recorder_options options = {.detail = UNWEAVE_DETAIL_SAMPLES};
	struct arena_sampler *sampler;
	struct clocks_perf perf;
	struct diag diag = {.text = "out of memory"};

	if (find_pid(&storm.attachment, (uint32_t)pid, &diag) < 0 ||
	    attach_lock(&storm.attachment, &diag) < 0 ||
	    recorder_new(&storm.recorder, &storm.attachment, &options, &diag) < 0 ||
	    attach_reserve_ring(&storm.attachment) < 0) {
		printf("# %s\n", diag.text);
		return false;
	}
	sampler = &storm.attachment.control->sampler;
	storm.take.control = storm.attachment.control;
	take_begin(&storm.take);
	threads_init(&storm.threads, pid, (int)atomic_load(&sampler->signal));
	perf = clocks_try_perf(pid, PERIOD_NS);
	storm.perf = perf.allowed;
	storm.user_only = perf.user_only;
	atomic_store(&sampler->on, 1);
	return true;
}

static void have_sampled(struct thread *thread)
{
	if (!storm.perf) {
		clocks_order(&storm.threads, thread->tid, RING_ORDER_SAMPLE);
	} else if (!thread->armed) {
		clocks_arm_perf(thread, storm.threads.signal, PERIOD_NS, storm.user_only);
		thread->armed = true;
		storm.threads_seen++;
	}
}

static void pass(void)
{
	struct taken taken;

	if (threads_scan(&storm.threads) == 0)
		for (uint32_t i = 0; i < storm.threads.count; i++)
			have_sampled(&storm.threads.all[i]);
	while (take_next(&storm.take, &taken) == TAKE_SAMPLE)
		check_sample(&taken);
	recorder_pass(storm.recorder);
}

static bool have_come_and_gone(uint32_t threads)
{
	/* Nor does AddressSanitizer leave marks where stacks are. */
	uint64_t right = STRESS_SANITIZED ? storm.tasks : storm.marked;

	return atomic_load(&storm.board->threads) >= threads &&
	       right >= (STRESS_SANITIZED ? 50 : 500) && storm.taskless >= 50;
}

static void end(pid_t pid, int *ret_status)
{
	bool ended = false;

	atomic_store(&storm.board->stop, 1);
	for (uint64_t begun = stress_now_ns();
	     !ended && stress_now_ns() - begun < UINT64_C(20000000000);) {
		pass();
		ended = waitpid(pid, ret_status, WNOHANG) == pid;
	}
	if (!ended) {
		kill(pid, SIGKILL);
		waitpid(pid, ret_status, 0);
	}
	pass();
	storm.lost = atomic_load(&storm.take.control->sampler.lost);
	threads_fini(&storm.threads);
	recorder_free(storm.recorder);
	attach_fini(&storm.attachment);
}

static void every_sample_is_of_the_task_that_runs_there(void)
{
	uint32_t threads = stress_size(SHORT_THREADS, 1600) / 8 * 8;
	uint64_t begun = stress_now_ns();
	int status;
	pid_t pid;

	storm.board = storms_board_new();
	pid = fork();
	if (pid == 0)
		storms_run(storm.board, threads);
	while (!atomic_load(&storm.board->ready))
		stress_sleep_us(1000);
	CHECK(begin(pid));
	while (!have_come_and_gone(threads) &&
	       stress_now_ns() - begun < LIMIT_MS * UINT64_C(1000000))
		pass();
	CHECK(have_come_and_gone(threads));
	end(pid, &status);
	printf("# %s: %" PRIu64 " samples, %" PRIu64 " of tasks, %" PRIu64
	       " with its mark, %" PRIu64 " without tasks, %" PRIu64 " lost; %" PRIu64
	       " threads, %u children, %u modules, "
	       "%u jumps\n",
	       storm.perf ? "perf" : "asked", storm.all, storm.tasks, storm.marked, storm.taskless,
	       storm.lost, storm.threads_seen, atomic_load(&storm.board->children),
	       atomic_load(&storm.board->modules), atomic_load(&storm.board->jumps));
	if (storm.wrong)
		printf("# %" PRIu64 " wrong: %s\n", storm.wrong, storm.why);
	CHECK_EQ(storm.wrong, 0);
	CHECK_EQ(storm.take.damaged, 0);
	CHECK_EQ(atomic_load(&storm.board->unwell), 0);
	CHECK(atomic_load(&storm.board->children) > 0 && atomic_load(&storm.board->jumps) > 0);
	/* It went on as another program, which no signal has ended. */
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	/* It takes its own lock in free(), and again in a signal that comes meanwhile. */
	if (STRESS_TSAN) {
		puts("1..0 # SKIP ThreadSanitizer waits for itself when samples come by the "
		     "thousand");
		return 0;
	}
	stress_begin(180);
	RUN(every_sample_is_of_the_task_that_runs_there);
	return check_done();
}

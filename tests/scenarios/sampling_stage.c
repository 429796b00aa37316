/* SPDX-License-Identifier: Apache-2.0 */
#include "sampling_stage.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"
#include "sample/take.h"

/* What is so now, and up to two things that the step under way may make of it. */
struct stage {
	volatile struct picture pictures[3];
	volatile uint32_t valid; /* a bit for each */
	uint32_t now, last;
	uint64_t amid; /* samples that hit a step between its beginning and its end */
	uint64_t wrong;
	/* The first that was wrong, and what would have been right. */
	struct picture found, before[3];
	uint32_t valid_before;
};

static __thread struct stage stage;
struct sample_counts sample_counts;

void stage_begin(void)
{
	memset(&stage, 0, sizeof(stage));
	stage.valid = 1;
}

/* What the sampler's handler copied: one that asks takes it before the next one may. */
static struct {
	bool locked;
	struct take take;
	struct taken taken;
} ring;

void stage_sample(bool on)
{
	struct arena_control *control = emit_process.control;

	ring.take.control = control;
	if (on)
		take_begin(&ring.take);
	atomic_store(&control->sampler.on, on);
}

/* False if there is no sample. */
static bool ask_sampler(struct picture *ret)
{
	union sigval order = {.sival_ptr = (void *)(uintptr_t)RING_ORDER_SAMPLE};
	const struct take_run *run = ring.taken.runs;

	if (pthread_sigqueue(pthread_self(), (int)ring.take.control->sampler.signal, order) ||
	    take_next(&ring.take, &ring.taken) != TAKE_SAMPLE)
		return false;
	memset(ret, 0, sizeof(*ret));
	if (!ring.taken.run_count)
		return true;
	ret->task = run->task;
	ret->count = run->count;
	for (uint32_t i = 0; i < run->count && i < FRAMES_MOST; i++) {
		ret->addresses[i] = run->addresses[i];
		ret->states[i] = run->states[i];
	}
	return true;
}

static bool find_by_sampler(struct picture *ret)
{
	bool found;

	if (!ring.take.control)
		return false;
	while (__atomic_exchange_n(&ring.locked, true, __ATOMIC_ACQUIRE))
		;
	found = ask_sampler(ret);
	__atomic_store_n(&ring.locked, false, __ATOMIC_RELEASE);
	return found;
}

static bool is_as(volatile const struct picture *picture, const struct picture *found)
{
	if (picture->task != found->task || picture->count != found->count)
		return false;
	for (uint32_t i = 0; i < found->count && i < FRAMES_MOST; i++)
		if (picture->addresses[i] != found->addresses[i] ||
		    picture->states[i] != found->states[i])
			return false;
	return true;
}

void on_sample(int signal)
{
	struct picture found, copied;
	bool right = false, sampled;
	int error = errno;

	(void)signal;
	found.count = unweave_here(&found.task, found.addresses, found.states, FRAMES_MOST);
	sampled = find_by_sampler(&copied);
	for (uint32_t i = 0; i < 3; i++)
		right = right || (stage.valid >> i & 1 && is_as(&stage.pictures[i], &found) &&
				  (!sampled || is_as(&stage.pictures[i], &copied)));
	right = right && errno == error;
	stage.amid += (stage.valid & (stage.valid - 1)) != 0;
	__atomic_fetch_add(&sample_counts.inside, found.task != 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sample_counts.sampled, sampled && copied.task, __ATOMIC_RELAXED);
	if (right || stage.wrong++)
		return;
	stage.found = is_as(&found, &copied) || !sampled ? found : copied;
	stage.valid_before = stage.valid;
	for (uint32_t i = 0; i < 3; i++)
		stage.before[i] = stage.pictures[i];
}

static void fence(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void will_be(const struct picture *next)
{
	stage.last = (stage.last + 1) % 3;
	if (stage.last == stage.now)
		abort();
	fence();
	stage.pictures[stage.last] = *next;
	fence();
	stage.valid |= UINT32_C(1) << stage.last;
	fence();
}

void is_now(void)
{
	fence();
	stage.now = stage.last;
	stage.valid = UINT32_C(1) << stage.now;
	fence();
}

struct picture now(void)
{
	return stage.pictures[stage.now];
}

void add_frame(struct picture *picture, const struct unweave_link *link)
{
	if (picture->count == FRAMES_MOST)
		abort();
	picture->addresses[picture->count] = (uintptr_t)link->code;
	picture->states[picture->count++] = link->state;
}

static void show_wrong(void)
{
	static const char *const names[] = {"found", "slot 0", "slot 1", "slot 2"};

	for (uint32_t i = 0; i < 4; i++) {
		const struct picture *picture = i ? &stage.before[i - 1] : &stage.found;

		printf("# %s%s: task %" PRIx64 ", %" PRIu32 " frames:", names[i],
		       i && stage.valid_before >> (i - 1) & 1 ? ", valid" : "", picture->task,
		       picture->count);
		for (uint32_t j = 0; j < picture->count && j < FRAMES_MOST; j++)
			printf(" %" PRIx64 ":%" PRId32, picture->addresses[j], picture->states[j]);
		putchar('\n');
	}
}

void stage_end(void)
{
	__atomic_fetch_add(&sample_counts.amid, stage.amid, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sample_counts.wrong, stage.wrong, __ATOMIC_RELAXED);
	if (stage.wrong)
		show_wrong();
}

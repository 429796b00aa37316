/* SPDX-License-Identifier: Apache-2.0 */
#include "crowd.h"

#include <errno.h>
#include <stdlib.h>

#include "bench.h"
#include "unweave.h"

static void work(uint32_t rounds)
{
	uint64_t a = rounds, b = 1, c = 2, d = 3;

	for (uint32_t i = 0; i < rounds; i++) {
		a = a * UINT64_C(0x9e3779b97f4a7c15) + b;
		b = b * UINT64_C(0xbf58476d1ce4e5b9) + c;
		c = c * UINT64_C(0x94d049bb133111eb) + d;
		d ^= a >> 7;
	}
	bench_use(a ^ b ^ c ^ d);
}

/* Three of four kinds of the crowd say what they wait for. */
static uint64_t new_waiting(uint32_t i)
{
	uint64_t task;

	switch (i % 4) {
	case 0:
		task = unweave_task_new(UNWEAVE_SITE("connection"), UNWEAVE_MODEL_CHAIN, 0, NULL);
		unweave_task_waits(task, UNWEAVE_WAIT_IO, i);
		break;
	case 1:
		task = unweave_task_new(UNWEAVE_SITE("session"), UNWEAVE_MODEL_CHAIN, 0, NULL);
		unweave_task_waits(task, UNWEAVE_WAIT_TIMER, i);
		break;
	case 2:
		task = unweave_task_new(UNWEAVE_SITE("subscriber"), UNWEAVE_MODEL_CHAIN, 0, NULL);
		unweave_task_waits(task, UNWEAVE_WAIT_CHANNEL, i % 1000);
		break;
	default:
		task = unweave_task_new(UNWEAVE_SITE("worker"), UNWEAVE_MODEL_CHAIN, 0, NULL);
		break;
	}
	unweave_task_resume(task);
	unweave_task_suspend(task);
	return task;
}

int crowd_init(struct crowd *crowd, uint32_t count, struct rng *rng)
{
	*crowd = (struct crowd){.count = count, .rng = *rng};
	crowd->tasks = calloc(count, sizeof(*crowd->tasks));
	if (!crowd->tasks)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		crowd->tasks[i] = new_waiting(i);
	return 0;
}

void crowd_fini(struct crowd *crowd)
{
	free(crowd->tasks);
}

void crowd_calibrate(struct crowd *crowd, double ns)
{
	double best = 1e9;

	for (int i = 0; i < 20; i++) {
		uint64_t start = bench_cpu_ns();
		double each;

		work(1000000);
		each = (double)(bench_cpu_ns() - start) / 1e6;
		best = each < best ? each : best;
	}
	crowd->rounds = (uint32_t)(ns / 2 / best);
}

static void end_request(const struct crowd *crowd, uint64_t task)
{
	unweave_task_wake(task, UNWEAVE_SOURCE_IO);
	unweave_task_resume(task);
	work(crowd->rounds);
	unweave_task_complete(task, UNWEAVE_OK);
}

static uint64_t begin_request(const struct crowd *crowd)
{
	uint64_t task = unweave_task_new(UNWEAVE_SITE("request"), UNWEAVE_MODEL_CHAIN, 0, NULL);

	unweave_task_resume(task);
	work(crowd->rounds);
	unweave_task_waits(task, UNWEAVE_WAIT_IO, 7);
	unweave_task_suspend(task);
	return task;
}

void crowd_step(struct crowd *crowd)
{
	uint64_t *place = &crowd->flying[crowd->steps % CROWD_FLYING];

	if (*place)
		end_request(crowd, *place);
	*place = begin_request(crowd);
	if (crowd->steps++ % 10 == 0) {
		uint64_t task = crowd->tasks[rng_below(&crowd->rng, crowd->count)];

		unweave_task_wake(task, UNWEAVE_SOURCE_TIMER);
		unweave_task_resume(task);
		unweave_task_suspend(task);
	}
}

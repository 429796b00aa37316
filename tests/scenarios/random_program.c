/* SPDX-License-Identifier: Apache-2.0 */
#include "random.h"

#include <inttypes.h>
#include <stdio.h>

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* How often each kind comes. */
static const uint8_t weights[OP_KINDS] = {
	[OP_START_CHAIN] = 8, [OP_START_BOX] = 4, [OP_START_RAW] = 3,    [OP_RUN] = 28,
	[OP_PUSH] = 10,       [OP_CALL] = 12,     [OP_AWAIT] = 12,       [OP_WAIT] = 12,
	[OP_RETURN] = 14,     [OP_FAIL] = 5,      [OP_FAIL_WAITING] = 4, [OP_WAKE] = 5,
	[OP_NAME] = 2,        [OP_IDLE] = 2,      [OP_APPEND] = 2,       [OP_MARK] = 4,
};

static enum op_kind draw_kind(uint64_t *state)
{
	unsigned total = 0, at;

	for (unsigned i = 0; i < OP_KINDS; i++)
		total += weights[i];
	at = (unsigned)(draw(state) % total);
	for (unsigned i = 0; i < OP_KINDS; i++) {
		if (at < weights[i])
			return (enum op_kind)i;
		at -= weights[i];
	}
	return OP_RUN;
}

void program_make(struct program *ret, uint64_t seed)
{
	uint64_t state = seed;

	ret->seed = seed;
	ret->threads = 1 + (uint32_t)(draw(&state) % PROGRAM_THREADS_MAX);
	/* Short ones too: they end in other places. */
	ret->count = draw(&state) % 2 ? PROGRAM_OPS_MAX : 100;
	ret->count = 1 + (uint32_t)(draw(&state) % ret->count);
	for (uint32_t i = 0; i < ret->count; i++) {
		uint64_t numbers = draw(&state);

		ret->ops[i] = (struct op){
			.kind = draw_kind(&state),
			.thread = (uint32_t)(draw(&state) % PROGRAM_THREADS_MAX),
			.a = (uint32_t)numbers & 0xffff,
			.b = (uint32_t)(numbers >> 16) & 0xffff,
			.c = (uint32_t)(numbers >> 32) & 0xffff,
		};
	}
}

static const char *const names[OP_KINDS] = {
	[OP_START_CHAIN] = "start a chain",
	[OP_START_BOX] = "start a box",
	[OP_START_RAW] = "start a raw task",
	[OP_RUN] = "run what waits",
	[OP_PUSH] = "push",
	[OP_CALL] = "call a box",
	[OP_AWAIT] = "await a box",
	[OP_WAIT] = "wait",
	[OP_RETURN] = "return",
	[OP_FAIL] = "fail",
	[OP_FAIL_WAITING] = "fail what waits",
	[OP_WAKE] = "wake",
	[OP_NAME] = "name",
	[OP_IDLE] = "idle",
	[OP_APPEND] = "append",
	[OP_MARK] = "mark a frame",
};

void program_print(const struct program *program)
{
	printf("# seed %" PRIu64 ", %" PRIu32 " threads, %" PRIu32 " operations:\n", program->seed,
	       program->threads, program->count);
	for (uint32_t i = 0; i < program->count; i++) {
		const struct op *op = &program->ops[i];

		printf("#   %4" PRIu32 "  thread %" PRIu32 ": %-16s a %-5" PRIu32 " b %-5" PRIu32
		       " c %" PRIu32 "\n",
		       i, op->thread % program->threads, names[op->kind], op->a, op->b, op->c);
	}
}

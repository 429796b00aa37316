/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/unwind.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"
#include "subjects/deep.h"
#include "symbol/maps.h"

#define FRAMES_MOST 512u
#define STACK_MOST (64u * 1024)
#define SHOTS_MOST 20000u
#define POOL_BYTES (256u * 1024 * 1024)

/* A thread at a moment: what the unwinder is given, and what the C library makes of it. */
struct shot {
	struct unwind_input input;
	int count; /* of frames, from the one that was interrupted on */
	void *frames[128];
};

static struct shot shots[SHOTS_MOST];
static volatile unsigned shot_count;
static uint8_t *pool; /* copies of stacks */
static size_t pool_used;
static __thread uintptr_t stack_end;
static volatile bool shots_on;

static struct symbols *symbols;
static struct unwinder *unwinder;

/* Whatever the sanitizers think of those bytes. */
static void copy_stack(uint8_t *to, uintptr_t from, size_t bytes)
{
#ifdef __x86_64__
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
	for (size_t i = 0; i < bytes; i++)
		to[i] = ((const volatile uint8_t *)from)[i];
#endif
}

static void take_registers(struct unwind_input *input, const ucontext_t *context)
{
#ifdef __x86_64__
	static const int order[17] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				      REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				      REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	for (unsigned i = 0; i < 17; i++)
		input->registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
	input->sp = input->registers[7];
#else
	for (unsigned i = 0; i < 31; i++)
		input->registers[i] = context->uc_mcontext.regs[i];
	input->registers[31] = input->sp = context->uc_mcontext.sp;
	input->registers[32] = context->uc_mcontext.pc;
#endif
}

static uint64_t pc_of(const struct unwind_input *input)
{
#ifdef __x86_64__
	return input->registers[16];
#else
	return input->registers[32];
#endif
}

static void take_frames(struct shot *shot)
{
	void *frames[FRAMES_MOST];
	int all = backtrace(frames, FRAMES_MOST), from = 0;

	while (from < all && (uintptr_t)frames[from] != pc_of(&shot->input))
		from++;
	shot->count = all - from;
	for (int i = 0; i < shot->count && i < 128; i++)
		shot->frames[i] = frames[from + i];
}

static void shoot(int number, siginfo_t *info, void *context)
{
	struct shot *shot = &shots[shot_count];
	size_t bytes;

	(void)number;
	(void)info;
#ifdef __x86_64__
	if (!shots_on)
		((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100ll;
#endif
	if (!shots_on || shot_count == SHOTS_MOST)
		return;
	take_registers(&shot->input, context);
	bytes = stack_end - shot->input.sp;
	if (bytes > STACK_MOST)
		bytes = STACK_MOST;
	if (pool_used + bytes > POOL_BYTES)
		return;
	copy_stack(pool + pool_used, shot->input.sp, bytes);
	shot->input.stack = pool + pool_used;
	shot->input.bytes = bytes;
	pool_used += bytes;
	take_frames(shot);
	shot_count++;
}

static void interrupt(void)
{
#ifdef __x86_64__
	__asm__ volatile("int3");
#else
	raise(SIGTRAP);
#endif
}

/* Every instruction from here on is a shot, while they are on. False: not on this machine. */
static bool step_begin(void)
{
	shots_on = true;
#ifdef __x86_64__
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
	return true;
#else
	return false;
#endif
}

static void find_stack_end(void)
{
	pthread_attr_t attributes;
	void *start;
	size_t bytes;

	CHECK_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
	CHECK_EQ(pthread_attr_getstack(&attributes, &start, &bytes), 0);
	stack_end = (uintptr_t)start + bytes;
	pthread_attr_destroy(&attributes);
}

static void forget_shots(void)
{
	shot_count = 0;
	pool_used = 0;
}

static void tell_frames(const struct shot *shot, const uint64_t *addresses, uint32_t count)
{
	for (uint32_t i = 0; check_failed < 5 && (i < count || (int)i < shot->count); i++) {
		const struct symbol *symbol =
			i < count ? symbols_find(symbols, addresses[i]) : NULL;

		printf("#   %2u %12" PRIx64 " %12" PRIxPTR " %s+%" PRIx64 " %s\n", i,
		       i < count ? addresses[i] : 0,
		       (int)i < shot->count ? (uintptr_t)shot->frames[i] : 0,
		       symbol && symbol->module ? symbol->module : "-", symbol ? symbol->offset : 0,
		       symbol && symbol->frames[0].function ? symbol->frames[0].function : "-");
	}
}

/* The C library's frames are return addresses, but for those that a signal interrupted. */
static bool is_same_frame(uint64_t ours, const void *theirs)
{
	return ours == (uintptr_t)theirs || ours + 1 == (uintptr_t)theirs;
}

static void compare_shot(const struct shot *shot)
{
	uint64_t addresses[FRAMES_MOST], sps[FRAMES_MOST];
	struct unwind_result result = unwind(unwinder, &shot->input, addresses, sps, FRAMES_MOST);
	bool same = (int)result.count == shot->count && shot->count > 0 &&
		    addresses[0] == pc_of(&shot->input);

	for (int i = 0; same && i < shot->count && i < 128; i++)
		same = is_same_frame(addresses[i], shot->frames[i]);
	for (uint32_t i = 1; same && i < result.count; i++)
		same = sps[i] > sps[i - 1];
	CHECK(same);
	CHECK(result.complete);
	CHECK_EQ(result.guessed, 0);
	if (!same)
		tell_frames(shot, addresses, result.count);
}

static void from_the_depth_of_a_recursion(void)
{
	forget_shots();
	shots_on = true;
	down_plain(200, interrupt);
	down_quick(200, interrupt);
	shots_on = false;
	CHECK_EQ(shot_count, 2);
	for (unsigned i = 0; i < shot_count; i++) {
		CHECK(shots[i].count > 200);
		compare_shot(&shots[i]);
	}
}

static void from_every_instruction(void)
{
	int first = work_plain(), second = work_quick();

	forget_shots();
	if (!step_begin())
		return;
	first -= work_plain();
	second -= work_quick();
	shots_on = false; /* the next one switches it off */
	CHECK_EQ(first | second, 0);
	CHECK(shot_count > 1000 && shot_count < SHOTS_MOST);
	for (unsigned i = 0; i < shot_count; i++)
		compare_shot(&shots[i]);
	printf("# %u instructions\n", shot_count);
}

/* ThreadSanitizer calls handlers of its own accord, later, and with signals blocked. */
static bool defers_signals(void)
{
#if defined(__SANITIZE_THREAD__)
	return true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
	return true;
#endif
#endif
	return false;
}

static void interrupt_again(int number)
{
	(void)number;
	down_quick(3, interrupt);
}

static void through_the_frame_of_a_signal(void)
{
	signal(SIGUSR1, interrupt_again);
	forget_shots();
	shots_on = true;
	raise(SIGUSR1);
	shots_on = false;
	CHECK_EQ(shot_count, 1);
	compare_shot(&shots[0]);
}

static void *interrupt_thread(void *data)
{
	find_stack_end();
	down_quick(5, interrupt);
	return data;
}

static void to_the_first_function_of_a_thread(void)
{
	pthread_t thread;

	forget_shots();
	shots_on = true;
	CHECK_EQ(pthread_create(&thread, NULL, interrupt_thread, NULL), 0);
	pthread_join(thread, NULL);
	shots_on = false;
	CHECK_EQ(shot_count, 1);
	compare_shot(&shots[0]);
}

static void by_frame_pointers_where_there_is_nothing_else(void)
{
	uint64_t addresses[FRAMES_MOST];
	struct unwind_result result;
	unsigned downs = 0;

	forget_shots();
	shots_on = true;
	down_chained(20, interrupt);
	shots_on = false;
	CHECK_EQ(shot_count, 1);
	result = unwind(unwinder, &shots[0].input, addresses, NULL, FRAMES_MOST);
	for (uint32_t i = 0; i < result.count; i++) {
		const char *name = symbols_find(symbols, addresses[i])->frames[0].function;

		downs += name && strcmp(name, "down_chained") == 0;
	}
	CHECK_EQ(downs, 21);
	CHECK_EQ(result.guessed, 21);
}

static void what_was_cut_gives_the_beginning(void)
{
	uint64_t whole[FRAMES_MOST], part[FRAMES_MOST];
	struct unwind_result all, some;

	forget_shots();
	shots_on = true;
	down_quick(50, interrupt);
	shots_on = false;
	CHECK_EQ(shot_count, 1);
	all = unwind(unwinder, &shots[0].input, whole, NULL, FRAMES_MOST);
	for (size_t bytes = 0; bytes < 4096 && bytes < shots[0].input.bytes; bytes += 4) {
		struct unwind_input input = shots[0].input;
		uint8_t *copy = malloc(bytes ? bytes : 1);

		memcpy(copy, input.stack, bytes);
		input.stack = copy;
		input.bytes = bytes;
		some = unwind(unwinder, &input, part, NULL, FRAMES_MOST);
		CHECK(some.count >= 1 && some.count <= all.count);
		CHECK(memcmp(part, whole, some.count * sizeof(*part)) == 0);
		CHECK(!some.complete || some.count == all.count);
		free(copy);
	}
	for (uint32_t most = 0; most < all.count; most++) {
		some = unwind(unwinder, &shots[0].input, part, NULL, most);
		CHECK_EQ(some.count, most);
	}
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Words that lead somewhere: into code, into the stack, or nowhere. */
static uint64_t hostile_word(uint64_t *state, const struct unwind_input *input)
{
	uint64_t random = next_random(state);

	switch (random >> 60) {
	case 0:
	case 1:
	case 2:
	case 3:
		return (uintptr_t)work_quick + (random & 0x3ff);
	case 4:
	case 5:
	case 6:
	case 7:
		return input->sp + (random & 0xff8);
	case 8:
		return (uintptr_t)backtrace + (random & 0xffff);
	case 9:
		return random & 0xffff;
	default:
		return random;
	}
}

static void garbage_ends_soon(void)
{
	static uint8_t stack[4096];
	uint64_t state = 88172645463325252u, addresses[64], sps[64];
	struct unwind_input input;
	uint32_t longest = 0;

	for (unsigned round = 0; round < 20000; round++) {
		struct unwind_result result;
		uint8_t *copy = malloc(sizeof(stack));

		input.sp = round & 1 ? 0x7ffc12345000 : UINT64_MAX - 2048;
		for (size_t i = 0; i < sizeof(stack); i += 8) {
			uint64_t word = hostile_word(&state, &input);

			memcpy(copy + i, &word, sizeof(word));
		}
		for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
			input.registers[i] = hostile_word(&state, &input);
		input.stack = copy;
		input.bytes = next_random(&state) % sizeof(stack);
		result = unwind(unwinder, &input, addresses, sps, 64);
		CHECK(result.count >= 1 && result.count <= 64 && result.guessed <= result.count);
		longest = result.count > longest ? result.count : longest;
		free(copy);
	}
	CHECK(longest > 3);
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Unwinds all shots; returns what a frame took, in ns. */
static double time_shots(struct unwinder *with)
{
	uint64_t addresses[FRAMES_MOST], frames = 0;
	double start = now_ns();

	for (unsigned i = 0; i < shot_count; i++)
		frames += unwind(with, &shots[i].input, addresses, NULL, FRAMES_MOST).count;
	return (now_ns() - start) / (double)frames;
}

static void rules_are_kept(void)
{
	struct unwinder *fresh = NULL;
	double first, best = 1e9;

	CHECK_EQ(unwinder_new(&fresh, symbols), 0);
	first = time_shots(fresh);
	for (unsigned round = 0; round < 20; round++) {
		double next = time_shots(fresh);

		best = next < best ? next : best;
	}
	printf("# %.0f ns a frame at first, %.0f ns later\n", first, best);
	CHECK(best < first);
	unwinder_free(fresh);
}

static int add_module(void *data, const struct symbol_module *module)
{
	return symbols_add_module(data, module);
}

static void set_up(void)
{
	struct sigaction action = {.sa_sigaction = shoot, .sa_flags = SA_SIGINFO};
	struct symbols_options options = {.pid = (uint32_t)getpid(), .cache = ""};
	void *frames[4];

	/* The first call loads what it needs. */
	backtrace(frames, 4);
	find_stack_end();
	pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	sigaction(SIGTRAP, &action, NULL);
	CHECK_EQ(symbols_new(&symbols, &options), 0);
	CHECK_EQ(maps_each(options.pid, add_module, symbols), 0);
	CHECK_EQ(unwinder_new(&unwinder, symbols), 0);
}

int main(void)
{
	set_up();
	RUN(from_the_depth_of_a_recursion);
	RUN(from_every_instruction);
	RUN(rules_are_kept);
	if (!defers_signals())
		RUN(through_the_frame_of_a_signal);
	RUN(to_the_first_function_of_a_thread);
	RUN(by_frame_pointers_where_there_is_nothing_else);
	RUN(what_was_cut_gives_the_beginning);
	RUN(garbage_ends_soon);
	unwinder_free(unwinder);
	symbols_free(symbols);
	return check_done();
}

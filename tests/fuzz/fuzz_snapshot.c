/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any words at all in the task table, the lines and the sites of an arena, and any
 * memory behind it: a snapshot must end, must not read outside of them, and must be
 * one that can be shown. Each task is in its tree once. The same arena is watched by its
 * table, with its warnings.
 *
 * The input is a list of places and words. The first byte says how the program is: alive,
 * dead, or in a core.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/tree.h"
#include "fuzz.h"
#include "snapshot/snapshot.h"
#include "unweave/link.h"
#include "watching.h"

#define SLOTS TABLE_BLOCK
#define TASKS 24u /* slots that words go to */
#define LINES 4u
#define TASKS_AT (ARENA_POOL_AT + ARENA_CHUNK_BYTES)
#define BYTES ((TASKS_AT + table_all_bytes(SLOTS) + 4095) & ~UINT64_C(4095))
#define MEMORY 4096u /* of the program that there is not: heads, links, dispatches */
#define MEMORY_AT UINT64_C(0x7e0000000000)
#define STEPS_MOST 600

enum step {
	STEP_TASK,
	STEP_LIVE,
	STEP_LINE,
	STEP_MEMORY,
	STEP_HEAD,
	STEP_SITE,
	STEP_CONTROL,
	STEPS
};

static char *arena;
static uint64_t memory[MEMORY / 8];
static FILE *nowhere;

static uint64_t task_id(uint32_t slot)
{
	return UINT64_C(1) << TABLE_GENERATION_SHIFT | (uint64_t)slot << 1;
}

/* A word that may mean something where it is put. */
static uint64_t next_word(struct input *input)
{
	uint8_t choice = next_byte(input);
	uint64_t word = 0;

	switch (choice % 6) {
	case 0:
		return choice / 6;
	case 1:
		return task_id(next_byte(input) % TASKS);
	case 2:
		return MEMORY_AT + next_byte(input) * 8u;
	case 3:
		return MEMORY_AT + next_byte(input) * 8u + 1;
	case 4:
		return UINT64_MAX - choice / 6;
	default:
		for (int i = 0; i < 8; i++)
			word |= (uint64_t)next_byte(input) << (8 * i);
		return word;
	}
}

static void set(void *start, size_t bytes, struct input *input)
{
	size_t place = (next_byte(input) | (size_t)next_byte(input) << 8) % (bytes / 8);
	uint64_t word = next_word(input);

	memcpy((char *)start + place * 8, &word, 8);
}

static struct arena_control *control(void)
{
	return (struct arena_control *)arena;
}

/* A task that waits in a chain, for another. */
static void live(struct input *input)
{
	uint32_t slot = 1 + next_byte(input) % (TASKS - 1);
	struct arena_task *task = (struct arena_task *)(arena + TASKS_AT) + slot;
	uint32_t head = next_byte(input) % (MEMORY - sizeof(struct unweave_head)) & ~7u;
	struct unweave_head *its = (struct unweave_head *)((char *)memory + head);

	task->id = task_id(slot);
	task->state = 1 + next_byte(input) % 3;
	task->parent = task_id(next_byte(input) % TASKS);
	task->head = MEMORY_AT + head;
	task->waits = UNWEAVE_WAIT_TASK;
	task->awaits = task_id(next_byte(input) % TASKS);
	task->site = next_byte(input) % 4;
	its->task = task->id;
	its->turn = 2;
	its->innermost = (struct unweave_link *)(uintptr_t)next_word(input);
}

static void add_site(struct input *input)
{
	struct arena_site *site =
		(struct arena_site *)(arena_names(control()) + 64 * (next_byte(input) % 4));

	site->id = next_byte(input) % 4;
	site->under = next_byte(input) % 4;
	site->flags = next_byte(input);
	site->code = next_word(input);
	site->place = next_word(input);
	memcpy(site + 1, "name\0kind\0f\0f.c\0", 16);
	site->bytes = 64;
}

static void take_step(struct input *input)
{
	switch (next_byte(input) % STEPS) {
	case STEP_TASK:
		set(arena + TASKS_AT, TASKS * sizeof(struct arena_task), input);
		break;
	case STEP_LIVE:
		live(input);
		break;
	case STEP_LINE:
		set(arena_lines(control()), LINES * sizeof(struct arena_line), input);
		break;
	case STEP_MEMORY:
		set(memory, sizeof(memory), input);
		break;
	case STEP_HEAD:
		set(memory, 512, input);
		break;
	case STEP_SITE:
		add_site(input);
		break;
	case STEP_CONTROL:
		set(&control()->config,
		    ARENA_CONTROL_BYTES - offsetof(struct arena_control, config), input);
		break;
	}
}

static bool read_memory(void *data, uint64_t address, void *to, size_t bytes)
{
	(void)data;
	if (address < MEMORY_AT || address - MEMORY_AT > MEMORY ||
	    bytes > MEMORY - (address - MEMORY_AT))
		return false;
	memcpy(to, (char *)memory + (address - MEMORY_AT), bytes);
	return true;
}

static void make_arena(void)
{
	if (!arena)
		arena = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	must(arena != MAP_FAILED);
	memset(arena, 0, ARENA_CONTROL_BYTES + LINES * sizeof(struct arena_line));
	memset(arena_names(control()), 0, 4096);
	memset(arena + TASKS_AT, 0, BYTES - TASKS_AT);
	memset(memory, 0, sizeof(memory));
	control()->layout = ARENA_LAYOUT;
	control()->bytes = BYTES;
	control()->pool_at = ARENA_POOL_AT;
	control()->lines = ARENA_LINES;
	control()->chunks_max = 1;
	control()->pid = (uint32_t)getpid();
	control()->clock = ARENA_CLOCK_RAW;
	control()->tasks_at = TASKS_AT;
	control()->task_names_at = TASKS_AT + table_bytes(SLOTS);
	control()->tasks_max = SLOTS;
	control()->tasks_ready = SLOTS;
	control()->config.hot.gate = 1 << 8 | ARENA_MODE_EVENTS;
	control()->magic = ARENA_MAGIC;
	for (uint32_t i = 0; i < LINES; i++) {
		arena_lines(control())[i].state = ARENA_LINE_LIVE;
		arena_lines(control())[i].revision = 1;
		arena_lines(control())[i].tid = i + 1;
	}
}

static int count_cycle(void *data, const uint32_t *tasks, uint32_t count)
{
	const struct snapshot *snapshot = data;

	must(count > 0 && count <= snapshot->count);
	for (uint32_t i = 0; i < count; i++)
		must(tasks[i] < snapshot->count);
	return 0;
}

static void check(struct snapshot *snapshot)
{
	struct tree_source source = {.pid = 1, .snapshot = *snapshot};
	struct tree tree = {.source = &source, .snapshot = snapshot, .chains = true};
	struct symbols_options options = {.no_files = true, .cache = ""};
	struct tree_choice choice = {0};

	for (uint32_t i = 0; i < snapshot->count; i++)
		must((uint64_t)snapshot->tasks[i].chain + snapshot->tasks[i].chain_count <=
		     snapshot->frame_count);
	must(snapshot_cycles(snapshot, count_cycle, snapshot) == 0);
	must(symbols_new(&tree.symbols, &options) == 0);
	must(tree_init(&tree, &choice) == 0);
	must(tree.row_count == snapshot->count);
	must(tree_text(&tree, nowhere) == 0);
	must(tree_json(&tree, nowhere) == 0);
	must(tree_folded(&tree, nowhere) == 0);
	tree_fini(&tree);
	symbols_free(tree.symbols);
}

/* Twice, and a step between: what has changed is told too. */
static void watch_table(struct attachment *attachment, struct input *input)
{
	struct watch *watch = NULL;
	struct watch_lint *lint = NULL;

	must(watch_new(&watch, attachment, WATCH_NO_EVENTS, NULL) == 0);
	must(watching_warnings(&lint, watch, NULL) == 0);
	for (int i = 0; i < 2; i++) {
		must(watch_refresh(watch) == 0);
		check_sums(watch);
		check_warnings(lint);
		take_step(input);
	}
	watch_lint_free(lint);
	watch_free(watch);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct input input = {bytes, bytes + length};
	struct attachment attachment;
	struct snapshot snapshot;
	uint8_t how = next_byte(&input);

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	make_arena();
	must(nowhere && attach_own(&attachment, control(), "", NULL) == 0);
	attachment.own = how & 1;
	attachment.copied = how & 2;
	if (how & 4)
		attachment.kept = (struct attach_kept){read_memory, NULL};
	for (int i = 0; i < STEPS_MOST && input.at < input.end; i++)
		take_step(&input);
	must(snapshot_take(&snapshot, &attachment) == 0);
	check(&snapshot);
	snapshot_fini(&snapshot);
	input.at = bytes;
	watch_table(&attachment, &input);
	return 0;
}

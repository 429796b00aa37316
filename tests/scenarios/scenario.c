/* SPDX-License-Identifier: Apache-2.0 */
#include "scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/blocks.h"
#include "trace/reader.h"

#define STREAMS_MAX 4096u
#define DUMP_MOST 400u

static char folder[64];
static char path[96];

static _Noreturn void die(const char *what, const char *why)
{
	printf("Bail out! %s: %s\n", what, why);
	exit(1);
}

void scenario_begin_with(uint64_t keywords, enum unweave_policy policy, size_t buffer_bytes)
{
	struct unweave_options options;
	int r;

	snprintf(folder, sizeof(folder), "/tmp/unweave-scenario-XXXXXX");
	if (!mkdtemp(folder))
		die("mkdtemp", folder);
	snprintf(path, sizeof(path), "%s/trace.unw", folder);
	unweave_options_init(&options);
	options.path = path;
	options.keywords = keywords;
	options.policy = policy;
	options.buffer_bytes = buffer_bytes;
	r = unweave_start(&options);
	if (r < 0)
		die("unweave_start", strerror(-r));
}

void scenario_begin(uint64_t keywords)
{
	scenario_begin_with(keywords, UNWEAVE_POLICY_DROP, 0);
}

static struct scene *add_scene(struct scenario *scenario)
{
	if ((scenario->count & (scenario->count - 1)) == 0) {
		size_t capacity = scenario->count ? 2 * scenario->count : 1;

		scenario->scenes =
			reallocarray(scenario->scenes, capacity, sizeof(*scenario->scenes));
		if (!scenario->scenes)
			die("scenario", "no memory");
	}
	return &scenario->scenes[scenario->count++];
}

static void add_event(struct scenario *scenario, const struct unweave_event *event)
{
	struct scene *scene = add_scene(scenario);
	struct unweave_frame *frames = NULL;
	uint32_t depth = event->stack ? event->stack->depth : 0;

	*scene = (struct scene){.event = *event, .text = strdup(event->text ? event->text : "")};
	if (depth)
		frames = calloc(depth, sizeof(*frames));
	for (const struct unweave_frame *frame = event->stack; frame; frame = frame->awaiter) {
		if (!frames || scene->frame_count == depth)
			die("scenario", "a stack has more frames than its depth");
		frames[scene->frame_count++] = *frame;
	}
	scene->frames = frames;
	if (event->kind == UNWEAVE_EVENT_LOST)
		scenario->lost += event->value;
}

/* Where frames are recorded, a RESUME says by itself that the innermost one goes on. */
static void add_first_frame(struct scenario *scenario, const struct unweave_event *resume)
{
	uint64_t keywords = scenario->keywords >> (resume->task & 1) * 32;
	struct unweave_event event = *resume;

	if (resume->kind != UNWEAVE_EVENT_RESUME || !(keywords & UNWEAVE_KEYWORD_FRAME_RESUME))
		return;
	event.kind = UNWEAVE_EVENT_FRAME_RESUME;
	event.stack = NULL;
	add_event(scenario, &event);
	scenario->implied++;
}

/* Those of the program: what its census has to tell stands under a number without one. */
static void add_threads(struct scenario *scenario, const struct reader *reader)
{
	uint32_t count = reader_thread_count(reader);

	scenario->threads = calloc(count + 1, sizeof(*scenario->threads));
	for (uint32_t i = 0; i < count; i++) {
		const struct reader_thread *thread = reader_thread_at(reader, i);

		if (thread->tid)
			scenario->threads[scenario->thread_count++] =
				(struct scene_thread){.thread = thread->thread,
						      .tid = thread->tid,
						      .ended = thread->ended};
	}
}

static void on_fault(void *data, const struct reader_fault *fault)
{
	struct scenario *scenario = data;

	printf("# offset %" PRIu64 ": %s\n", fault->offset, fault->what);
	scenario->faults++;
}

static void read_events(struct scenario *scenario)
{
	struct reader *reader = NULL;
	struct unweave_event event;
	struct diag diag = {.text = ""};
	int r = reader_open(&reader, path, on_fault, scenario, &diag);

	if (r < 0)
		die(path, diag.text);
	scenario->keywords = reader_summary(reader)->session.keywords;
	while ((r = reader_next(reader, &event, &diag)) == 0) {
		add_event(scenario, &event);
		add_first_frame(scenario, &event);
	}
	if (r < 0)
		die(path, diag.text);
	add_threads(scenario, reader);
	for (int i = 0; i <= UNWEAVE_LOSS_DAMAGE; i++)
		scenario->lost_outside += reader_lost_outside(reader, (enum unweave_loss)i);
	scenario->closed = reader_summary(reader)->closed;
	scenario->pid = reader_summary(reader)->session.pid;
	scenario->ticks_per_s = reader_summary(reader)->session.ticks_per_s;
	reader_free(reader);
}

static void read_blocks(struct scenario *scenario)
{
	uint64_t *next = calloc(STREAMS_MAX, sizeof(*next));
	struct faults faults = {0};
	struct blocks blocks;
	struct block block;
	uint64_t offset;
	int r = blocks_open(&blocks, path, &faults, NULL);

	if (r < 0 || !next)
		die(path, "no blocks");
	while (blocks_next(&blocks, &block, &offset, NULL) == 0) {
		uint32_t stream = block.thread * 2 + (block.flags & BLOCK_FLAG_ASIDE ? 1 : 0);

		scenario->blocks.of_kind[block.kind % 16]++;
		scenario->blocks.backwards += block.last < block.first;
		if (block.kind != BLOCK_EVENTS || stream >= STREAMS_MAX)
			continue;
		/* Numbers go on from one session to the next: the first says where it begins. */
		scenario->blocks.out_of_order += next[stream] && next[stream] != block.number;
		scenario->blocks.event_numbers += block.events;
		next[stream] = block.number + block.events;
	}
	blocks_fini(&blocks);
	free(next);
}

void scenario_peek(struct scenario *ret)
{
	*ret = (struct scenario){0};
	read_events(ret);
	read_blocks(ret);
}

void scenario_end(struct scenario *ret)
{
	unweave_stop();
	scenario_peek(ret);
	unlink(path);
	rmdir(folder);
}

void scenario_fini(struct scenario *scenario)
{
	for (size_t i = 0; i < scenario->count; i++) {
		free((void *)scenario->scenes[i].frames);
		free((void *)scenario->scenes[i].text);
	}
	free(scenario->scenes);
	free(scenario->threads);
	*scenario = (struct scenario){0};
}

static bool is_of(const struct scene *scene, uint64_t task)
{
	return !task || scene->event.task == task;
}

size_t scenario_count(const struct scenario *scenario, uint64_t task, enum unweave_event_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < scenario->count; i++)
		count +=
			is_of(&scenario->scenes[i], task) && scenario->scenes[i].event.kind == kind;
	return count;
}

const struct scene *scenario_nth(const struct scenario *scenario, uint64_t task,
				 enum unweave_event_kind kind, size_t n)
{
	static const struct scene nothing = {.text = ""};

	for (size_t i = 0; i < scenario->count; i++)
		if (is_of(&scenario->scenes[i], task) && scenario->scenes[i].event.kind == kind &&
		    n-- == 0)
			return &scenario->scenes[i];
	return &nothing;
}

size_t scenario_place(const struct scenario *scenario, const struct scene *scene)
{
	if (scene < scenario->scenes || scene >= scenario->scenes + scenario->count)
		return SIZE_MAX;
	return (size_t)(scene - scenario->scenes);
}

uint32_t scenario_kinds(const struct scenario *scenario, uint64_t task)
{
	uint32_t kinds = 0;

	for (size_t i = 0; i < scenario->count; i++)
		if (is_of(&scenario->scenes[i], task) &&
		    !(scenario->scenes[i].event.flags & UNWEAVE_EVENT_BEFORE))
			kinds |= UINT32_C(1) << scenario->scenes[i].event.kind;
	return kinds;
}

static const char *kind_name(unsigned kind)
{
	static const char *const names[] = {
		"none",         "CREATE",         "RESUME", "SUSPEND", "COMPLETE", "WAKE",
		"FRAME_RESUME", "FRAME_COMPLETE", "UNWIND", "APPEND",  "NAME",     "IDLE",
		"ANCHOR_RESET", "RESET",          "REPLAY", "LOST",    "AWAIT",    "TASK",
	};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

bool scenario_is_sequence(const struct scenario *scenario, uint64_t task, uint32_t kinds,
			  const enum unweave_event_kind *expected, size_t count)
{
	size_t at = 0;

	for (size_t i = 0; i < scenario->count; i++) {
		unsigned kind = scenario->scenes[i].event.kind;

		if (!is_of(&scenario->scenes[i], task) || !(kinds >> kind & 1))
			continue;
		if (at >= count || kind != expected[at]) {
			printf("# event %zu is %s, not %s\n", at, kind_name(kind),
			       at < count ? kind_name(expected[at]) : "the end");
			return false;
		}
		at++;
	}
	if (at < count)
		printf("# event %zu is not there: %s\n", at, kind_name(expected[at]));
	return at == count;
}

bool scenario_has_only(const struct scenario *scenario, uint32_t kinds)
{
	uint32_t leaks = scenario_kinds(scenario, 0) & ~(kinds | KINDS_ALWAYS);

	for (unsigned kind = 0; kind < 32; kind++)
		if (leaks >> kind & 1)
			printf("# %s was not asked for\n", kind_name(kind));
	return leaks == 0;
}

#define NEST_MOST 64u

static bool thread_nests(const struct scenario *scenario, uint32_t thread)
{
	uint64_t nest[NEST_MOST];
	uint32_t depth = 0;

	for (size_t i = 0; i < scenario->count; i++) {
		const struct unweave_event *event = &scenario->scenes[i].event;

		if (event->thread != thread || event->flags & UNWEAVE_EVENT_ASIDE)
			continue;
		if (event->kind == UNWEAVE_EVENT_RESET)
			depth = 0;
		if (event->kind == UNWEAVE_EVENT_RESUME || event->kind == UNWEAVE_EVENT_REPLAY)
			nest[depth++ % NEST_MOST] = event->task;
		if (event->kind != UNWEAVE_EVENT_SUSPEND && event->kind != UNWEAVE_EVENT_COMPLETE)
			continue;
		if (depth == 0 || nest[(depth - 1) % NEST_MOST] != event->task) {
			printf("# event %zu ends task %" PRIu64 ", which is not innermost\n", i,
			       event->task);
			return false;
		}
		depth--;
	}
	if (depth)
		printf("# thread %" PRIu32 " ends %" PRIu32 " deep\n", thread, depth);
	return depth == 0;
}

bool scenario_nests(const struct scenario *scenario)
{
	for (size_t i = 0; i < scenario->thread_count; i++)
		if (!thread_nests(scenario, scenario->threads[i].thread))
			return false;
	return true;
}

bool scenario_is_whole(const struct scenario *scenario)
{
	return scenario->closed && !scenario->faults && !scenario->lost && !scenario->lost_outside;
}

const struct scene_thread *scenario_thread(const struct scenario *scenario, uint32_t thread)
{
	static const struct scene_thread nobody;

	for (size_t i = 0; i < scenario->thread_count; i++)
		if (scenario->threads[i].thread == thread)
			return &scenario->threads[i];
	return &nobody;
}

uint64_t scene_omitted(const struct scene *scene)
{
	uint64_t omitted = 0;

	for (uint32_t i = 0; i < scene->frame_count; i++)
		if (scene->frames[i].kind == UNWEAVE_FRAME_OMITTED)
			omitted += scene->frames[i].address;
	return omitted;
}

uint64_t scene_depth(const struct scene *scene)
{
	uint64_t depth = scene_omitted(scene);

	for (uint32_t i = 0; i < scene->frame_count; i++)
		depth += scene->frames[i].kind == UNWEAVE_FRAME_CODE;
	return depth;
}

bool scene_stack_is(const struct scene *scene, const void *const *codes, size_t count)
{
	if (scene->frame_count != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (scene->frames[i].kind != UNWEAVE_FRAME_CODE ||
		    scene->frames[i].address != (uintptr_t)codes[i])
			return false;
	return true;
}

bool scene_states_are(const struct scene *scene, const int32_t *states, size_t count)
{
	if (scene->frame_count != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (scene->frames[i].state != states[i])
			return false;
	return true;
}

bool scene_same_stack(const struct scene *left, const struct scene *right)
{
	if (left->frame_count != right->frame_count)
		return false;
	for (uint32_t i = 0; i < left->frame_count; i++)
		if (left->frames[i].address != right->frames[i].address ||
		    left->frames[i].state != right->frames[i].state ||
		    left->frames[i].kind != right->frames[i].kind)
			return false;
	return true;
}

int64_t scenario_simulated_depth(const struct scenario *scenario, uint64_t task)
{
	int64_t depth = -1;
	bool begun = false;

	for (size_t i = 0; i < scenario->count; i++) {
		const struct scene *scene = &scenario->scenes[i];

		if (scene->event.task != task)
			continue;
		switch (scene->event.kind) {
		case UNWEAVE_EVENT_RESUME:
		case UNWEAVE_EVENT_REPLAY:
		case UNWEAVE_EVENT_SUSPEND:
		case UNWEAVE_EVENT_APPEND:
			depth = (int64_t)scene_depth(scene);
			begun = true;
			break;
		case UNWEAVE_EVENT_FRAME_COMPLETE:
			depth--;
			break;
		case UNWEAVE_EVENT_UNWIND:
			depth -= (int64_t)(scene->event.value >> 1);
			break;
		case UNWEAVE_EVENT_COMPLETE:
			return depth;
		}
		if (begun && depth < 0)
			return -1;
	}
	return depth;
}

static void dump_frames(const struct scene *scene)
{
	for (uint32_t i = 0; i < scene->frame_count && i < 12; i++) {
		const struct unweave_frame *frame = &scene->frames[i];

		if (frame->kind == UNWEAVE_FRAME_OMITTED)
			printf(" (%" PRIu64 " left out)", frame->address);
		else if (frame->state)
			printf(" %" PRIx64 ":%" PRId32, frame->address, frame->state);
		else
			printf(" %" PRIx64, frame->address);
	}
	if (scene->frame_count > 12)
		printf(" … %" PRIu32 " in all", scene->frame_count);
}

void scenario_dump(const struct scenario *scenario)
{
	uint64_t start = scenario->count ? scenario->scenes[0].event.time : 0;

	printf("# %zu events, %" PRIu64 " lost, %" PRIu64 " faults%s\n", scenario->count,
	       scenario->lost + scenario->lost_outside, scenario->faults,
	       scenario->closed ? "" : ", not closed");
	for (size_t i = 0; i < scenario->count && i < DUMP_MOST; i++) {
		const struct scene *scene = &scenario->scenes[i];
		const struct unweave_event *event = &scene->event;

		printf("# %10" PRIu64 " t%" PRIu32 " %-14s task %" PRIu64 " other %" PRIu64
		       " value %" PRIu64 " flags %x %s",
		       event->time - start, event->thread, kind_name(event->kind), event->task,
		       event->other, event->value, event->flags, scene->text);
		dump_frames(scene);
		putchar('\n');
	}
}

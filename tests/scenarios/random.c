/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that nobody thought of, in both models at once: what the trace says of
 * each must be what happened, event for event.
 *
 * usage: random [--count N] [--seed S] [--seconds T]
 *
 * Programs run in a child, so that one that crashes can be made smaller too.
 */
#include "random.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scenario.h"

/* The run of one program, and what its trace says. */
struct trial {
	struct world world;
	struct scenario scenario;
	uint64_t events;
};

/* What a child has to say. */
static struct seen {
	uint64_t seed; /* of the program that runs */
	uint64_t programs, events;
	/* What has come about at all: a test that tries nothing finds nothing. */
	uint64_t of_kind[UNWEAVE_EVENT_DUE + 1];
	uint64_t late;    /* awaited after they were done */
	uint64_t amid;    /* awaited while they ran on another thread */
	uint64_t several; /* awaited at once */
	uint64_t caught;  /* errors */
	uint64_t hops;    /* runs on another thread than the run before */
	uint64_t nested;  /* runs inside of two others */
	uint64_t deepest; /* chain */
	uint64_t longest; /* unwind */
} * seen;

static const char *const kinds[] = {
	"nothing",      "CREATE",         "RESUME", "SUSPEND", "COMPLETE", "WAKE",
	"FRAME_RESUME", "FRAME_COMPLETE", "UNWIND", "APPEND",  "NAME",     "IDLE",
	"ANCHOR_RESET", "RESET",          "REPLAY", "LOST",    "AWAIT",    "TASK",
};

static bool is_bookkeeping(const struct scene *scene)
{
	return scene->event.kind == UNWEAVE_EVENT_RESET ||
	       scene->event.kind == UNWEAVE_EVENT_REPLAY || scene->event.kind == UNWEAVE_EVENT_TASK;
}

static uint64_t value_of(const struct expected *expected)
{
	return expected->site ? expected->site->id : expected->value;
}

static bool same_stack(const struct expected *expected, const struct scene *scene)
{
	if (expected->frame_count != scene->frame_count)
		return false;
	for (uint32_t i = 0; i < scene->frame_count; i++)
		if (scene->frames[i].kind != UNWEAVE_FRAME_CODE ||
		    scene->frames[i].address != expected->frames[i].address ||
		    scene->frames[i].state != expected->frames[i].state)
			return false;
	return true;
}

static bool is_same(const struct expected *expected, const struct scene *scene)
{
	unsigned allowed = expected->left ? UNWEAVE_EVENT_TIME_UNKNOWN : 0;

	return expected->kind == scene->event.kind && expected->task == scene->event.task &&
	       expected->other == scene->event.other && value_of(expected) == scene->event.value &&
	       expected->flags == (scene->event.flags & ~allowed) &&
	       strncmp(expected->text, scene->text, 255) == 0 && strlen(scene->text) <= 255 &&
	       same_stack(expected, scene);
}

static void print_expected(const struct expected *expected)
{
	printf("#   happened: %s task %" PRIu64 " other %" PRIu64 " value %" PRIu64
	       " flags %" PRIx32 " %s, operation %" PRIu32 ", chain of %" PRIu32 ":",
	       kinds[expected->kind], expected->task, expected->other, value_of(expected),
	       expected->flags, expected->text, expected->op - 1, expected->frame_count);
	for (uint32_t i = 0; i < expected->frame_count && i < 100; i++)
		printf(" %" PRIx64 ":%" PRId32, expected->frames[i].address,
		       expected->frames[i].state);
	putchar('\n');
}

static void print_scene(const struct scene *scene)
{
	printf("#   trace:    %s task %" PRIu64 " other %" PRIu64 " value %" PRIu64
	       " flags %x %s, chain of %" PRIu32 ":",
	       kinds[scene->event.kind], scene->event.task, scene->event.other, scene->event.value,
	       scene->event.flags, scene->text, scene->frame_count);
	for (uint32_t i = 0; i < scene->frame_count && i < 100; i++)
		printf(" %s%" PRIx64 ":%" PRId32,
		       scene->frames[i].kind == UNWEAVE_FRAME_OMITTED ? "omitted " : "",
		       scene->frames[i].address, scene->frames[i].state);
	putchar('\n');
}

static uint32_t thread_of(const struct scenario *scenario, uint32_t tid)
{
	for (size_t i = 0; i < scenario->thread_count; i++)
		if (scenario->threads[i].tid == tid && !scenario->threads[i].ended)
			return scenario->threads[i].thread;
	for (size_t i = 0; i < scenario->thread_count; i++)
		if (scenario->threads[i].tid == tid)
			return scenario->threads[i].thread;
	return 0;
}

/* The reader of the test adds one after each RESUME, which no event stands for. */
static bool is_implied(const struct scenario *scenario, size_t at)
{
	return at && scenario->scenes[at].event.kind == UNWEAVE_EVENT_FRAME_RESUME &&
	       scenario->scenes[at - 1].event.kind == UNWEAVE_EVENT_RESUME;
}

/* Whether the thread's events are those of its log; tells of the first that is not. */
static bool is_told(const struct trial *trial, const struct worker *worker, bool tell)
{
	uint32_t thread = thread_of(&trial->scenario, worker->tid), at = 0;

	for (size_t i = 0; i < trial->scenario.count; i++) {
		const struct scene *scene = &trial->scenario.scenes[i];

		if (!thread || scene->event.thread != thread || is_bookkeeping(scene) ||
		    is_implied(&trial->scenario, i))
			continue;
		if (at < worker->log_count && is_same(&worker->log[at], scene)) {
			at++;
			continue;
		}
		if (!tell)
			return false;
		printf("# thread %" PRIu32 ", event %" PRIu32 " of %" PRIu32 ":\n", worker->number,
		       at, worker->log_count);
		if (at < worker->log_count)
			print_expected(&worker->log[at]);
		print_scene(scene);
		return false;
	}
	if (at == worker->log_count)
		return true;
	if (tell) {
		printf("# thread %" PRIu32 ", event %" PRIu32 " is not there:\n", worker->number,
		       at);
		print_expected(&worker->log[at]);
	}
	return false;
}

static int by_number(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* No id is 0 or used twice. */
static bool are_distinct(const struct world *world)
{
	uint64_t *ids = calloc(4 * PROGRAM_OPS_MAX, sizeof(*ids));
	size_t count = 0;
	bool distinct = true;

	for (uint32_t i = 0; ids && i < world->program->threads; i++)
		for (uint32_t j = 0; j < world->workers[i].log_count; j++)
			if (world->workers[i].log[j].kind == UNWEAVE_EVENT_CREATE &&
			    count < 4 * PROGRAM_OPS_MAX)
				ids[count++] = world->workers[i].log[j].task;
	if (ids)
		qsort(ids, count, sizeof(*ids), by_number);
	for (size_t i = 0; ids && i < count; i++)
		distinct = distinct && ids[i] && (!i || ids[i] != ids[i - 1]);
	free(ids);
	return distinct;
}

static void count_scene(const struct scene *scene)
{
	seen->of_kind[scene->event.kind]++;
	seen->late += (scene->event.flags & UNWEAVE_EVENT_LATE) != 0;
	seen->caught += scene->event.kind == UNWEAVE_EVENT_UNWIND && scene->event.value & 1;
	/* More than a chain has: of a raw task. */
	if (scene->event.kind == UNWEAVE_EVENT_UNWIND && scene->event.value / 2 > seen->longest &&
	    scene->event.value / 2 <= CHAIN_MOST)
		seen->longest = scene->event.value / 2;
	if (scene->frame_count > seen->deepest)
		seen->deepest = scene->frame_count;
}

/* Runs follow each other in time: with the thread of each task's last run at hand, hops show. */
static void count(const struct scenario *scenario)
{
	struct {
		uint64_t task;
		uint32_t thread;
	} last[1024] = {{0}};
	uint32_t depth[256] = {0};

	for (size_t i = 0; i < scenario->count; i++) {
		const struct unweave_event *event = &scenario->scenes[i].event;
		size_t slot = event->task / 2 % 1024;
		uint32_t *nest = &depth[event->thread % 256];

		count_scene(&scenario->scenes[i]);
		if (event->kind == UNWEAVE_EVENT_RESUME) {
			seen->hops += last[slot].task == event->task &&
				      last[slot].thread != event->thread;
			last[slot].task = event->task;
			last[slot].thread = event->thread;
			seen->nested += ++*nest > 2;
		} else if (event->kind == UNWEAVE_EVENT_SUSPEND ||
			   event->kind == UNWEAVE_EVENT_COMPLETE) {
			*nest -= *nest > 0;
		}
	}
}

static const char *verdict(const struct trial *trial, bool tell)
{
	if (trial->world.broken)
		return trial->world.broken;
	if (!scenario_is_whole(&trial->scenario))
		return "the trace is not whole";
	if (!are_distinct(&trial->world))
		return "two tasks have one id";
	for (uint32_t i = 0; i < trial->world.program->threads; i++)
		if (!is_told(trial, &trial->world.workers[i], tell))
			return "the trace does not tell what happened";
	return NULL;
}

/* Two threads that use a site for the first time at once may give it two ids: neither does here. */
static void use_sites(void)
{
	for (size_t i = 0; i < sizeof(random_sites) / sizeof(random_sites[0]); i++)
		if (!random_sites[i].id)
			unweave_task_new(&random_sites[i], UNWEAVE_MODEL_CHAIN, 0, NULL);
}

/* NULL, or what is wrong. */
static const char *try(const struct program *program, bool tell)
{
	struct trial *trial = calloc(1, sizeof(*trial));
	const char *wrong;

	if (!trial)
		abort();
	scenario_begin(UNWEAVE_KEYWORDS_FULL);
	use_sites();
	world_run(&trial->world, program);
	scenario_end(&trial->scenario);
	wrong = verdict(trial, tell);
	seen->programs++;
	seen->events += trial->scenario.count;
	count(&trial->scenario);
	seen->amid += trial->world.awaited_elsewhere;
	seen->several += trial->world.awaited_several;
	scenario_fini(&trial->scenario);
	world_fini(&trial->world);
	free(trial);
	return wrong;
}

/* Threads meet differently each time: what fails, fails one time in a few. */
static void try_often(const struct program *program, bool tell)
{
	for (int i = 0; i < (program->threads > 1 ? 8 : 1); i++) {
		const char *wrong = try(program, tell);

		if (wrong && tell)
			printf("# %s\n", wrong);
		if (wrong)
			exit(1);
	}
}

/* Whether the program fails, or crashes. */
static bool fails(const struct program *program, bool tell)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		try_often(program, tell);
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		abort();
	if (tell && WIFSIGNALED(status))
		printf("# signal %d\n", WTERMSIG(status));
	return status != 0;
}

static uint64_t seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec;
}

#define SHRINK_SECONDS 60

static uint64_t shrink_until;

/* Leaves out `count` operations from `at` on, if the rest still fails and there is time. */
static bool leave_out(struct program *program, uint32_t at, uint32_t count)
{
	struct program *smaller = malloc(sizeof(*smaller));
	bool failing;

	if (!smaller)
		abort();
	if (seconds_now() >= shrink_until) {
		free(smaller);
		return false;
	}
	*smaller = *program;
	smaller->count -= count;
	memmove(&smaller->ops[at], &smaller->ops[at + count],
		(smaller->count - at) * sizeof(smaller->ops[0]));
	failing = fails(smaller, false);
	if (failing)
		*program = *smaller;
	free(smaller);
	return failing;
}

static void use_fewer_threads(struct program *program)
{
	uint32_t threads = program->threads;

	for (uint32_t fewer = 1; fewer < threads; fewer++) {
		program->threads = fewer;
		if (fails(program, false))
			return;
	}
	program->threads = threads;
}

/* Halves, quarters and so on down to single operations, until none can be left out. */
static void shrink(struct program *program)
{
	bool smaller = true;

	use_fewer_threads(program);
	for (uint32_t part = program->count / 2; part || smaller;) {
		if (!part)
			part = 1;
		smaller = false;
		for (uint32_t at = 0; at + part <= program->count;) {
			if (leave_out(program, at, part))
				smaller = true;
			else
				at += part;
		}
		if (part > 1 || !smaller)
			part /= 2;
		if (!part && !smaller)
			break;
	}
	use_fewer_threads(program);
}

static void report(uint64_t seed)
{
	struct program *program = malloc(sizeof(*program));
	bool again = false;

	if (!program)
		abort();
	program_make(program, seed);
	shrink_until = seconds_now() + SHRINK_SECONDS;
	shrink(program);
	for (int i = 0; i < 10 && !again; i++)
		again = fails(program, true);
	program_print(program);
	if (!again)
		printf("# and does not fail any more\n");
	free(program);
}

static struct {
	uint64_t count, seed, seconds;
} wanted = {.count = UINT64_MAX, .seed = 1, .seconds = 15};

/* In the child. */
static void run_programs(void)
{
	struct program *program = malloc(sizeof(*program));
	uint64_t until = seconds_now() + wanted.seconds;

	for (uint64_t i = 0; program && i < wanted.count && seconds_now() < until; i++) {
		const char *wrong;

		seen->seed = wanted.seed + i;
		program_make(program, seen->seed);
		wrong = try(program, true);
		if (wrong) {
			printf("# seed %" PRIu64 ": %s\n", seen->seed, wrong);
			exit(1);
		}
	}
	free(program);
	exit(0);
}

static void programs_of_both_models_are_told_as_they_happened(void)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		run_programs();
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		abort();
	printf("# %" PRIu64 " programs, %" PRIu64 " events\n", seen->programs, seen->events);
	CHECK_EQ(status, 0);
	if (status) {
		printf("# seed %" PRIu64 " fails\n", seen->seed);
		report(seen->seed);
	}
}

static void check_kinds(void)
{
	for (unsigned kind = UNWEAVE_EVENT_CREATE; kind <= UNWEAVE_EVENT_AWAIT; kind++) {
		if (kind == UNWEAVE_EVENT_REPLAY || kind == UNWEAVE_EVENT_LOST)
			continue;
		printf("# %s %" PRIu64 "\n", kinds[kind], seen->of_kind[kind]);
		CHECK(seen->of_kind[kind] > 0);
	}
}

static void all_that_can_happen_did(void)
{
	check_kinds();
	printf("# late %" PRIu64 ", while they ran elsewhere %" PRIu64 ", several %" PRIu64
	       ", caught %" PRIu64 ", hops %" PRIu64 ", nested %" PRIu64 ", deepest %" PRIu64
	       ", longest unwind %" PRIu64 "\n",
	       seen->late, seen->amid, seen->several, seen->caught, seen->hops, seen->nested,
	       seen->deepest, seen->longest);
	CHECK(seen->late > 0);
	CHECK(seen->amid > 0);
	CHECK(seen->several > 0);
	CHECK(seen->caught > 0);
	CHECK(seen->hops > 0);
	CHECK(seen->nested > 0);
	CHECK(seen->deepest > 100);
	CHECK(seen->longest > 70);
}

int main(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		uint64_t number = strtoull(argv[i + 1], NULL, 10);

		if (strcmp(argv[i], "--count") == 0) {
			wanted.count = number;
			wanted.seconds = UINT32_MAX;
		} else if (strcmp(argv[i], "--seed") == 0) {
			wanted.seed = number;
		} else if (strcmp(argv[i], "--seconds") == 0) {
			wanted.seconds = number;
		}
	}
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED)
		return 1;
	RUN(programs_of_both_models_are_told_as_they_happened);
	/* A sanitizer on a busy machine may not come to that many. */
	if (seen->programs >= 100 && !check_failed_tests)
		RUN(all_that_can_happen_did);
	return check_done();
}

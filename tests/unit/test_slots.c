/* SPDX-License-Identifier: Apache-2.0 */
/* The slots of the task table: who has which, among threads, signal handlers and processes. */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "collect.h"
#include "drain/find.h"
#include "live.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
#else
#define SANITIZED 0
#endif

static void a_million_tasks(void)
{
	enum { MILLION = SANITIZED ? 100000 : 1000000 };
	uint64_t *tasks = calloc(MILLION, sizeof(*tasks));
	uint32_t ready = 0;

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < MILLION; i++)
			tasks[i] = unweave_task_new(NULL, CHAIN, i, NULL);
		for (uint32_t i = 0; i < MILLION; i++)
			if (entry_of(tasks[i]).id != tasks[i] || entry_of(tasks[i]).parent != i)
				CHECK(!"each has its slot");
		CHECK_EQ(count_live(), MILLION);
		/* The second million is where the first one was. */
		if (round == 1)
			CHECK_EQ(emit_process.control->tasks_ready, ready);
		ready = emit_process.control->tasks_ready;
		CHECK(ready < MILLION + 2 * TABLE_BLOCK);
		for (uint32_t i = 0; i < MILLION; i++)
			end_task(tasks[i]);
		CHECK_EQ(count_live(), 0);
	}
	CHECK_EQ(emit_process.control->tasks_lost, 0);
	free(tasks);
}

static void a_million_tasks_can_live_at_once(void)
{
	in_child(a_million_tasks, NULL);
}

static int compare_ids(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Sorts them; whether one is there twice, or is none. */
static bool have_duplicates(uint64_t *tasks, size_t count)
{
	qsort(tasks, count, sizeof(*tasks), compare_ids);
	for (size_t i = 0; i < count; i++)
		if (!tasks[i] || (i && tasks[i] == tasks[i - 1]))
			return true;
	return false;
}

static void more_tasks_than_the_table_has_room_for(void)
{
	uint64_t tasks[1000];

	CHECK_EQ(the_table().max, 512);
	for (uint32_t i = 0; i < 1000; i++)
		tasks[i] = new_task();
	CHECK_EQ(count_live(), 511);
	CHECK_EQ(emit_process.control->tasks_lost, 489);
	collect_begin(0);
	for (uint32_t i = 0; i < 1000; i++) {
		unweave_task_resume(tasks[i]);
		unweave_task_name(tasks[i], "x");
		unweave_task_waits(tasks[i], UNWEAVE_WAIT_IO, 1);
		unweave_task_suspend(tasks[i]);
		unweave_task_wake(tasks[i], UNWEAVE_SOURCE_TASK);
	}
	unweave_stop();
	CHECK_EQ(collect_count(UNWEAVE_EVENT_SUSPEND), 1000);
	for (uint32_t i = 0; i < 1000; i++)
		end_task(tasks[i]);
	CHECK_EQ(count_live(), 0);
	CHECK_EQ(entry_of(new_task()).state, ARENA_TASK_NEW);
	CHECK(!have_duplicates(tasks, 1000));
}

static void a_full_table_is_counted_and_the_program_goes_on(void)
{
	in_child(more_tasks_than_the_table_has_room_for, "300");
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit = {bytes, bytes};

	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void live_with_a_smaller_table(void)
{
	limit_files(64 << 20);
	end_task(new_task());
	CHECK_EQ(the_table().max, TABLE_FEW);
	CHECK_EQ(emit_process.control->tasks_lost, 0);
}

static void live_without_a_table(void)
{
	uint64_t task, other;

	limit_files(ARENA_POOL_AT + ARENA_POOL_LIMIT);
	task = new_task();
	other = new_task();
	CHECK(task && task != other);
	CHECK_EQ(the_table().max, 0);
	CHECK_EQ(emit_process.control->tasks_lost, 2);
	unweave_task_name(task, "nowhere");
	unweave_task_waits(task, UNWEAVE_WAIT_IO, 1);
	collect_begin(0);
	for (int i = 0; i < 10; i++) {
		unweave_task_resume(task);
		unweave_task_wake(task, UNWEAVE_SOURCE_TASK);
		unweave_task_leave(task, NULL);
	}
	end_task(task);
	unweave_stop();
	CHECK_EQ(collect_count(UNWEAVE_EVENT_SUSPEND), 10);
	CHECK_EQ(collect_count(UNWEAVE_EVENT_COMPLETE), 1);
	end_task(other);
}

static void where_there_is_no_room_the_table_is_smaller_or_missing(void)
{
	in_child(live_with_a_smaller_table, NULL);
	in_child(live_without_a_table, NULL);
}

/* Tasks on their way from those who create them to those who complete them. */
#define LIVE_MOST 4096u
struct belt {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	uint64_t tasks[LIVE_MOST];
	uint32_t count;
	bool over;
};
static struct belt belt = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

struct producer {
	pthread_t thread;
	uint64_t *tasks;
	uint32_t count;
};

static void *produce(void *data)
{
	struct producer *producer = data;

	for (uint32_t i = 0; i < producer->count; i += 256) {
		for (uint32_t k = 0; k < 256; k++)
			producer->tasks[i + k] = new_task();
		pthread_mutex_lock(&belt.mutex);
		while (belt.count + 256 > LIVE_MOST)
			pthread_cond_wait(&belt.changed, &belt.mutex);
		memcpy(belt.tasks + belt.count, producer->tasks + i, 256 * sizeof(uint64_t));
		belt.count += 256;
		pthread_cond_broadcast(&belt.changed);
		pthread_mutex_unlock(&belt.mutex);
	}
	return NULL;
}

static void *consume(void *data)
{
	uint64_t tasks[256];
	uint32_t count;

	(void)data;
	do {
		pthread_mutex_lock(&belt.mutex);
		while (!belt.count && !belt.over)
			pthread_cond_wait(&belt.changed, &belt.mutex);
		count = belt.count < 256 ? belt.count : 256;
		belt.count -= count;
		memcpy(tasks, belt.tasks + belt.count, count * sizeof(uint64_t));
		pthread_cond_broadcast(&belt.changed);
		pthread_mutex_unlock(&belt.mutex);
		for (uint32_t i = 0; i < count; i++)
			end_task(tasks[i]);
	} while (count);
	return NULL;
}

static void some_create_and_others_complete(void)
{
	enum { PRODUCERS = 3, EACH = SANITIZED ? 1 << 16 : 1 << 20 };
	uint64_t *tasks = calloc((size_t)PRODUCERS * EACH, sizeof(*tasks));
	struct producer producers[PRODUCERS];
	pthread_t consumers[2];

	the_table();
	for (int i = 0; i < 2; i++)
		pthread_create(&consumers[i], NULL, consume, NULL);
	for (int i = 0; i < PRODUCERS; i++) {
		producers[i] = (struct producer){.tasks = tasks + (size_t)i * EACH, .count = EACH};
		pthread_create(&producers[i].thread, NULL, produce, &producers[i]);
	}
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i].thread, NULL);
	pthread_mutex_lock(&belt.mutex);
	belt.over = true;
	pthread_cond_broadcast(&belt.changed);
	pthread_mutex_unlock(&belt.mutex);
	for (int i = 0; i < 2; i++)
		pthread_join(consumers[i], NULL);
	CHECK(!have_duplicates(tasks, (size_t)PRODUCERS * EACH));
	CHECK_EQ(count_live(), 0);
	CHECK_EQ(emit_process.control->tasks_lost, 0);
	CHECK(emit_process.control->tasks_ready <= 4 * LIVE_MOST);
	free(tasks);
}

static void slots_are_used_again_by_all_threads_and_ids_are_not(void)
{
	in_child(some_create_and_others_complete, NULL);
}

#define MARK (UINT64_C(0xabcdef) << 32)

static _Atomic bool seen_enough;

static void *recycle(void *data)
{
	struct unweave_site *sites[] = {UNWEAVE_SITE("even"), UNWEAVE_SITE("odd")};
	uint64_t tasks[300];

	(void)data;
	while (!atomic_load_explicit(&seen_enough, memory_order_relaxed)) {
		for (uint32_t k = 0; k < 300; k++)
			tasks[k] = unweave_task_new(sites[k % 2], CHAIN, MARK | k, NULL);
		for (uint32_t k = 0; k < 300; k++)
			end_task(tasks[k]);
	}
	return NULL;
}

static void a_reader_never_mixes_two_tasks_of_one_slot(void)
{
	uint32_t sites[2] = {0}, seen = 0, mixed = 0;
	struct table table = the_table();
	struct table_task entry;
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, recycle, NULL);
	while (seen < (SANITIZED ? 20000 : 500000)) {
		for (uint32_t i = 1; i < table_ready(&table); i++) {
			if (!table_read(&table, i, &entry))
				continue;
			seen++;
			/* A link of a free slot has no mark; a site says of which task it is. */
			if (entry.parent >> 32 != MARK >> 32 || !entry.site)
				mixed++;
			else if (!sites[entry.parent % 2])
				sites[entry.parent % 2] = entry.site;
			else if (sites[entry.parent % 2] != entry.site &&
				 sites[!(entry.parent % 2)] == entry.site)
				mixed++;
		}
	}
	atomic_store(&seen_enough, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(mixed, 0);
}

static void *create_some_and_end(void *data)
{
	uint64_t tasks[200];

	(void)data;
	for (int i = 0; i < 200; i++)
		tasks[i] = new_task();
	for (int i = 0; i < 200; i++)
		end_task(tasks[i]);
	return NULL;
}

static void a_thread_that_ends_gives_its_slots_back(void)
{
	uint32_t ready = 0;

	for (int i = 0; i < 100; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, create_some_and_end, NULL);
		pthread_join(thread, NULL);
		if (i == 0)
			ready = emit_process.control->tasks_ready;
	}
	CHECK_EQ(emit_process.control->tasks_ready, ready);
}

static void a_handler_inside_a_hook_creates_and_completes(void)
{
	uint32_t before = count_live();
	uint64_t outside = new_task(), inside, other = new_task();
	struct emit_thread *self = emit_self();
	uint64_t gate = self->hot.gate, spare;
	uint32_t free, frees;

	end_task(other);
	spare = self->spare;
	free = self->free;
	frees = self->frees;
	unweave_priv_enter(&self->hot);
	inside = unweave_task_new(NULL, MACHINE, 5, NULL);
	CHECK_EQ(entry_of(inside).parent, 5);
	CHECK_EQ(inside & 1, MACHINE);
	unweave_task_waits(inside, UNWEAVE_WAIT_OTHER, 6);
	unweave_task_name(inside, "from a handler");
	CHECK_STR_EQ(entry_of(inside).name, "from a handler");
	end_task(inside);
	end_task(outside);
	CHECK_EQ(entry_of(inside).id, 0);
	CHECK_EQ(entry_of(outside).id, 0);
	/* The thread's own list is as it was. */
	CHECK(self->spare == spare && self->free == free && self->frees == frees);
	unweave_priv_exit(&self->hot, gate);
	CHECK_EQ(count_live(), before);
}

static volatile sig_atomic_t handled;

static void handle(int number)
{
	uint64_t task = new_task();

	(void)number;
	unweave_task_resume(task);
	unweave_task_leave(task, NULL);
	end_task(task);
	handled++;
}

static void create_and_complete_under_signals(void)
{
	struct itimerval often = {{0, 50}, {0, 50}}, never = {0};
	uint64_t tasks[100], last = 0;
	uint32_t before = count_live();
	int rounds = 0;

	signal(SIGALRM, handle);
	handled = 0;
	setitimer(ITIMER_REAL, &often, NULL);
	for (; (handled < 2000 || rounds < 2000) && rounds < 200000; rounds++) {
		for (int i = 0; i < 100; i++) {
			tasks[i] = new_task();
			unweave_task_resume(tasks[i]);
			unweave_task_leave(tasks[i], NULL);
			if (tasks[i] == last)
				CHECK(!"an id is not given twice");
			last = tasks[i];
		}
		for (int i = 0; i < 100; i++)
			end_task(tasks[i]);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
	CHECK(handled > 0);
	CHECK_EQ(count_live(), before);
}

static void handlers_at_any_moment_leave_the_table_whole(void)
{
	uint32_t ready;

	create_and_complete_under_signals();
	ready = emit_process.control->tasks_ready;
	collect_begin(UNWEAVE_KEYWORDS_TASKS);
	create_and_complete_under_signals();
	unweave_stop();
	collect_forget();
	CHECK(emit_process.control->tasks_ready <= ready + TABLE_BLOCK);
}

static uint64_t parents_task;

static void use_the_parents_task(void)
{
	uint64_t mine;

	unweave_task_name(parents_task, "not mine");
	unweave_task_waits(parents_task, UNWEAVE_WAIT_IO, 1);
	end_task(parents_task);
	mine = new_task();
	CHECK(mine != parents_task);
	/* Whoever had the slot in the parent is older than anybody here. */
	CHECK(mine >> TABLE_GENERATION_SHIFT > parents_task >> TABLE_GENERATION_SHIFT);
	collect_begin(0);
	unweave_task_resume(parents_task);
	unweave_task_suspend(parents_task);
	unweave_task_wake(parents_task, UNWEAVE_SOURCE_TASK);
	unweave_task_resume(parents_task);
	unweave_task_leave(parents_task, NULL);
	end_task(parents_task);
	unweave_stop();
	CHECK_EQ(count_live(), 1);
	CHECK_EQ(entry_of(mine).id, mine);
}

static void a_child_of_fork_leaves_its_parents_tasks_alone(void)
{
	for (int i = 0; i < 50; i++)
		end_task(new_task());
	parents_task = new_task();
	unweave_task_name(parents_task, "mine");
	in_child(use_the_parents_task, NULL);
	CHECK_EQ(entry_of(parents_task).state, ARENA_TASK_NEW);
	CHECK_EQ(entry_of(parents_task).waits, UNWEAVE_WAIT_NONE);
	CHECK_STR_EQ(entry_of(parents_task).name, "mine");
	end_task(parents_task);
}

/* Tells the tasks that it has, and lives until it is killed. */
static void live_with_tasks(int out)
{
	uint64_t tasks[2];

	tasks[0] = new_task();
	tasks[1] = unweave_task_new(UNWEAVE_SITE("a site"), MACHINE, tasks[0], NULL);
	unweave_task_name(tasks[1], "before anyone looked");
	unweave_task_waits(tasks[0], UNWEAVE_WAIT_TASK, tasks[1]);
	if (write(out, tasks, sizeof(tasks)) == sizeof(tasks))
		pause();
	_exit(1);
}

static void whoever_attaches_sees_the_tasks_from_before(void)
{
	struct attachment attachment = {0};
	struct table_task entry = {0};
	struct diag diag = {0};
	uint64_t tasks[2] = {0};
	int pipes[2];
	pid_t pid;

	CHECK_EQ(pipe(pipes), 0);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		live_with_tasks(pipes[1]);
	close(pipes[1]);
	CHECK_EQ(read(pipes[0], tasks, sizeof(tasks)), sizeof(tasks));
	CHECK_EQ(find_pid(&attachment, (uint32_t)pid, &diag), 0);
	CHECK(table_find(&attachment.table, tasks[0], &entry));
	CHECK_EQ(entry.waits, UNWEAVE_WAIT_TASK);
	CHECK_EQ(entry.awaits, tasks[1]);
	CHECK(table_find(&attachment.table, tasks[1], &entry));
	CHECK_EQ(entry.parent, tasks[0]);
	CHECK(entry.site);
	CHECK_STR_EQ(entry.name, "before anyone looked");
	/* What it knows does not end with the program. */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(table_find(&attachment.table, tasks[0], &entry));
	attach_remove(&attachment);
	attach_fini(&attachment);
	close(pipes[0]);
}

static void a_slot_that_has_had_all_its_ids_is_not_used_again(void)
{
	uint64_t task = new_task(), last;
	uint32_t index = table_index(task);

	end_task(task);
	last = UINT64_MAX << TABLE_GENERATION_SHIFT | (uint64_t)index << 1;
	emit_self()->spare = last;
	atomic_store(&emit_process.tasks[index].id, last);
	task = new_task();
	CHECK_EQ(task, last);
	CHECK_EQ(entry_of(task).id, last);
	end_task(task);
	CHECK_EQ(entry_of(task).id, 0);
	for (int i = 0; i < 1000; i++) {
		task = new_task();
		CHECK(table_index(task) != index);
		if (i % 2)
			end_task(task);
	}
}

int main(void)
{
	RUN(a_million_tasks_can_live_at_once);
	RUN(a_full_table_is_counted_and_the_program_goes_on);
	RUN(where_there_is_no_room_the_table_is_smaller_or_missing);
	RUN(slots_are_used_again_by_all_threads_and_ids_are_not);
	RUN(a_reader_never_mixes_two_tasks_of_one_slot);
	RUN(a_thread_that_ends_gives_its_slots_back);
	RUN(a_handler_inside_a_hook_creates_and_completes);
	RUN(handlers_at_any_moment_leave_the_table_whole);
	RUN(a_child_of_fork_leaves_its_parents_tasks_alone);
	if (!check_emulated())
		RUN(whoever_attaches_sees_the_tasks_from_before);
	RUN(a_slot_that_has_had_all_its_ids_is_not_used_again);
	return check_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/follow.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena/arena.h"
#include "arena/clock.h"
#include "cli/descendants.h"
#include "cli/say.h"
#include "drain/find.h"

#define LOOK_NS UINT64_C(50000000) /* between two looks at all that were started */

/* A process under record; written by the one that records it, but for `recorder` and `pid`. */
struct follower {
	pid_t recorder; /* 0: free */
	uint32_t pid;
	bool first;
	bool began; /* by room on the board, which it gives back */
	bool empty;
	int result;
	struct diag diag;
	struct recording_totals totals;
	struct holds holds;
	char output[PATH_MAX];
};

struct follow_shared {
	_Atomic bool stop;
	_Atomic uint32_t snapshots; /* that were asked for */
	struct follower followers[FOLLOW_AT_ONCE];
};

static int make_board(struct follow *follow)
{
	follow->board_fd = memfd_create("unweave-board", MFD_CLOEXEC);
	if (follow->board_fd < 0 || ftruncate(follow->board_fd, sizeof(*follow->board)) < 0)
		return -errno;
	follow->board = mmap(NULL, sizeof(*follow->board), PROT_READ | PROT_WRITE, MAP_SHARED,
			     follow->board_fd, 0);
	if (follow->board == MAP_FAILED) {
		follow->board = NULL;
		return -errno;
	}
	if (getrandom(&follow->board->cookie, sizeof(follow->board->cookie), 0) < 0)
		return -errno;
	follow->board->cookie |= 1; /* 0 means that there is no board */
	follow->given = follow->plan->no_children ? 0 : FOLLOW_AT_ONCE;
	atomic_store(&follow->board->room, follow->given);
	return 0;
}

int follow_init(struct follow *follow, const struct record_plan *plan, struct diag *diag)
{
	int r;

	*follow = (struct follow){.plan = plan, .board_fd = -1};
	r = make_board(follow);
	if (r == 0)
		r = adapters_choose(&follow->adapters, plan->command[0], &plan->adapters);
	if (r == 0) {
		follow->shared = mmap(NULL, sizeof(*follow->shared), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (follow->shared == MAP_FAILED) {
			follow->shared = NULL;
			r = -errno;
		}
	}
	if (r == 0)
		return 0;
	follow_fini(follow);
	return diag_set(diag, r, "%s", strerror(-r));
}

void follow_fini(struct follow *follow)
{
	if (follow->shared)
		munmap(follow->shared, sizeof(*follow->shared));
	if (follow->board)
		munmap(follow->board, sizeof(*follow->board));
	if (follow->board_fd >= 0)
		close(follow->board_fd);
	adapters_fini(&follow->adapters);
	follow->shared = NULL;
	follow->board = NULL;
	follow->board_fd = -1;
}

static uint64_t chunks_of(uint64_t bytes)
{
	uint64_t chunks = (bytes ? bytes : ARENA_POOL_DEFAULT) / ARENA_CHUNK_BYTES;

	return chunks < 2 ? 2 : chunks;
}

void follow_order(const struct follow *follow, char *to, size_t size)
{
	const struct record_plan *plan = follow->plan;

	snprintf(to, size, "%" PRIu64 ":%d:%" PRIu64 ":%d:%d:%" PRIu64,
		 drain_keywords(plan->detail), (int)plan->policy, chunks_of(plan->buffer_bytes),
		 getpid(), follow->board_fd, follow->board->cookie);
}

/* A process that records: what it knows of the one that started it. */
struct worker {
	struct follow_shared *shared;
	struct follower *follower;
	pid_t parent;
	uint32_t snapshots; /* as far as they are begun */
};

/* Without the parent nobody waits for what we do; the trace is closed all the same. */
static bool each_pass(struct recording *recording, void *data)
{
	struct worker *worker = data;
	uint32_t snapshots = atomic_load(&worker->shared->snapshots);

	worker->follower->totals = recording_totals(recording);
	if (snapshots != worker->snapshots)
		recording_snapshot(recording);
	worker->snapshots = snapshots;
	return atomic_load(&worker->shared->stop) || getppid() != worker->parent;
}

/* Signals are for the parent, which knows what they mean. */
static void ignore_signals(void)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR2};

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
}

static void record_one(struct worker *worker, const struct follow *follow,
		       const struct attachment *attachment)
{
	const struct record_plan *plan = follow->plan;
	struct follower *follower = worker->follower;
	struct recording recording = {.plan = plan,
				      .output = follower->output,
				      .adapters = follower->began ? NULL : &follow->adapters,
				      .attachment = *attachment,
				      .each = each_pass,
				      .data = worker};

	follower->result = recording_run(&recording, &follower->diag);
	if (recording.recorder) {
		follower->totals = recording_totals(&recording);
		holds_find(&follower->holds, &recording.attachment);
	}
	if (follower->result >= 0 && follower->first && !plan->quiet) {
		live_line_clear();
		recording_summarise(&recording);
	}
	follower->empty = !follower->totals.events && !follower->totals.samples;
	recording_fini(&recording);
	if (!follower->first && follower->empty)
		unlink(follower->output);
}

/* FILE for the first; for another FILE with its pid before the ending, and a number if need be. */
static void name_output(struct follow *follow, struct follower *follower)
{
	char infix[32];
	uint32_t times = 0, used = 0;

	if (follower->first) {
		follow->first = follower->pid;
		snprintf(follower->output, sizeof(follower->output), "%s", follow->plan->output);
		return;
	}
	for (; used < FOLLOW_MOST && follow->pids[used]; used++)
		times += follow->pids[used] == follower->pid;
	if (used < FOLLOW_MOST)
		follow->pids[used] = follower->pid;
	if (times)
		snprintf(infix, sizeof(infix), ".%" PRIu32 "-%" PRIu32, follower->pid, times + 1);
	else
		snprintf(infix, sizeof(infix), ".%" PRIu32, follower->pid);
	recording_name(follower->output, sizeof(follower->output), follow->plan->output, infix);
}

/* Starts a process that records what was found, and lets go of it here. */
static void start_worker(struct follow *follow, struct follower *follower,
			 struct attachment *attachment)
{
	struct worker worker = {.shared = follow->shared,
				.follower = follower,
				.parent = getpid(),
				.snapshots = atomic_load(&follow->shared->snapshots)};
	pid_t pid;

	*follower = (struct follower){.pid = attachment->pid,
				      .first = !follow->claimed++,
				      .began = attachment->pid != (uint32_t)follow->command,
				      .result = -EIO};
	diag_set(&follower->diag, 0, "the process that recorded %" PRIu32 " died", follower->pid);
	name_output(follow, follower);
	fflush(stderr);
	pid = fork();
	if (pid == 0) {
		ignore_signals();
		record_one(&worker, follow, attachment);
		_exit(0);
	}
	if (pid > 0) {
		follower->recorder = pid;
		follow->active++;
	} else {
		diag_set(&follow->diag, -errno, "no process to record with: %m");
		follow->failed++;
	}
	attach_fini(attachment);
}

static void add(struct recording_totals *to, const struct recording_totals *from)
{
	to->events += from->events;
	to->samples += from->samples;
	to->lost += from->lost;
	to->bytes += from->bytes;
	to->unwritten += from->unwritten;
}

static void settle(struct follow *follow, struct follower *follower)
{
	follower->recorder = 0;
	follow->active--;
	if (follower->began && follow->given < FOLLOW_MOST) {
		follow->given++;
		atomic_fetch_add(&follow->board->room, 1);
	}
	add(&follow->ended, &follower->totals);
	holds_add(&follow->holds, &follower->holds);
	if (follower->result < 0) {
		follow->failed++;
		follow->diag = follower->diag;
		if (follower->first)
			follow->first_result = follower->result;
	} else if (follower->empty && !follower->first) {
		follow->empty++;
	} else if (!follower->first) {
		follow->others++;
		memcpy(follow->other_output, follower->output, sizeof(follow->other_output));
		add(&follow->other_totals, &follower->totals);
	}
}

static void reap(struct follow *follow)
{
	for (uint32_t i = 0; i < FOLLOW_AT_ONCE; i++) {
		struct follower *follower = &follow->shared->followers[i];

		if (follower->recorder && waitpid(follower->recorder, NULL, WNOHANG) != 0)
			settle(follow, follower);
	}
}

static struct follower *find_free(struct follow *follow)
{
	for (uint32_t i = 0; i < FOLLOW_AT_ONCE; i++)
		if (!follow->shared->followers[i].recorder)
			return &follow->shared->followers[i];
	return NULL;
}

/* The command may have an arena that is in no directory, or could not read its order. */
static bool find_command(struct follow *follow, struct attachment *ret)
{
	if (follow->claimed || find_pid(ret, (uint32_t)follow->command, NULL) < 0)
		return false;
	if (attach_lock(ret, NULL) == 0)
		return true;
	attach_fini(ret);
	return false;
}

/* The command itself before others: the first that is found gets the name that was asked for. */
static bool find_next(const struct follow *follow, struct attachment *ret)
{
	uint32_t self = (uint32_t)getpid();

	return (!follow->claimed && find_armed(ret, self, (uint32_t)follow->command) == 0) ||
	       find_armed(ret, self, 0) == 0;
}

/* Takes those that signed in off the board, and keeps them until they are found. */
static void read_board(struct follow *follow)
{
	for (uint32_t i = 0, to = 0; i < ARENA_BOARD_NAMES; i++) {
		uint64_t name = atomic_load(&follow->board->names[i])
					? atomic_exchange(&follow->board->names[i], 0)
					: 0;

		while (name && to < ARENA_BOARD_NAMES && follow->waiting[to])
			to++;
		if (name && to < ARENA_BOARD_NAMES)
			follow->waiting[to] = name;
	}
}

/* One of them whose arena is there by now; those that have none any more are forgotten. */
static bool find_waiting(struct follow *follow, struct attachment *ret)
{
	for (uint32_t i = 0; i < ARENA_BOARD_NAMES; i++) {
		uint64_t name = follow->waiting[i];
		int r;

		if (!name)
			continue;
		r = find_begun(ret, (uint32_t)getpid(), (uint32_t)name, (uint32_t)(name >> 32));
		if (r != -EAGAIN)
			follow->waiting[i] = 0;
		if (r == 0)
			return true;
	}
	return false;
}

bool follow_knows(const struct follow *follow, uint32_t pid)
{
	for (uint32_t i = 0; i < FOLLOW_MOST && follow->pids[i]; i++)
		if (follow->pids[i] == pid)
			return true;
	return follow->claimed && pid == follow->first;
}

bool follow_has_room(const struct follow *follow)
{
	return follow->board->cookie && atomic_load(&follow->board->room) > 0;
}

bool follow_is_worker(const struct follow *follow, pid_t pid)
{
	for (uint32_t i = 0; i < FOLLOW_AT_ONCE; i++)
		if (follow->shared->followers[i].recorder == pid)
			return true;
	return false;
}

static bool take_room(struct follow *follow)
{
	uint32_t room = atomic_load(&follow->board->room);

	while (room)
		if (atomic_compare_exchange_weak(&follow->board->room, &room, room - 1))
			return true;
	return false;
}

/* Who was another user's from the start could not reach the board, and is looked for. */
static bool find_stranger(struct follow *follow, struct attachment *ret)
{
	uint64_t now = clock_monotonic();

	if (geteuid() != 0 || !follow_has_room(follow) || now - follow->looked < LOOK_NS)
		return false;
	follow->looked = now;
	if (!descendants_find(follow, ret))
		return false;
	if (take_room(follow))
		return true;
	attach_fini(ret);
	return false;
}

void follow_pass(struct follow *follow, bool search)
{
	bool news = search || atomic_load(&follow->board->begun) != follow->seen;
	struct attachment attachment;
	struct follower *follower;

	reap(follow);
	read_board(follow);
	while (!atomic_load(&follow->shared->stop) && (follower = find_free(follow))) {
		if (find_stranger(follow, &attachment)) {
			start_worker(follow, follower, &attachment);
			continue;
		}
		if (!(news &&
		      (find_next(follow, &attachment) || find_waiting(follow, &attachment))) &&
		    !(search && find_command(follow, &attachment)))
			return;
		follow->seen++;
		start_worker(follow, follower, &attachment);
	}
}

void follow_stop(struct follow *follow)
{
	/* Whoever starts now finds no board, and does not begin. */
	follow->board->cookie = 0;
	atomic_store(&follow->shared->stop, true);
}

void follow_snapshot(struct follow *follow)
{
	atomic_fetch_add(&follow->shared->snapshots, 1);
}

struct recording_totals follow_totals(const struct follow *follow)
{
	struct recording_totals totals = follow->ended;

	for (uint32_t i = 0; i < FOLLOW_AT_ONCE; i++)
		if (follow->shared->followers[i].recorder)
			add(&totals, &follow->shared->followers[i].totals);
	return totals;
}

void follow_summarise(const struct follow *follow)
{
	const struct recording_totals *totals = &follow->other_totals;
	uint32_t refused = follow->plan->no_children ? 0 : atomic_load(&follow->board->refused);

	if (follow->others)
		fprintf(stderr,
			"unweave: %" PRIu32 " more process%s, in %s%s: %" PRIu64 " events, %" PRIu64
			" samples, %s, %" PRIu64 " lost\n",
			follow->others, follow->others == 1 ? "" : "es",
			follow->others == 1 ? "" : "files like ", follow->other_output,
			totals->events, totals->samples, say_bytes(totals->bytes).text,
			totals->lost);
	if (follow->empty)
		fprintf(stderr,
			"unweave: %" PRIu32 " more ended before there was anything to record\n",
			follow->empty);
	if (refused) {
		say_error(NULL, "%" PRIu32 " more were not recorded: too many", refused);
		say_hint("%u at the same time, and %u in all, are followed", FOLLOW_AT_ONCE,
			 FOLLOW_MOST);
	}
	if (follow->claimed)
		holds_say(&follow->holds, &follow->adapters);
	if (follow->failed && !follow->first_result)
		say_diag(NULL, &follow->diag);
}

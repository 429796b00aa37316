/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program may write anything into its own arena, at any time: the recorder
 * must not crash, hang, or write a file that is not one. And what else there is
 * to be refused: a second recorder, and files that are no arenas.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/check.h"
#include "emit/emit.h"
#include "emit/place.h"
#include "program.h"
#include "recording.h"
#include "stress.h"
#include "trace.h"

#define PASS_MAX_NS UINT64_C(10000000000)
#define CHUNKS 64u

enum target { POSITIONS, CHUNK_HEADERS, WORDS, LINES, CONTROL, NAMES, EVERYTHING, TARGETS };

static const char *const target_names[] = {"positions", "chunk headers", "words",     "lines",
					   "control",   "names",         "everything"};

static struct arena_control *control;
static struct arena_chunk *pool;

/* A word that may mean something where it is put. */
static uint64_t nasty(uint64_t now)
{
	uint32_t number = (uint32_t)stress_below(6);
	uint32_t chunk = (uint32_t)stress_below(CHUNKS + 1);

	switch (stress_below(12)) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return stress_below(4096);
	case 3:
		return now + 1;
	case 4:
		return now - 1;
	case 5:
		return position_make(number, chunk, (uint32_t)stress_below(2050));
	case 6:
		return position_make(position_number(now) + 1, chunk, 0);
	case 7:
		return chunk_owner(number, (uint32_t)stress_below(4), (uint32_t)stress_below(3));
	case 8:
		return control->pool_address + stress_below(CHUNKS * ARENA_CHUNK_BYTES) / 8 * 8;
	case 9:
		return now ^ UINT64_C(1) << stress_below(64);
	case 10:
		return stress_random() & UINT64_C(0xffff0000ffff);
	default:
		return stress_random();
	}
}

static void scribble(void *start, size_t bytes)
{
	uint64_t *word = (uint64_t *)start + stress_below(bytes / 8);

	__atomic_store_n(word, nasty(__atomic_load_n(word, __ATOMIC_RELAXED)), __ATOMIC_RELAXED);
}

static void scribble_on(enum target target)
{
	struct arena_line *line = &arena_lines(control)[stress_below(6)];
	struct arena_chunk *chunk = &pool[stress_below(CHUNKS)];

	switch (target) {
	case POSITIONS:
		scribble(line->streams, sizeof(line->streams));
		break;
	case CHUNK_HEADERS:
		scribble(chunk, offsetof(struct arena_chunk, words));
		break;
	case WORDS:
		scribble(chunk->words, sizeof(chunk->words));
		break;
	case LINES:
		scribble(line, offsetof(struct arena_line, streams));
		break;
	case CONTROL:
		/* Not `life`, which would end it. */
		scribble(&control->config, offsetof(struct arena_control, life) -
						   offsetof(struct arena_control, config));
		scribble(&control->lines_used,
			 sizeof(*control) - offsetof(struct arena_control, lines_used));
		break;
	case NAMES:
		scribble(arena_names(control), 4096);
		break;
	default:
		scribble_on((enum target)stress_below(EVERYTHING));
		break;
	}
}

/* Puts a piece of the arena back as it was, so that the drain always finds a way in. */
static void restore(const char *snapshot, size_t bytes)
{
	size_t at = stress_below(bytes / 4096) * 4096;
	size_t from = offsetof(struct arena_control, config) + 4096;

	if (at < from)
		return;
	memcpy((char *)control + at, snapshot + at, 4096);
}

/* Emits something of everything, then does its worst. Never returns. */
static void be_hostile(struct board *board, enum target target)
{
	struct program_options options = {.threads = 3, .hooks = 3000};
	size_t bytes = ARENA_POOL_AT + CHUNKS * ARENA_CHUNK_BYTES;
	char *snapshot = malloc(bytes);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	unweave_thread_idle();
	while (unweave_priv_off(unweave_priv_gate()))
		stress_sleep_us(200);
	program_run(board, &options);
	control = emit_process.control;
	pool = emit_process.pool;
	memcpy(snapshot, control, bytes);
	/* No hook from here on: it would believe what is scribbled. */
	for (uint64_t i = 0;; i++) {
		scribble_on(target);
		if (i % 64 == 0)
			restore(snapshot, bytes);
		if (i % 1024 == 0)
			stress_sleep_us(100);
	}
}

static void record_hostile_program(enum target target)
{
	struct recording_options options = {.path = stress_path("hostile", target),
					    .buffer_bytes = CHUNKS * ARENA_CHUNK_BYTES};
	struct board *board = stress_share(sizeof(*board));
	struct recording recording;
	struct trace trace;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		be_hostile(board, target);
	CHECK(recording_start(&recording, pid, &options));
	stress_sleep_us(stress_size(1000, 10000) * UINT64_C(1000));
	CHECK(recording_stop(&recording));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(recording.board->slowest_ns < PASS_MAX_NS);
	CHECK(recording.board->passes > 1);
	printf("# %s: %" PRIu64 " passes, the slowest %.0f ms, %" PRIu64 " places made no sense\n",
	       target_names[target], recording.board->passes,
	       (double)recording.board->slowest_ns / 1e6, recording.board->totals.drain.damaged);
	CHECK(trace_read(&trace, options.path));
	CHECK_EQ(trace.faults, 0);
	CHECK(trace.closed);
	trace_fini(&trace);
	recording_fini(&recording);
	munmap(board, sizeof(*board));
	unlink(options.path);
}

static void a_program_that_scribbles_over_its_arena_harms_nobody_else(void)
{
	for (int target = 0; target < TARGETS; target++)
		record_hostile_program((enum target)target);
}

/* A process with an arena, and nothing else to do. */
static pid_t start_idle_program(char *ret_path, size_t size, bool record_itself)
{
	struct unweave_options session;
	char *path = stress_share(256);
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		unweave_options_init(&session);
		session.path = stress_path("self", 0);
		unweave_thread_idle();
		if (record_itself)
			unweave_start(&session);
		strcpy(path + 1, place_file());
		path[0] = 1;
		for (;;)
			pause();
	}
	while (!__atomic_load_n(path, __ATOMIC_ACQUIRE))
		stress_sleep_us(200);
	snprintf(ret_path, size, "%s", path + 1);
	munmap(path, 256);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void check_refused(pid_t program, uint32_t recorder)
{
	struct recording_options options = {.path = stress_path("second", 0)};
	struct recording second;
	char expected[64];

	CHECK(!recording_start(&second, program, &options));
	waitpid(second.pid, NULL, 0);
	CHECK_EQ(second.board->result, -EBUSY);
	snprintf(expected, sizeof(expected), "process %d is being recorded already", program);
	CHECK_STR_EQ(second.board->diag.text, expected);
	snprintf(expected, sizeof(expected), "process %u", recorder);
	CHECK(strstr(second.board->diag.hint, expected));
	CHECK(access(options.path, F_OK) < 0);
	recording_fini(&second);
}

static void a_second_recorder_is_refused_in_words(void)
{
	struct recording_options options = {.path = stress_path("first", 0)};
	struct recording first;
	char path[256];
	pid_t pid = start_idle_program(path, sizeof(path), false);

	CHECK(recording_start(&first, pid, &options));
	check_refused(pid, (uint32_t)first.pid);
	recording_kill(&first);
	recording_fini(&first);
	/* But one that comes after the first one's death is not. */
	CHECK(recording_start(&first, pid, &options));
	CHECK(recording_stop(&first));
	recording_fini(&first);
	end(pid);
}

static void a_program_that_records_itself_is_left_to_do_so(void)
{
	char path[256];
	pid_t pid = start_idle_program(path, sizeof(path), true);

	check_refused(pid, (uint32_t)pid);
	end(pid);
	unlink(path);
}

/* What attaching to the arena says after `change` to it. */
static int attach_changed(void (*change)(int fd), struct diag *diag)
{
	struct attachment attachment;
	char path[256];
	pid_t pid = start_idle_program(path, sizeof(path), false);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	int r;

	change(fd);
	close(fd);
	r = find_pid(&attachment, (uint32_t)pid, diag);
	if (r >= 0)
		attach_fini(&attachment);
	end(pid);
	unlink(path);
	return r;
}

static void put(int fd, size_t at, uint64_t value, size_t bytes)
{
	CHECK_EQ(pwrite(fd, &value, bytes, (off_t)at), bytes);
}

static void change_nothing(int fd)
{
	(void)fd;
}

static void change_magic(int fd)
{
	put(fd, offsetof(struct arena_control, magic), 0x6c6c6568, 8);
}

static void change_layout(int fd)
{
	put(fd, offsetof(struct arena_control, layout), ARENA_LAYOUT + 1, 4);
}

static void change_lines(int fd)
{
	put(fd, offsetof(struct arena_control, lines), 1u << 30, 4);
}

static void change_clock(int fd)
{
	put(fd, offsetof(struct arena_control, clock), 77, 4);
}

static void cut_to_nothing(int fd)
{
	CHECK_EQ(ftruncate(fd, 0), 0);
}

static void cut_before_pool(int fd)
{
	CHECK_EQ(ftruncate(fd, ARENA_POOL_AT), 0);
}

static void what_is_no_arena_is_refused_in_words(void)
{
	struct diag diag;

	CHECK_EQ(attach_changed(change_nothing, &diag), 0);
	CHECK_EQ(attach_changed(change_magic, &diag), -EBADMSG);
	CHECK_STR_EQ(diag.text, "not an arena of unweave");
	CHECK_EQ(attach_changed(change_layout, &diag), -EPROTONOSUPPORT);
	CHECK_STR_EQ(diag.text, "the program carries another version of libunweave");
	CHECK_EQ(attach_changed(change_lines, &diag), -EPROTONOSUPPORT);
	CHECK_EQ(attach_changed(change_clock, &diag), -EBADMSG);
	CHECK_EQ(attach_changed(cut_to_nothing, &diag), -EBADMSG);
	CHECK_EQ(attach_changed(cut_before_pool, &diag), -EBADMSG);
	CHECK_EQ(find_pid(&(struct attachment){0}, 4000000, &diag), -ESRCH);
}

/* The tool stands it: without more ado the pages that are gone would end it by SIGBUS. */
static void cut_while_recording(off_t length)
{
	struct recording_options options = {.path = stress_path("cut", (unsigned)length),
					    .tool = true};
	struct recording recording;
	struct trace trace;
	char path[256];
	pid_t pid = start_idle_program(path, sizeof(path), false);

	CHECK(recording_start(&recording, pid, &options));
	stress_sleep_us(20000);
	CHECK_EQ(truncate(path, length), 0);
	CHECK(recording_finish(&recording, 10000));
	CHECK(trace_read(&trace, options.path));
	CHECK(trace.closed);
	CHECK_EQ(trace.faults, 0);
	trace_fini(&trace);
	recording_fini(&recording);
	end(pid);
}

static void a_program_that_cuts_its_arena_short_ends_the_recording_in_good_order(void)
{
	cut_while_recording(ARENA_NAMES_AT);
	cut_while_recording(ARENA_CONTROL_BYTES);
	cut_while_recording(0);
}

int main(int argc, char **argv)
{
	recording_tool = argc > 1 ? argv[1] : NULL;
	stress_begin(120);
	RUN(a_second_recorder_is_refused_in_words);
	RUN(a_program_that_records_itself_is_left_to_do_so);
	RUN(what_is_no_arena_is_refused_in_words);
	RUN(a_program_that_scribbles_over_its_arena_harms_nobody_else);
	if (recording_tool)
		RUN(a_program_that_cuts_its_arena_short_ends_the_recording_in_good_order);
	return check_done();
}

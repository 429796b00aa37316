/* SPDX-License-Identifier: Apache-2.0 */
/* No room for the trace: the program goes on, the file stays valid, and what is missing is known.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit/check.h"
#include "program.h"
#include "recording.h"
#include "stress.h"
#include "trace.h"

#define THREADS 4
#define DISK "1m"
#define SMALL_DISK "64k"
#define FEW_HOOKS 400
#define BALLAST (512 << 10)
#define FILE_LIMIT (4 << 20) /* room for the arena, not for the trace */
#define SMALL_BUFFER "2097152"

static char disk[128], small_disk[128], ballast[160], output[160];
static uint64_t disk_losses; /* in the file that was checked last */

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return written;
}

/* A mount namespace of our own; in a user namespace of our own unless we are root. */
static bool become_able_to_mount(void)
{
	char map[64];

	snprintf(map, sizeof(map), "%u %u 1", geteuid(), geteuid());
	if (geteuid() == 0)
		return unshare(CLONE_NEWNS) == 0;
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_text("/proc/self/uid_map", map);
}

/* A disk of 1 MiB, half of which a ballast takes; and a much smaller one. */
static bool make_disks(void)
{
	snprintf(disk, sizeof(disk), "%s", stress_path("disk", 0));
	snprintf(small_disk, sizeof(small_disk), "%s", stress_path("small", 0));
	snprintf(ballast, sizeof(ballast), "%s/ballast", disk);
	snprintf(output, sizeof(output), "%s/trace", disk);
	return become_able_to_mount() && mkdir(disk, 0700) == 0 && mkdir(small_disk, 0700) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", disk, "tmpfs", 0, "size=" DISK) == 0 &&
	       mount("tmpfs", small_disk, "tmpfs", 0, "size=" SMALL_DISK) == 0;
}

static void put_ballast(void)
{
	int fd = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && posix_fallocate(fd, 0, BALLAST) == 0);
	close(fd);
}

/* Not until blocks could not be written. */
static void await_full_disk(const struct program *program)
{
	uint64_t hooks = program_hooks(program->board);

	while (program_hooks(program->board) < hooks + 300000)
		stress_sleep_us(1000);
}

/* Until the file has so many bytes; false if it never gets them. */
static bool await_size(const char *path, off_t bytes)
{
	uint64_t until = stress_now_ns() + UINT64_C(20000000000);
	struct stat st = {0};

	while (st.st_size < bytes && stress_now_ns() < until) {
		stress_sleep_us(1000);
		(void)!stat(path, &st);
	}
	return st.st_size >= bytes;
}

static struct program_options options_of(void)
{
	return (struct program_options){.threads = THREADS, .pause_us = 200};
}

/* What the file says is all that was tried; `unwritten` of it is lost to the disk. */
static void check(const char *path, const struct program *program)
{
	uint64_t to_disk = 0;
	struct trace trace;

	CHECK(trace_read(&trace, path));
	CHECK_EQ(trace.faults, 0);
	CHECK(trace.closed);
	CHECK(trace_agrees(&trace, 1, program->board, 0));
	for (uint32_t i = 0; i < trace.thread_count; i++)
		for (int aside = 0; aside < 2; aside++)
			to_disk += trace.threads[i].streams[aside].lost[UNWEAVE_LOSS_DISK];
	CHECK(to_disk > 0);
	printf("# %" PRIu64 " events in %" PRIu64 " bytes, %" PRIu64 " lost, %" PRIu64
	       " of them to the disk\n",
	       trace.events, trace.bytes, trace.lost, to_disk);
	disk_losses = to_disk;
	trace_fini(&trace);
}

static void record_on_full_disk(bool freed)
{
	struct recording_options options = {.path = output, .plain = !freed};
	struct program_options work = options_of();
	struct recording recording;
	struct program program;

	put_ballast();
	program_start(&program, &work);
	CHECK(recording_start(&recording, program.pid, &options));
	CHECK(await_size(output, BALLAST / 4));
	await_full_disk(&program);
	if (freed) {
		unlink(ballast);
		CHECK(await_size(output, BALLAST));
	}
	CHECK(program_stop(&program));
	CHECK(recording_finish(&recording, 20000));
	CHECK_EQ(recording.board->totals.error, -ENOSPC);
	check(output, &program);
	CHECK_EQ(recording.board->totals.unwritten, disk_losses);
	recording_fini(&recording);
	program_fini(&program);
	unlink(output);
	unlink(ballast);
}

static void a_disk_that_stays_full_leaves_a_valid_file(void)
{
	record_on_full_disk(false);
}

static void a_disk_that_has_room_again_is_written_to_again(void)
{
	record_on_full_disk(true);
}

/* What is kept for the end is no reason to refuse what comes before it. */
static void a_small_disk_holds_what_fits(void)
{
	struct recording_options options = {.path = output, .plain = true};
	struct program_options work = options_of();
	struct recording recording;
	struct program program;
	struct trace trace;

	snprintf(output, sizeof(output), "%s/trace", small_disk);
	work.hooks = FEW_HOOKS;
	program_start(&program, &work);
	CHECK(recording_start(&recording, program.pid, &options));
	CHECK(program_finish(&program, 20000));
	CHECK(recording_finish(&recording, 20000));
	CHECK_EQ(recording.board->totals.error, 0);
	CHECK_EQ(recording.board->totals.unwritten, 0);
	CHECK(trace_read(&trace, output));
	CHECK(trace.closed);
	CHECK_EQ(trace.lost, 0);
	CHECK(trace.events >= THREADS * FEW_HOOKS);
	printf("# %" PRIu64 " events in %" PRIu64 " bytes\n", trace.events, trace.bytes);
	trace_fini(&trace);
	recording_fini(&recording);
	program_fini(&program);
}

/* The limit is a signal to who does not expect it: a program that records itself must not get it.
 */
static void a_limit_on_file_sizes_does_not_end_a_program_that_records_itself(void)
{
	struct program_options work = options_of();
	struct rlimit before, low;
	struct program program;

	getrlimit(RLIMIT_FSIZE, &before);
	low = before;
	low.rlim_cur = FILE_LIMIT;
	work.trace = stress_path("limited", 0);
	work.pause_us = 0;
	work.buffer_bytes = 1 << 20;
	setenv("UNWEAVE_BUFFER_MAX", SMALL_BUFFER, 1);
	setrlimit(RLIMIT_FSIZE, &low);
	program_start(&program, &work);
	setrlimit(RLIMIT_FSIZE, &before);
	unsetenv("UNWEAVE_BUFFER_MAX");
	CHECK(await_size(work.trace, FILE_LIMIT - (400 << 10)));
	await_full_disk(&program);
	CHECK(program_stop(&program));
	check(work.trace, &program);
	program_fini(&program);
}

static void skip(const char *name)
{
	printf("ok %d - %s # SKIP no mount namespace to be had\n", ++check_tests, name);
}

int main(void)
{
	stress_begin(120);
	RUN(a_limit_on_file_sizes_does_not_end_a_program_that_records_itself);
	if (make_disks()) {
		RUN(a_disk_that_stays_full_leaves_a_valid_file);
		RUN(a_disk_that_has_room_again_is_written_to_again);
		RUN(a_small_disk_holds_what_fits);
		umount2(disk, MNT_DETACH);
		umount2(small_disk, MNT_DETACH);
	} else {
		skip("a disk that stays full leaves a valid file");
		skip("a disk that has room again is written to again");
		skip("a small disk holds what fits");
	}
	return check_done();
}

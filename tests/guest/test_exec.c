/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that exec: the same process, another image, another arena. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "drain/find.h"
#include "hand.h"

#define CHAIN UNWEAVE_MODEL_CHAIN

static char base[64];      /* UNWEAVE_DIR for all of this */
static char directory[96]; /* where the arenas are then */
static const char *self;

/* A guest and the pipes to talk with it: it answers each letter when it has done what that says. */
struct guest {
	pid_t pid;
	int to, from;
};

static void emit_some(void)
{
	uint64_t task = unweave_task_new(UNWEAVE_SITE("guest"), CHAIN, 0, NULL);

	unweave_task_resume(task);
	unweave_task_complete(task, UNWEAVE_OK);
}

static void *emit_and_wait(void *data)
{
	int *pipe = data;

	emit_some();
	(void)!write(pipe[1], "r", 1);
	for (char letter; read(pipe[0], &letter, 1) == 1;) {
		if (letter == 'e')
			emit_some();
		(void)!write(pipe[1], &letter, 1);
	}
	exit(0);
}

static char record_itself(void)
{
	struct unweave_options options;
	int r;

	unweave_options_init(&options);
	options.path = "/dev/null";
	r = unweave_start(&options);
	unweave_stop();
	return r == -EBUSY ? 'b' : 'n';
}

/* A child that calls no hook, and goes when it is killed. */
static void fork_child(void)
{
	pid_t child = fork();

	if (child == 0)
		while (pause() < 0)
			;
	(void)!write(1, &child, sizeof(child));
}

/*
 * e: emit, x: exec, l: leave it all to another thread, s: try to record itself,
 * c: close all descriptors but two, f: fork.
 */
static int be_guest(void)
{
	static int pipe[2] = {0, 1};
	pthread_t thread;

	emit_some();
	(void)!write(1, "r", 1);
	for (char letter; read(0, &letter, 1) == 1;) {
		if (letter == 'e')
			emit_some();
		if (letter == 'x')
			execl(self, self, "guest", NULL);
		if (letter == 's')
			letter = record_itself();
		if (letter == 'c')
			for (int fd = 2; fd < 1024; fd++)
				close(fd);
		if (letter == 'f')
			fork_child();
		if (letter == 'l') {
			pthread_create(&thread, NULL, emit_and_wait, pipe);
			pthread_exit(NULL);
		}
		(void)!write(1, &letter, 1);
	}
	return 0;
}

static bool hears(struct guest *guest, char letter)
{
	char answer = 0;

	return read(guest->from, &answer, 1) == 1 && answer == letter;
}

static void tell(struct guest *guest, char letter, char answer)
{
	CHECK_EQ(write(guest->to, &letter, 1), 1);
	CHECK(hears(guest, answer));
}

static struct guest start_guest(void)
{
	struct guest guest = {0};
	int to[2], from[2];

	CHECK_EQ(pipe(to), 0);
	CHECK_EQ(pipe(from), 0);
	guest.pid = fork();
	if (guest.pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		execl(self, self, "guest", NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	guest.to = to[1];
	guest.from = from[0];
	CHECK(hears(&guest, 'r'));
	return guest;
}

static void end_guest(struct guest *guest)
{
	int status;

	close(guest->to);
	CHECK_EQ(waitpid(guest->pid, &status, 0), guest->pid);
	CHECK_EQ(status, 0);
	close(guest->from);
}

/* Arenas of the process in the directory. */
static int count_arenas(pid_t pid)
{
	char prefix[32];
	struct dirent *entry;
	DIR *entries = opendir(directory);
	int count = 0;

	snprintf(prefix, sizeof(prefix), "%d-", pid);
	while (entries && (entry = readdir(entries)))
		count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	if (entries)
		closedir(entries);
	return count;
}

static void attach(struct attachment *attachment, pid_t pid)
{
	struct diag diag = {0};
	int r = find_pid(attachment, (uint32_t)pid, &diag);

	if (r < 0)
		printf("# %s\n", diag.text);
	CHECK_EQ(r, 0);
}

static void begin(struct hand *hand, pid_t pid)
{
	struct drain_options options = {0};
	struct drain_sink sink = {.thread = hand_thread,
				  .site = hand_site,
				  .events = hand_events,
				  .end = hand_stream_end,
				  .data = hand};

	*hand = (struct hand){0};
	attach(&hand->attachment, pid);
	CHECK_EQ(attach_lock(&hand->attachment, NULL), 0);
	CHECK_EQ(drain_new(&hand->drain, &hand->attachment, &options, &sink, NULL), 0);
}

static void a_program_from_outside_can_be_recorded(void)
{
	struct guest guest = start_guest();
	struct hand hand;

	begin(&hand, guest.pid);
	for (int i = 0; i < 10; i++)
		tell(&guest, 'e', 'e');
	CHECK(drain_pass(hand.drain) > 0);
	CHECK_EQ(hand.events, 30);
	hand_end(&hand);
	tell(&guest, 'e', 'e');
	end_guest(&guest);
	CHECK_EQ(hand.events, 30);
	CHECK_EQ(hand.lost, 0);
	CHECK_EQ(count_arenas(guest.pid), 0);
}

static void after_exec_the_new_arena_is_found(void)
{
	struct guest guest = start_guest();
	struct attachment before, after;

	attach(&before, guest.pid);
	for (int i = 0; i < 20; i++)
		tell(&guest, 'x', 'r');
	attach(&after, guest.pid);
	CHECK(before.inode != after.inode);
	CHECK_EQ(after.pid, guest.pid);
	CHECK_EQ(atomic_load(&after.control->life), ARENA_LIVING);
	CHECK(attach_is_alive(&after));
	/* Nobody recorded the images before: nothing is left of them. */
	CHECK_EQ(count_arenas(guest.pid), 1);
	attach_fini(&before);
	attach_fini(&after);
	end_guest(&guest);
	CHECK_EQ(count_arenas(guest.pid), 0);
}

static void a_recorder_is_told_that_its_image_is_gone(void)
{
	struct guest guest = start_guest();
	struct hand hand, next;

	begin(&hand, guest.pid);
	tell(&guest, 'e', 'e');
	CHECK(drain_pass(hand.drain) >= 0);
	CHECK(!drain_totals(hand.drain).replaced);
	tell(&guest, 'e', 'e');
	tell(&guest, 'x', 'r');
	/* What the old image left is taken; what the new one does is not seen. */
	CHECK(drain_pass(hand.drain) >= 0);
	CHECK_EQ(hand.events, 6);
	CHECK_EQ(hand.threads, 1);
	CHECK(drain_totals(hand.drain).replaced);
	CHECK(drain_totals(hand.drain).program_ended);
	begin(&next, guest.pid);
	tell(&guest, 'e', 'e');
	hand_end(&next);
	CHECK_EQ(next.events, 3);
	hand_end(&hand);
	CHECK_EQ(hand.events, 6);
	end_guest(&guest);
}

static void a_program_whose_first_thread_ended_is_alive(void)
{
	struct guest guest = start_guest();
	struct hand hand;

	begin(&hand, guest.pid);
	tell(&guest, 'e', 'e');
	CHECK_EQ(write(guest.to, "l", 1), 1);
	CHECK(hears(&guest, 'r'));
	for (int i = 0; i < 3; i++) {
		CHECK(drain_pass(hand.drain) >= 0);
		CHECK(attach_is_alive(&hand.attachment));
		tell(&guest, 'e', 'e');
	}
	hand_end(&hand);
	CHECK_EQ(hand.events, 3 + 3 + 9);
	CHECK_EQ(hand.lost, 0);
	end_guest(&guest);
}

static void only_one_recorder_at_a_time(void)
{
	struct guest guest = start_guest();
	struct attachment second;
	struct diag diag = {0};
	struct hand hand;

	begin(&hand, guest.pid);
	attach(&second, guest.pid);
	CHECK_EQ(attach_lock(&second, &diag), -EBUSY);
	CHECK(strstr(diag.text, "recorded already"));
	attach_fini(&second);
	hand_end(&hand);
	attach(&second, guest.pid);
	CHECK_EQ(attach_lock(&second, &diag), 0);
	attach_fini(&second);
	end_guest(&guest);
}

static void a_program_that_is_recorded_cannot_record_itself(void)
{
	struct guest guest = start_guest();
	struct hand hand;

	begin(&hand, guest.pid);
	tell(&guest, 's', 'b');
	hand_end(&hand);
	tell(&guest, 's', 'n');
	end_guest(&guest);
}

/* Without a directory the arena is a memfd, which is found through /proc. */
static void in_a_memfd(void (*test)(void))
{
	setenv("UNWEAVE_DIR", "/nonexistent", 1);
	test();
	setenv("UNWEAVE_DIR", base, 1);
}

static void check_memfd(void)
{
	struct guest guest = start_guest();
	struct hand hand;

	begin(&hand, guest.pid);
	CHECK_EQ(hand.attachment.control->place, ARENA_PLACE_MEMFD);
	tell(&guest, 'e', 'e');
	tell(&guest, 's', 'b');
	hand_end(&hand);
	CHECK_EQ(hand.events, 3);
	/* As root it is found among the mappings too. */
	if (geteuid() == 0) {
		tell(&guest, 'c', 'c');
		begin(&hand, guest.pid);
		tell(&guest, 'e', 'e');
		hand_end(&hand);
		CHECK_EQ(hand.events, 3);
	}
	end_guest(&guest);
}

static void an_arena_in_a_memfd_is_found_and_locked(void)
{
	in_a_memfd(check_memfd);
}

static void check_child(void)
{
	struct guest guest = start_guest();
	struct attachment attachment;
	pid_t child = 0;

	CHECK_EQ(write(guest.to, "f", 1), 1);
	CHECK_EQ(read(guest.from, &child, sizeof(child)), sizeof(child));
	CHECK(hears(&guest, 'f'));
	CHECK_EQ(find_pid(&attachment, (uint32_t)child, NULL), -ENOENT);
	kill(child, SIGKILL);
	end_guest(&guest);
}

static void a_child_without_an_arena_is_not_taken_for_its_parent(void)
{
	check_child();
	in_a_memfd(check_child);
}

static void a_process_without_an_arena_is_told_from_one_that_is_not_there(void)
{
	struct attachment attachment;
	struct diag diag = {0};
	pid_t child = fork();
	int status;

	if (child == 0) {
		pause();
		_exit(0);
	}
	CHECK_EQ(find_pid(&attachment, (uint32_t)child, &diag), -ENOENT);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	CHECK_EQ(find_pid(&attachment, (uint32_t)child, &diag), -ESRCH);
}

int main(int argc, char **argv)
{
	self = argv[0];
	if (argc > 1)
		return be_guest();
	snprintf(base, sizeof(base), "/dev/shm/unweave-exec-%d", getpid());
	snprintf(directory, sizeof(directory), "%s/unweave-%d", base, geteuid());
	if (mkdir(base, 0700) < 0) {
		printf("1..0 # SKIP no /dev/shm here\n");
		return 0;
	}
	setenv("UNWEAVE_DIR", base, 1);
	RUN(a_program_from_outside_can_be_recorded);
	RUN(after_exec_the_new_arena_is_found);
	RUN(a_recorder_is_told_that_its_image_is_gone);
	RUN(a_program_whose_first_thread_ended_is_alive);
	RUN(only_one_recorder_at_a_time);
	RUN(a_program_that_is_recorded_cannot_record_itself);
	RUN(an_arena_in_a_memfd_is_found_and_locked);
	RUN(a_child_without_an_arena_is_not_taken_for_its_parent);
	RUN(a_process_without_an_arena_is_told_from_one_that_is_not_there);
	rmdir(directory);
	CHECK_EQ(rmdir(base), 0);
	return check_done();
}

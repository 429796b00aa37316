/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "symbol/origin.h"

static const char *subject; /* a program with a build id */

/* The mapping that holds an address, and what else was seen. */
struct search {
	uint64_t address;
	uint64_t last_end;
	bool ordered, found;
	struct symbol_module module;
	char path[4096];
	uint8_t build_id[BUILD_ID_MOST];
	bool vdso, vdso_build_id;
};

static int look(void *data, const struct symbol_module *module)
{
	struct search *search = data;

	search->ordered &= module->start >= search->last_end && module->start < module->end;
	search->last_end = module->end;
	if (strcmp(module->path, "[vdso]") == 0) {
		search->vdso = true;
		search->vdso_build_id = module->build_id_bytes > 0;
	}
	if (search->address >= module->start && search->address < module->end) {
		search->found = true;
		search->module = *module;
		snprintf(search->path, sizeof(search->path), "%s", module->path);
		if (module->build_id)
			memcpy(search->build_id, module->build_id, module->build_id_bytes);
	}
	return 0;
}

static struct search search_for(uint32_t pid, const void *address)
{
	struct search search = {.address = (uintptr_t)address, .ordered = true};

	CHECK_EQ(maps_each(pid, look, &search), 0);
	CHECK(search.ordered);
	return search;
}

static void our_own_code_is_there_with_its_build_id(void)
{
	struct search search = search_for((uint32_t)getpid(), (void *)look);
	char own[4096] = "";
	uint8_t id[BUILD_ID_MOST];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t bytes = origin_build_id(fd, id);

	close(fd);
	CHECK(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	CHECK(search.found);
	CHECK_STR_EQ(search.path, own);
	CHECK_EQ(search.module.build_id_bytes, bytes);
	CHECK(memcmp(search.build_id, id, bytes) == 0);
	CHECK(search.vdso && search.vdso_build_id);
}

static void a_mapping_knows_its_place_in_the_file(void)
{
	struct search search = search_for((uint32_t)getpid(), (void *)look);
	uint8_t bytes[16];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	off_t at = (off_t)((uintptr_t)look - search.module.start + search.module.offset);

	CHECK_EQ(pread(fd, bytes, sizeof(bytes), at), sizeof(bytes));
	CHECK(memcmp(bytes, (void *)look, sizeof(bytes)) == 0);
	close(fd);
}

static void *map_copy(const char *path)
{
	char command[8192];
	void *code;
	int fd;

	snprintf(command, sizeof(command), "cp '%s' '%s'", subject, path);
	CHECK_EQ(system(command), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	CHECK(code != MAP_FAILED);
	return code;
}

static void a_deleted_file_is_said_to_be_so(void)
{
	char path[] = "/tmp/unweave maps XXXXXX";
	uint8_t id[BUILD_ID_MOST];
	int fd = mkstemp(path);
	void *code = map_copy(path);
	size_t bytes = origin_build_id(fd, id);
	struct search search = search_for((uint32_t)getpid(), code);

	/* A path may have spaces. */
	CHECK_STR_EQ(search.path, path);
	CHECK_EQ(search.module.build_id_bytes, bytes);
	unlink(path);
	search = search_for((uint32_t)getpid(), code);
	CHECK(strncmp(search.path, path, strlen(path)) == 0 && origin_is_deleted(search.path));
	/* Its build id takes rights that this test may not have: but never another's. */
	CHECK(search.module.build_id_bytes == 0 ||
	      (search.module.build_id_bytes == bytes && memcmp(search.build_id, id, bytes) == 0));
	munmap(code, 4096);
	close(fd);
}

static void memory_without_a_file_is_there_without_a_build_id(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct search search = search_for((uint32_t)getpid(), code);

	CHECK(search.found && search.module.build_id_bytes == 0);
	CHECK_STR_EQ(search.path, "[anon]");
	munmap(code, 4096);
	CHECK(!search_for((uint32_t)getpid(), code).found);
}

static int stop(void *data, const struct symbol_module *module)
{
	(void)module;
	++*(int *)data;
	return 7;
}

static void what_a_visit_returns_ends_it(void)
{
	int visits = 0;

	CHECK_EQ(maps_each((uint32_t)getpid(), stop, &visits), 7);
	CHECK_EQ(visits, 1);
}

static void a_process_that_is_gone_is_an_error(void)
{
	int visits = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	CHECK_EQ(maps_each((uint32_t)child, stop, &visits), -ENOENT);
	CHECK_EQ(visits, 0);
}

/* As a container does: a view of its own of the file system, whose root is `root`. */
static bool enter_root(const char *root)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount(root, root, NULL, MS_BIND, NULL) == 0 && chdir(root) == 0 &&
	       syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 &&
	       chdir("/") == 0;
}

/* Maps /program there, tells where, and stays. */
static void live_in_root(const char *root, int tell)
{
	void *code = MAP_FAILED;
	int fd = enter_root(root) ? open("/program", O_RDONLY) : -1;

	if (fd >= 0)
		code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (code != MAP_FAILED && write(tell, &code, sizeof(code)) == sizeof(code))
		pause();
	_exit(0);
}

static void check_container(uint32_t pid, const void *code, const uint8_t *id, size_t bytes)
{
	struct search search = search_for(pid, code);
	uint8_t other[BUILD_ID_MOST];
	int fd;

	CHECK_STR_EQ(search.path, "/program");
	CHECK_EQ(search.module.build_id_bytes, bytes);
	CHECK(memcmp(search.build_id, id, bytes) == 0);
	/* A link stays inside, wherever it says that it leads. */
	fd = origin_open(pid, "/link");
	CHECK(fd >= 0 && origin_build_id(fd, other) == bytes && memcmp(other, id, bytes) == 0);
	close(fd);
	CHECK_EQ(origin_open(pid, "/etc/passwd"), -ENOENT);
	CHECK_EQ(origin_open(pid, "/pipe"), -EINVAL);
}

static void the_files_of_a_container_are_its_own(void)
{
	char root[] = "/tmp/unweave-root-XXXXXX", command[8192];
	uint8_t id[BUILD_ID_MOST];
	int fd = open(subject, O_RDONLY | O_CLOEXEC), pipes[2];
	size_t bytes = origin_build_id(fd, id);
	void *code;
	pid_t child;

	close(fd);
	CHECK(mkdtemp(root) && pipe(pipes) == 0);
	snprintf(command, sizeof(command),
		 "cp '%s' %s/program && ln -s /program %s/link && mkfifo %s/pipe", subject, root,
		 root, root);
	CHECK_EQ(system(command), 0);
	child = fork();
	if (child == 0)
		live_in_root(root, pipes[1]);
	close(pipes[1]);
	if (read(pipes[0], &code, sizeof(code)) == sizeof(code))
		check_container((uint32_t)child, code, id, bytes);
	else
		printf("# not permitted here\n");
	close(pipes[0]);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	CHECK_EQ(system(command), 0);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	subject = argv[1];
	RUN(our_own_code_is_there_with_its_build_id);
	RUN(a_mapping_knows_its_place_in_the_file);
	RUN(a_deleted_file_is_said_to_be_so);
	RUN(memory_without_a_file_is_there_without_a_build_id);
	RUN(the_files_of_a_container_are_its_own);
	RUN(what_a_visit_returns_ends_it);
	RUN(a_process_that_is_gone_is_an_error);
	return check_done();
}

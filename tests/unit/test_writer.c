/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "plain_decoder.h"
#include "trace/writer.h"

static char directory[64];

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static size_t read_file(const char *path, uint8_t *bytes, size_t most)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, bytes, most);

	close(fd);
	return n > 0 ? (size_t)n : 0;
}

static struct block block_of(uint32_t raw)
{
	return (struct block){
		.kind = BLOCK_EVENTS,
		.flags = BLOCK_FLAG_ASIDE,
		.raw = raw,
		.thread = 0x01020304,
		.first = UINT64_C(0x1112131415161718),
		.last = UINT64_C(0x2122232425262728),
		.number = UINT64_C(0x3132333435363738),
		.events = UINT64_C(0x4142434445464748),
	};
}

static struct writer *new_writer(writer_compress compress)
{
	struct writer *writer = NULL;
	struct diag diag = {0};

	CHECK_EQ(writer_new(&writer, path_of("trace"), compress, NULL, &diag), 0);
	CHECK_STR_EQ(diag.text, "");
	return writer;
}

static void a_new_file_has_its_header(void)
{
	static const uint8_t expected[16] = {0x89, 'U', 'N', 'W', '\r', '\n', 0x1a,
					     '\n', 1,   0,   0,   0,    16};
	struct writer *writer = new_writer(NULL);
	uint8_t bytes[100];
	struct stat st;

	CHECK_EQ(writer_bytes(writer), 16);
	CHECK_EQ(read_file(path_of("trace"), bytes, sizeof(bytes)), 16);
	CHECK(memcmp(bytes, expected, 16) == 0);
	CHECK_EQ(stat(path_of("trace"), &st), 0);
	CHECK_EQ(st.st_mode & 0777, 0644);
	CHECK(writer_free(writer) == NULL);
	CHECK(writer_free(NULL) == NULL);
}

static void a_block_is_written_field_by_field(void)
{
	struct block block = block_of(5), got;
	struct writer *writer = new_writer(NULL);
	uint8_t bytes[200] = {0};

	CHECK_EQ(writer_put(writer, &block, (const uint8_t *)"hello", NULL), 0);
	CHECK_EQ(writer_bytes(writer), 16 + 64 + 8);
	CHECK_EQ(read_file(path_of("trace"), bytes, sizeof(bytes)), 88);
	CHECK(memcmp(bytes + 16, "UWBK\x05\x00\x01\x00\x05\x00\x00\x00\x05\x00\x00\x00", 16) == 0);
	CHECK(memcmp(bytes + 80, "hello\0\0\0", 8) == 0);
	CHECK(plain_block(bytes, 88, 16, &got));
	CHECK_EQ(got.stored, 5);
	CHECK_EQ(got.raw, 5);
	CHECK_EQ(got.first, block.first);
	CHECK_EQ(got.last, block.last);
	CHECK_EQ(got.number, block.number);
	CHECK_EQ(got.events, block.events);
	CHECK_EQ(got.thread, block.thread);
	CHECK_EQ(plain_after(16, &got), 88);
	writer_free(writer);
}

static void the_largest_block_fits_and_a_larger_one_is_refused(void)
{
	struct block block = block_of(FORMAT_PAYLOAD_MAX);
	struct writer *writer = new_writer(NULL);
	uint8_t *payload = calloc(1, FORMAT_PAYLOAD_MAX + 1);

	CHECK_EQ(writer_put(writer, &block, payload, NULL), 0);
	CHECK_EQ(writer_bytes(writer), 16 + 64 + FORMAT_PAYLOAD_MAX);
	block.raw++;
	CHECK_EQ(writer_put(writer, &block, payload, NULL), -EMSGSIZE);
	block.raw = 0;
	CHECK_EQ(writer_put(writer, &block, NULL, NULL), 0);
	CHECK_EQ(writer_bytes(writer), 16 + 64 + FORMAT_PAYLOAD_MAX + 64);
	free(payload);
	writer_free(writer);
}

/* Stands for zstd: keeps the first half. */
static size_t halve(void *data, void *to, size_t capacity, const void *from, size_t length)
{
	(void)data;
	if (length / 2 > capacity)
		return 0;
	memcpy(to, from, length / 2);
	return length / 2;
}

static size_t cannot(void *data, void *to, size_t capacity, const void *from, size_t length)
{
	(void)data;
	(void)from;
	(void)length;
	memset(to, 'x', capacity);
	return 0;
}

static void a_block_that_shrinks_is_stored_compressed(void)
{
	struct block block = block_of(6), got;
	struct writer *writer = new_writer(halve);
	uint8_t bytes[200];

	CHECK_EQ(writer_put(writer, &block, (const uint8_t *)"abcdef", NULL), 0);
	CHECK_EQ(read_file(path_of("trace"), bytes, sizeof(bytes)), 88);
	CHECK(plain_block(bytes, 88, 16, &got));
	CHECK_EQ(got.codec, BLOCK_ZSTD);
	CHECK_EQ(got.stored, 3);
	CHECK_EQ(got.raw, 6);
	CHECK(memcmp(bytes + 80, "abc\0\0\0\0\0", 8) == 0);
	writer_free(writer);
}

static void a_block_that_does_not_shrink_stays_plain(void)
{
	struct block block = block_of(6), got;
	struct writer *writer = new_writer(cannot);
	uint8_t bytes[200];

	CHECK_EQ(writer_put(writer, &block, (const uint8_t *)"abcdef", NULL), 0);
	CHECK_EQ(read_file(path_of("trace"), bytes, sizeof(bytes)), 88);
	CHECK(plain_block(bytes, 88, 16, &got));
	CHECK_EQ(got.codec, BLOCK_PLAIN);
	CHECK_EQ(got.stored, 6);
	CHECK(memcmp(bytes + 80, "abcdef\0\0", 8) == 0);
	writer_free(writer);
}

static void the_size_to_come_is_known_between_the_halves(void)
{
	struct block block = block_of(9);
	struct writer *writer = new_writer(NULL);

	CHECK_EQ(writer_bytes_after(writer), 16);
	CHECK_EQ(writer_prepare(writer, &block, (const uint8_t *)"123456789"), 0);
	CHECK_EQ(writer_bytes(writer), 16);
	CHECK_EQ(writer_bytes_after(writer), 16 + 64 + 16);
	CHECK_EQ(writer_commit(writer, NULL), 0);
	CHECK_EQ(writer_bytes(writer), 16 + 64 + 16);
	CHECK_EQ(writer_bytes_after(writer), 16 + 64 + 16);
	writer_free(writer);
}

/* RLIMIT_FSIZE stands for a full disk: the block is cut by it in the middle. */
static void a_block_that_does_not_fit_leaves_the_file_as_it_was(void)
{
	struct block block = block_of(5000), got;
	struct writer *writer = new_writer(NULL);
	struct rlimit before, limit;
	uint8_t bytes[6000], payload[5000] = {0};
	struct diag diag = {0};
	struct stat st;

	signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 4000;
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	CHECK_EQ(writer_put(writer, &block, payload, &diag), -EFBIG);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
	CHECK_STR_EQ(diag.text, "the file would be larger than is allowed");
	CHECK_EQ(writer_bytes(writer), 16);
	CHECK_EQ(writer_bytes_after(writer), 16);
	CHECK_EQ(stat(path_of("trace"), &st), 0);
	CHECK_EQ(st.st_size, 16);

	CHECK_EQ(writer_put(writer, &block, payload, &diag), 0);
	CHECK_EQ(read_file(path_of("trace"), bytes, sizeof(bytes)), 16 + 64 + 5000);
	CHECK(plain_block(bytes, 16 + 64 + 5000, 16, &got));
	writer_free(writer);
}

static void a_small_disk_is_asked_for_less(void)
{
	struct block block = block_of(1000);
	struct writer *writer = new_writer(NULL);
	uint8_t payload[1000] = {0};
	struct rlimit before, limit;
	struct stat st;

	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 4000;
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	CHECK_EQ(writer_prepare(writer, &block, payload), 0);
	CHECK_EQ(writer_reserve(writer, 8000, 2000), 0);
	CHECK_EQ(writer_commit(writer, NULL), 0);
	CHECK_EQ(writer_prepare(writer, &block, payload), 0);
	CHECK_EQ(writer_reserve(writer, 8000, 2000), -EFBIG);
	CHECK_EQ(writer_bytes_after(writer), 16 + 64 + 1000);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
	writer_free(writer);
	CHECK_EQ(stat(path_of("trace"), &st), 0);
	CHECK_EQ(st.st_size, 16 + 64 + 1000);
}

static int descriptor_of_trace(void)
{
	struct stat trace, st;

	CHECK_EQ(stat(path_of("trace"), &trace), 0);
	for (int fd = 3; fd < 100; fd++)
		if (fstat(fd, &st) == 0 && st.st_ino == trace.st_ino && st.st_dev == trace.st_dev)
			return fd;
	return -1;
}

static void a_file_that_took_over_the_descriptor_is_left_alone(void)
{
	struct block block = block_of(5);
	struct writer *writer = new_writer(NULL);
	int fd = descriptor_of_trace();
	int other = open(path_of("victim"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct diag diag = {0};
	struct stat st;

	CHECK(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK_EQ(write(other, "mine", 4), 4);
	CHECK_EQ(dup2(other, fd), fd);
	CHECK_EQ(writer_put(writer, &block, (const uint8_t *)"hello", &diag), -EBADF);
	CHECK_STR_EQ(diag.text, "the program closed the descriptor of the trace");
	writer_free(writer);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_size, 4);
	close(fd);
	close(other);
}

static void check_refused(const char *path, int error, const char *sentence)
{
	struct writer *writer = NULL;
	struct diag diag = {0};

	CHECK_EQ(writer_new(&writer, path, NULL, NULL, &diag), error);
	CHECK_STR_EQ(diag.text, sentence);
	CHECK(writer == NULL);
	CHECK_EQ(writer_new(&writer, path, NULL, NULL, NULL), error);
}

static void what_cannot_be_a_trace_is_refused_in_a_sentence(void)
{
	CHECK_EQ(mkfifo(path_of("fifo"), 0600), 0);
	check_refused(path_of("fifo"), -ENXIO, "is not a regular file");
	check_refused("/dev/null", -EINVAL, "is not a regular file");
	check_refused(directory, -EISDIR, "is a directory");
	check_refused(path_of("no/such"), -ENOENT, "the directory it would be in does not exist");
	check_refused(path_of("trace/below"), -ENOTDIR, "a part of its path is not a directory");
}

static void a_directory_without_permission_is_refused(void)
{
	CHECK_EQ(mkdir(path_of("closed"), 0500), 0);
	/* Root may write anywhere, so become nobody for the call. */
	if (geteuid() == 0) {
		CHECK_EQ(chmod(directory, 0755), 0);
		CHECK_EQ(seteuid(65534), 0);
		check_refused(path_of("closed/trace"), -EACCES, "permission denied");
		CHECK_EQ(seteuid(0), 0);
	} else {
		check_refused(path_of("closed/trace"), -EACCES, "permission denied");
	}
}

static void remove_all(void)
{
	static const char *const names[] = {"trace", "victim", "fifo"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(path_of(names[i]));
	rmdir(path_of("closed"));
	rmdir(directory);
}

int main(void)
{
	const char *base = getenv("TMPDIR");

	umask(022);
	snprintf(directory, sizeof(directory), "%.40s/unweave-XXXXXX", base ? base : "/tmp");
	if (!mkdtemp(directory))
		return 1;
	RUN(a_new_file_has_its_header);
	RUN(a_block_is_written_field_by_field);
	RUN(the_largest_block_fits_and_a_larger_one_is_refused);
	RUN(a_block_that_shrinks_is_stored_compressed);
	RUN(a_block_that_does_not_shrink_stays_plain);
	RUN(the_size_to_come_is_known_between_the_halves);
	RUN(a_block_that_does_not_fit_leaves_the_file_as_it_was);
	RUN(a_small_disk_is_asked_for_less);
	RUN(a_file_that_took_over_the_descriptor_is_left_alone);
	RUN(what_cannot_be_a_trace_is_refused_in_a_sentence);
	RUN(a_directory_without_permission_is_refused);
	remove_all();
	return check_done();
}

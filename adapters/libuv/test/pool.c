/* SPDX-License-Identifier: Apache-2.0 */
/* What the thread pool does: files, names, work; and what is cancelled before it does it. */
#include <fcntl.h>
#include <string.h>

#include "log.h"

static uv_fs_t fs;
static uv_file file;
static char text[64];

static void closed(uv_fs_t *req)
{
	ONCE(req, (int)req->result);
	uv_fs_req_cleanup(req);
	ONCE_DONE;
}

static void has_read(uv_fs_t *req)
{
	ONCE(req, (int)req->result);
	uv_fs_req_cleanup(req);
	ARM(req, "fs", closed);
	CHECK(uv_fs_close(req->loop, req, file, closed) == 0);
	ONCE_DONE;
}

static void opened(uv_fs_t *req)
{
	uv_buf_t buffer = uv_buf_init(text, sizeof(text));

	ONCE(req, (int)req->result);
	file = (uv_file)req->result;
	uv_fs_req_cleanup(req);
	ARM(req, "fs", has_read);
	CHECK(uv_fs_read(req->loop, req, file, &buffer, 1, 0, has_read) == 0);
	ONCE_DONE;
}

static void not_there(uv_fs_t *req)
{
	ONCE(req, (int)req->result);
	CHECK(req->result == UV_ENOENT);
	uv_fs_req_cleanup(req);
	ONCE_DONE;
}

void test_files(struct looped *looped)
{
	uv_fs_t missing, at_once;

	memset(&fs, 0xa5, sizeof(fs));
	ARM(&fs, "fs", opened);
	CHECK(uv_fs_open(&looped->loop, &fs, "/etc/passwd", O_RDONLY, 0, opened) == 0);
	ARM(&missing, "fs", not_there);
	CHECK(uv_fs_stat(&looped->loop, &missing, "/there is no such file", not_there) == 0);
	/* Without a callback it is no operation, but done. */
	CHECK(uv_fs_stat(NULL, &at_once, "/etc", NULL) == 0);
	uv_fs_req_cleanup(&at_once);
	loop_run(looped);
}

static void resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
	ONCE(req, status);
	CHECK(status < 0 || found);
	uv_freeaddrinfo(found);
	ONCE_DONE;
}

static void named(uv_getnameinfo_t *req, int status, const char *host, const char *service)
{
	ONCE(req, status);
	CHECK(status < 0 || (strcmp(host, "127.0.0.1") == 0 && strcmp(service, "80") == 0));
	ONCE_DONE;
}

static void drawn(uv_random_t *req, int status, void *buffer, size_t length)
{
	ONCE(req, status);
	CHECK(buffer == text && length == 8);
	ONCE_DONE;
}

/* A run on another thread; log_wake(): then it can go on, by nobody that is known. */
static void work(uv_work_t *req)
{
	void *outer = log_enter(req->data);

	log_leave(outer);
	log_wake(req->data, NULL);
}

static void after_work(uv_work_t *req, int status)
{
	ONCE(req, status);
	ONCE_DONE;
}

static void work_alone(uv_work_t *req)
{
	ONCE(req, 0);
	ONCE_DONE;
}

struct batch {
	uv_getaddrinfo_t address;
	uv_getnameinfo_t name;
	uv_random_t random;
	uv_work_t work, alone;
	uv_fs_t fs;
};

static void submit(uv_loop_t *loop, struct batch *batch)
{
	struct addrinfo hints = {.ai_family = AF_INET, .ai_flags = AI_NUMERICHOST};
	struct sockaddr_in address;

	uv_ip4_addr("127.0.0.1", 80, &address);
	ARM(&batch->address, "dns", resolved);
	CHECK(!uv_getaddrinfo(loop, &batch->address, resolved, "127.0.0.1", NULL, &hints));
	ARM(&batch->name, "dns", named);
	CHECK(!uv_getnameinfo(loop, &batch->name, named, (struct sockaddr *)&address,
			      NI_NUMERICHOST | NI_NUMERICSERV));
	ARM(&batch->random, "random", drawn);
	CHECK(!uv_random(loop, &batch->random, text, 8, 0, drawn));
	ARM(&batch->work, "work", work);
	CHECK(!uv_queue_work(loop, &batch->work, work, after_work));
	ARM(&batch->alone, "work", work_alone);
	CHECK(!uv_queue_work(loop, &batch->alone, work_alone, NULL));
	ARM(&batch->fs, "fs", closed);
	/* One that the pool does in all versions, not the kernel by itself. */
	CHECK(!uv_fs_access(loop, &batch->fs, "/etc", 0, closed));
}

void test_pool(struct looped *looped)
{
	struct batch *batch = rubbish(sizeof(*batch));

	submit(&looped->loop, batch);
	loop_run(looped);
	free(batch);
}

/* All threads of the pool wait here, while what is queued behind them is cancelled. */
#define THREADS 4

static uv_sem_t all_here, go_on;

static void block(uv_work_t *req)
{
	ONCE(req, 0);
	uv_sem_post(&all_here);
	uv_sem_wait(&go_on);
	ONCE_DONE;
}

static void cancel(void *req)
{
	CHECK(uv_cancel(req) == 0);
	log_wake(((uv_req_t *)req)->data, log_current());
}

void test_cancels(struct looped *looped)
{
	struct batch *batch = rubbish(sizeof(*batch));
	uv_work_t blocks[THREADS];

	uv_sem_init(&all_here, 0);
	uv_sem_init(&go_on, 0);
	for (int i = 0; i < THREADS; i++) {
		ARM(&blocks[i], "work", block);
		CHECK(uv_queue_work(&looped->loop, &blocks[i], block, NULL) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		uv_sem_wait(&all_here);
	submit(&looped->loop, batch);
	cancel(&batch->address);
	cancel(&batch->name);
	cancel(&batch->random);
	cancel(&batch->work);
	cancel(&batch->fs);
	/* Nobody is to be called to hear of this one. */
	CHECK(uv_cancel((uv_req_t *)&batch->alone) == 0);
	log_stop(batch->alone.data);
	/* What runs cannot be cancelled. */
	CHECK(uv_cancel((uv_req_t *)&blocks[0]) == UV_EBUSY);
	for (int i = 0; i < THREADS; i++)
		uv_sem_post(&go_on);
	loop_run(looped);
	free(batch);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/arm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena/board.h"
#include "arena/where.h"
#include "emit/emit.h"
#include "emit/place.h"
#include "emit/text.h"

/* Of a process that was not asked for: there may be many. Its recorder gives it the rest. */
#define CHILD_CHUNKS 32u

/* What the environment says. */
struct order {
	uint64_t pid;
	uint64_t keywords;
	uint64_t policy;
	uint64_t chunks;
	uint64_t recorder; /* 0: whoever comes */
	uint64_t fd;       /* of its board */
	uint64_t cookie;   /* of the board; 0: there is none */
};

/* As it was when the process began; a child of fork() has it from its parent. */
static struct {
	bool known;
	struct order order;
	struct arena_board *board; /* NULL: there is none */
	uint64_t namespace;        /* in which the recorder has the number that the order says */
} prepared;

static uint64_t next_number(const char **text)
{
	char *end;
	uint64_t number = strtoull(*text, &end, 10);

	*text = *end == ':' ? end + 1 : end;
	return number;
}

static bool read_order(struct order *ret)
{
	const char *text = secure_getenv(ARENA_ARM_VARIABLE);

	if (!text)
		return false;
	ret->pid = next_number(&text);
	ret->keywords = next_number(&text);
	ret->policy = next_number(&text);
	ret->chunks = next_number(&text);
	ret->recorder = next_number(&text);
	ret->fd = next_number(&text);
	ret->cookie = next_number(&text);
	return true;
}

/* NULL if there is none: its recorder is gone, or of another pid namespace, or of another user. */
static struct arena_board *open_board(const struct order *order)
{
	char name[64];
	struct text path = text_in(name, sizeof(name));
	struct arena_board *board;
	struct stat st;
	int fd;

	if (!order->cookie)
		return NULL;
	text_put(&path, "/proc/");
	text_put_number(&path, order->recorder);
	text_put(&path, "/fd/");
	text_put_number(&path, order->fd);
	fd = open(name, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	/* Another file under that number may be too short to be looked at. */
	board = fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof(*board)
			? mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			: MAP_FAILED;
	close(fd);
	if (board == MAP_FAILED)
		return NULL;
	if (board->cookie == order->cookie)
		return board;
	munmap(board, sizeof(*board));
	return NULL;
}

bool arm_prepare(void)
{
	if (prepared.known || !read_order(&prepared.order))
		return prepared.known;
	prepared.board = open_board(&prepared.order);
	prepared.namespace = place_namespace();
	prepared.known = true;
	return true;
}

static bool take_room(struct arena_board *board)
{
	uint32_t room = atomic_load(&board->room);

	while (room)
		if (atomic_compare_exchange_weak(&board->room, &room, room - 1))
			return true;
	atomic_fetch_add(&board->refused, 1);
	return false;
}

/* False if there is no memory for it. */
static bool begin_as_ordered(struct arena_control *control, const struct order *order,
			     uint64_t chunks)
{
	struct arena_config *config = &control->config;

	if (chunks > control->chunks_max)
		chunks = control->chunks_max;
	if (arena_populate(emit_process.pool, chunks * ARENA_CHUNK_BYTES) < 0)
		return false;
	atomic_store(&config->policy, (uint32_t)order->policy);
	atomic_store(&config->keywords, order->keywords);
	atomic_store(&config->chunks, (uint32_t)chunks);
	for (uint32_t i = 0; i < chunks; i++)
		chunk_release(control, emit_process.pool, i);
	atomic_store(&config->heartbeat, clock_monotonic());
	atomic_store(&control->armed, order->recorder ? (uint32_t)order->recorder : 1);
	config->hot.gate =
		EMIT_FIRST_GATE(order->keywords ? ARENA_MODE_EVENTS : ARENA_MODE_SAMPLES);
	return true;
}

static void sign_in(struct arena_board *board)
{
	uint32_t place = atomic_fetch_add(&board->begun, 1) % ARENA_BOARD_NAMES;

	atomic_store(&board->names[place], (uint64_t)geteuid() << 32 | (uint32_t)getpid());
}

/* The process that was started begins in any case. */
static void join_board(struct arena_control *control, const struct order *order,
		       struct arena_board *board)
{
	bool own = order->pid == (uint64_t)getpid();

	if (!own && !take_room(board))
		return;
	if (begin_as_ordered(control, order,
			     own || order->chunks < CHILD_CHUNKS ? order->chunks : CHILD_CHUNKS))
		sign_in(board);
	else if (!own)
		atomic_fetch_add(&board->refused, 1);
}

/* One that was killed left its board as it was. False where that cannot be known. */
static bool is_recorder_gone(void)
{
	return prepared.order.recorder && kill((pid_t)prepared.order.recorder, 0) < 0 &&
	       errno == ESRCH && place_namespace() == prepared.namespace;
}

void arm_begin(struct arena_control *control)
{
	const struct order *order = &prepared.order;

	if (!arm_prepare() || is_recorder_gone())
		return;
	/* A recorder that has had enough takes its cookie away. */
	if (prepared.board && prepared.board->cookie == order->cookie)
		join_board(control, order, prepared.board);
	else if (order->pid == (uint64_t)getpid())
		begin_as_ordered(control, order, order->chunks);
}

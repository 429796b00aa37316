/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/native.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drain/memory.h"
#include "symbol/machine.h"

#define PAGE 4096u
#define STACK_PAGES 16u /* that are copied at most */

/* The text of a file of the thread's; false if it cannot be had. */
static bool read_file(const struct attachment *attachment, uint32_t tid, const char *name, char *to,
		      size_t room)
{
	char path[96];
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/%s", attachment->pid, tid,
		 name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, to, room - 1);
		close(fd);
	}
	to[got > 0 ? got : 0] = '\0';
	return got > 0;
}

/* The last two words of "NUMBER ARGUMENTS... SP PC"; of a thread that runs there are none. */
static bool read_registers(const struct attachment *attachment, uint32_t tid, uint64_t *ret_sp,
			   uint64_t *ret_pc)
{
	char text[256];
	char *at;

	if (!read_file(attachment, tid, "syscall", text, sizeof(text)))
		return false;
	for (int words = 2; words; words--) {
		at = strrchr(text, ' ');
		if (!at || sscanf(at, " %" SCNx64, words == 2 ? ret_pc : ret_sp) != 1)
			return false;
		*at = '\0';
	}
	return *ret_sp && *ret_pc;
}

/* As many bytes as are there. */
static size_t read_stack(const struct attachment *attachment, uint64_t sp, uint8_t *to)
{
	size_t bytes = 0, piece = PAGE - sp % PAGE;
	int error = 0;

	while (bytes + PAGE <= STACK_PAGES * PAGE &&
	       memory_read(attachment, to + bytes, sp + bytes, piece, &error)) {
		bytes += piece;
		piece = PAGE;
	}
	return bytes;
}

static void unwind_stack(struct native *ret, const struct attachment *attachment,
			 struct unwinder *unwinder, uint64_t sp, uint64_t pc)
{
	uint8_t stack[STACK_PAGES * PAGE];
	/* The other registers are not known: what needs them is where the stack ends. */
	struct unwind_input input = {.sp = sp, .stack = stack};

	input.registers[MACHINE_SP] = sp;
	input.registers[MACHINE_PC] = pc;
	input.bytes = read_stack(attachment, sp, stack);
	ret->count = unwind(unwinder, &input, ret->frames, NULL, NATIVE_FRAMES).count;
}

static void read_kernel(struct native *ret, const struct attachment *attachment, uint32_t tid)
{
	if (!read_file(attachment, tid, "wchan", ret->kernel, sizeof(ret->kernel)) ||
	    strcmp(ret->kernel, "0") == 0)
		ret->kernel[0] = '\0';
}

void native_look(struct native *ret, const struct attachment *attachment, uint32_t tid,
		 struct unwinder *unwinder)
{
	uint64_t sp = 0, pc = 0, sp_after = 0, pc_after = 0;

	*ret = (struct native){0};
	/* Of another namespace, its thread ids are others' here. */
	if (!tid || attachment->foreign || !read_registers(attachment, tid, &sp, &pc))
		return;
	read_kernel(ret, attachment, tid);
	if (unwinder)
		unwind_stack(ret, attachment, unwinder, sp, pc);
	ret->asleep = read_registers(attachment, tid, &sp_after, &pc_after) && sp_after == sp &&
		      pc_after == pc;
	if (!ret->asleep)
		*ret = (struct native){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/record.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#define ATTR_LEAST 64u /* bytes: the first version */
#define ATTR_MOST 4096u

#define FLAG_EXCLUDE_KERNEL (UINT64_C(1) << 5)
#define FLAG_FREQUENCY (UINT64_C(1) << 10)
#define FLAG_CLOCK (UINT64_C(1) << 25)

#define MISC_CPU_MODE 7u
#define MISC_USER 2u
#define MISC_MMAP_DATA (1u << 13)
#define MISC_MMAP_BUILD_ID (1u << 14)
#define BUILD_ID_MOST 20u

/* What newer kernels have and the headers that we are built with may not. */
#define READ_LOST (UINT64_C(1) << 4)
#define BRANCH_HW_INDEX (UINT64_C(1) << 17)

bool record_attr(const uint8_t *from, size_t bytes, struct perf_attr *ret)
{
	uint8_t whole[104] = {0};
	struct wire wire = wire_of(whole, sizeof(whole));
	uint64_t flags;

	if (bytes < ATTR_LEAST || bytes > ATTR_MOST)
		return false;
	memcpy(whole, from, bytes < sizeof(whole) ? bytes : sizeof(whole));
	ret->type = wire_u32(&wire);
	wire_u32(&wire); /* its size */
	ret->config = wire_u64(&wire);
	ret->period = wire_u64(&wire);
	ret->sample_type = wire_u64(&wire);
	ret->read_format = wire_u64(&wire);
	flags = wire_u64(&wire);
	wire_bytes(&wire, 24); /* wake-ups, breakpoints */
	ret->branch_type = wire_u64(&wire);
	ret->registers = wire_u64(&wire);
	ret->stack_bytes = wire_u32(&wire);
	ret->clock = (int32_t)wire_u32(&wire);
	ret->by_frequency = flags & FLAG_FREQUENCY;
	ret->own_clock = flags & FLAG_CLOCK;
	ret->without_kernel = flags & FLAG_EXCLUDE_KERNEL;
	return true;
}

int record_id_place(const struct perf_attr *attr)
{
	const uint64_t before =
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;

	if (attr->sample_type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	if (attr->sample_type & PERF_SAMPLE_ID)
		return __builtin_popcountll(attr->sample_type & before);
	return -1;
}

static uint64_t word_if(struct wire *from, uint64_t type, uint64_t bit)
{
	return type & bit ? wire_u64(from) : 0;
}

static void skip_words(struct wire *from, uint64_t count)
{
	if (count > RECORD_MOST / 8)
		from->bad = true;
	else
		wire_bytes(from, count * 8);
}

/* The counters themselves, which nobody asks for. */
static void skip_read(struct wire *from, uint64_t format)
{
	unsigned times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			 !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	unsigned each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & READ_LOST);
	uint64_t count = 1;

	if (format & PERF_FORMAT_GROUP)
		count = wire_u64(from);
	skip_words(from, times);
	skip_words(from, count > RECORD_MOST ? count : count * each);
}

static void read_callchain(struct wire *from, struct record_room *room, struct perf_sample *ret)
{
	uint64_t count = wire_u64(from);
	const uint8_t *words = NULL;

	if (count > RECORD_MOST / 8)
		from->bad = true;
	else
		words = wire_bytes(from, count * 8);
	if (!words)
		return;
	memcpy(room->callchain, words, count * 8);
	ret->callchain = room->callchain;
	ret->callchain_count = (uint32_t)count;
}

static void skip_raw(struct wire *from)
{
	uint32_t bytes = wire_u32(from);

	wire_bytes(from, bytes);
}

static void skip_branches(struct wire *from, uint64_t branch_type)
{
	uint64_t count = wire_u64(from);

	if (branch_type & BRANCH_HW_INDEX)
		wire_u64(from);
	skip_words(from, count > RECORD_MOST ? count : count * 3);
}

static void read_registers(struct wire *from, uint64_t mask, struct record_room *room,
			   struct perf_sample *ret)
{
	/* None: the thread was one of the kernel's. */
	if (!wire_u64(from))
		return;
	for (unsigned i = 0; i < PERF_REGISTERS; i++)
		room->registers[i] = mask >> i & 1 ? wire_u64(from) : 0;
	ret->registers = room->registers;
	ret->registers_mask = mask;
}

static void read_stack(struct wire *from, struct perf_sample *ret)
{
	uint64_t bytes = wire_u64(from), used;

	if (!bytes)
		return;
	if (bytes > RECORD_MOST) {
		from->bad = true;
		return;
	}
	ret->stack = wire_bytes(from, bytes);
	used = wire_u64(from);
	ret->stack_bytes = (uint32_t)(used < bytes ? used : bytes);
}

bool record_sample(struct wire from, uint16_t misc, const struct perf_attr *attr,
		   struct record_room *room, struct perf_sample *ret)
{
	uint64_t type = attr->sample_type;

	*ret = (struct perf_sample){.in_kernel = (misc & MISC_CPU_MODE) != MISC_USER};
	word_if(&from, type, PERF_SAMPLE_IDENTIFIER);
	ret->ip = word_if(&from, type, PERF_SAMPLE_IP);
	if (type & PERF_SAMPLE_TID) {
		ret->pid = wire_u32(&from);
		ret->tid = wire_u32(&from);
	}
	ret->time = word_if(&from, type, PERF_SAMPLE_TIME);
	word_if(&from, type, PERF_SAMPLE_ADDR);
	word_if(&from, type, PERF_SAMPLE_ID);
	word_if(&from, type, PERF_SAMPLE_STREAM_ID);
	word_if(&from, type, PERF_SAMPLE_CPU);
	ret->period = type & PERF_SAMPLE_PERIOD ? wire_u64(&from) : attr->period;
	if (type & PERF_SAMPLE_READ)
		skip_read(&from, attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		read_callchain(&from, room, ret);
	if (type & PERF_SAMPLE_RAW)
		skip_raw(&from);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(&from, attr->branch_type);
	if (type & PERF_SAMPLE_REGS_USER)
		read_registers(&from, attr->registers, room, ret);
	if (type & PERF_SAMPLE_STACK_USER)
		read_stack(&from, ret);
	return !from.bad;
}

/* A text with a NUL somewhere; NULL if there is none. */
static const char *read_text(struct wire *from)
{
	size_t left = (size_t)(from->end - from->at);
	const char *text = (const char *)from->at;

	if (from->bad || !memchr(text, '\0', left))
		return NULL;
	return text;
}

bool record_mapping(struct wire from, const struct record_header *header, struct perf_mapping *ret)
{
	uint32_t protection = PROT_EXEC;

	*ret = (struct perf_mapping){.pid = wire_u32(&from)};
	wire_u32(&from); /* thread */
	ret->start = wire_u64(&from);
	ret->bytes = wire_u64(&from);
	ret->offset = wire_u64(&from);
	if (header->type == RECORD_MMAP2) {
		struct wire id = from;

		/* Device and inode, or a build id and its length. */
		wire_bytes(&from, 24);
		protection = wire_u32(&from);
		wire_u32(&from); /* flags */
		if (header->misc & MISC_MMAP_BUILD_ID && !from.bad) {
			ret->build_id_bytes = id.at[0] < BUILD_ID_MOST ? id.at[0] : BUILD_ID_MOST;
			ret->build_id = id.at + 4;
		}
	}
	ret->path = read_text(&from);
	return ret->path && protection & PROT_EXEC && !(header->misc & MISC_MMAP_DATA) &&
	       ret->bytes && ret->start <= UINT64_MAX - ret->bytes;
}

bool record_name(struct wire from, struct perf_name *ret)
{
	ret->pid = wire_u32(&from);
	ret->tid = wire_u32(&from);
	ret->name = read_text(&from);
	return ret->name != NULL;
}

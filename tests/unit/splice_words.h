/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks as words, innermost first: a letter is a function, @3 the anchor 3, %
 * the library's own code, & an adapter's, ~2 an omission. A chain that runs inside
 * of another stands before it, with a slash between; "?" is one that nobody knows,
 * m: before it says that it is of state machines, r: that it is of coroutines, c: that it is a
 * callback of site 1.
 * In what comes out, f! is the running function, f^ one that awaits and f+ one that
 * armed.
 */
#ifndef TESTS_SPLICE_WORDS_H
#define TESTS_SPLICE_WORDS_H

#include "check.h"
#include "model/splice.h"
#include "unweave/link.h"

#define FUNCTIONS UINT64_C(0x100000)
#define ANCHORS UINT64_C(0x400000)
#define PLUMBING UINT64_C(0x500000)
#define ADAPTERS UINT64_C(0x600000)
#define FRAMES_MOST 4096u

struct stage {
	struct unweave_frame frames[FRAMES_MOST];
	uint32_t used;
	struct sample_segment segments[SAMPLE_SEGMENTS_MAX];
	struct sample sample;
};

/* Each function has 256 bytes; a native frame is somewhere in it, a link at its begin. */
static inline bool same_function(void *data, uint64_t one, uint64_t other)
{
	(void)data;
	return one >> 8 == other >> 8;
}

static const struct splice_options exact = {
	.anchors = {ANCHORS, ANCHORS + UNWEAVE_ANCHORS *UNWEAVE_ANCHOR_BYTES},
	.plumbing = {PLUMBING, PLUMBING + 0x1000},
	.same = same_function,
};

__attribute__((unused)) static const struct splice_options unnamed = {
	.anchors = {ANCHORS, ANCHORS + UNWEAVE_ANCHORS *UNWEAVE_ANCHOR_BYTES},
	.plumbing = {PLUMBING, PLUMBING + 0x1000},
};

static inline struct unweave_frame frame_of(const char *word, bool native)
{
	switch (word[0]) {
	case '@':
		return (struct unweave_frame){
			.address =
				ANCHORS + strtoul(word + 1, NULL, 10) * UNWEAVE_ANCHOR_BYTES + 20};
	case '%':
		return (struct unweave_frame){.address = PLUMBING + 64};
	case '&':
		return (struct unweave_frame){.address = ADAPTERS + 64};
	case '~':
		return (struct unweave_frame){.kind = UNWEAVE_FRAME_OMITTED,
					      .address = strtoul(word + 1, NULL, 10)};
	default:
		return (struct unweave_frame){
			.address = FUNCTIONS + (uint64_t)(word[0] - 'a') * 256 + (native ? 48 : 0),
			/* States tell a chain's frames from native ones. */
			.state = native ? 0 : word[0] - 'a' + 1,
		};
	}
}

static inline const struct unweave_frame *stack_of(struct stage *stage, const char *words,
						   bool native)
{
	struct unweave_frame *first = NULL, *last = NULL;
	char copy[1024], *rest = copy, *word;

	snprintf(copy, sizeof(copy), "%s", words);
	while ((word = strsep(&rest, " "))) {
		struct unweave_frame *frame;

		if (!*word)
			continue;
		frame = &stage->frames[stage->used++];
		*frame = frame_of(word, native);
		if (last)
			last->awaiter = frame;
		else
			first = frame;
		last = frame;
	}
	return first;
}

static inline void set(struct stage *stage, const char *native, const char *chains)
{
	char copy[1024], *rest = copy, *chain;

	*stage = (struct stage){0};
	stage->sample.native = stack_of(stage, native, true);
	stage->sample.segments = stage->segments;
	snprintf(copy, sizeof(copy), "%s", chains);
	while (*chains && (chain = strsep(&rest, "/"))) {
		struct sample_segment *segment = &stage->segments[stage->sample.segment_count++];
		const char *kind = strchr(chain, ':');
		bool routine = kind && kind > chain && kind[-1] == 'r';
		bool machine = routine || (kind && kind > chain && kind[-1] == 'm');
		uint32_t first = stage->used;

		segment->task = stage->sample.segment_count * 2 + machine;
		segment->site = kind && !machine;
		if (!strchr(chain, '?'))
			segment->chain = stack_of(stage, kind ? kind + 1 : chain, false);
		for (; routine && first < stage->used; first++)
			stage->frames[first].state |= UNWEAVE_STATE_LINE;
	}
}

static inline void say(char *to, size_t size, const struct splice_frame *frames, uint32_t count)
{
	size_t at = 0;

	to[0] = '\0';
	for (uint32_t i = 0; i < count && at < size; i++) {
		const struct splice_frame *frame = &frames[i];
		const char *mark = frame->kind == SPLICE_RUNNING ? "!"
				   : frame->kind == SPLICE_AWAIT ? "^"
				   : frame->kind == SPLICE_ARMED ? "+"
								 : "";
		const char *gap = i ? " " : "";

		if (frame->kind == SPLICE_OMITTED)
			at += (size_t)snprintf(to + at, size - at, "%s~%" PRIu64, gap,
					       frame->address);
		else if (frame->address >= ADAPTERS)
			at += (size_t)snprintf(to + at, size - at, "%s&%s", gap, mark);
		else if (frame->address >= PLUMBING)
			at += (size_t)snprintf(to + at, size - at, "%s%%%s", gap, mark);
		else if (frame->address >= ANCHORS)
			at += (size_t)snprintf(to + at, size - at, "%s@%u%s", gap,
					       splice_slot(exact.anchors, frame->address), mark);
		else
			at += (size_t)snprintf(to + at, size - at, "%s%c%s", gap,
					       (char)('a' + ((frame->address - FUNCTIONS) >> 8)),
					       mark);
	}
}

#endif /* TESTS_SPLICE_WORDS_H */

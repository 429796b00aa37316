/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of a splice under way, as they are put together. For splice.c only. */
#ifndef MODEL_SPLICE_PUT_H
#define MODEL_SPLICE_PUT_H

#include "model/splice.h"

/* One splice under way. */
struct splice_work {
	const struct splice_options *options;
	const struct sample *sample;
	struct splice_frame *out;
	uint32_t most;
	uint32_t count;
	uint64_t beyond; /* frames that found no room */
	bool beyond_unknown;
	bool called; /* what was put last was called by what comes next, and is no plumbing */
	enum splice_outcome outcome;
};

static inline bool splice_in_range(struct splice_anchors range, uint64_t address)
{
	return address >= range.start && address < range.end;
}

static inline bool splice_is_anchor(const struct splice_work *work,
				    const struct unweave_frame *frame)
{
	return frame->kind == UNWEAVE_FRAME_CODE &&
	       splice_in_range(work->options->anchors, frame->address);
}

static inline bool splice_is_adapter(const struct splice_work *work,
				     const struct unweave_frame *frame)
{
	for (uint32_t i = 0; i < work->options->adapter_count; i++)
		if (splice_in_range(work->options->adapters[i], frame->address))
			return frame->kind == UNWEAVE_FRAME_CODE;
	return false;
}

static inline bool splice_is_plumbing(const struct splice_work *work,
				      const struct unweave_frame *frame)
{
	return (frame->kind == UNWEAVE_FRAME_CODE &&
		splice_in_range(work->options->plumbing, frame->address)) ||
	       splice_is_adapter(work, frame);
}

/* Of a sample with several runs the worst counts. */
void splice_note(struct splice_work *work, enum splice_outcome outcome);

void splice_put_frame(struct splice_work *work, const struct unweave_frame *frame, uint64_t task,
		      enum splice_kind kind);
/* An adapter's frame is shown where the thread is in the adapter itself, or in the library. */
void splice_put_call(struct splice_work *work, const struct unweave_frame *frame, uint64_t task);
/* Native frames from `from` up to, not with, `to`. */
void splice_put_native(struct splice_work *work, const struct unweave_frame *from,
		       const struct unweave_frame *to, uint64_t task);
/* The frame that is the running function: natively there, in the state that the chain says. */
void splice_put_running(struct splice_work *work, const struct unweave_frame *native,
			const struct sample_segment *segment);
/* The chain of the segment from `chain` on, and why its task runs. */
void splice_put_awaits(struct splice_work *work, const struct unweave_frame *chain,
		       const struct sample_segment *segment);
/* The chain without the function that runs, which is there natively. */
void splice_put_rest(struct splice_work *work, const struct sample_segment *segment);
/* The last frame makes room for the word that it, and those behind it, are left out. */
void splice_put_end(struct splice_work *work);

#endif /* MODEL_SPLICE_PUT_H */

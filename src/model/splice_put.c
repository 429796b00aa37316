/* SPDX-License-Identifier: Apache-2.0 */
#include "model/splice_put.h"

/* From good to bad: of a sample with several runs the worst counts. */
static const uint8_t severity[SPLICE_OUTCOMES] = {
	[SPLICE_EXACT] = 0, [SPLICE_MISMATCH] = 1, [SPLICE_NO_ANCHOR] = 2,
	[SPLICE_CUT] = 3,   [SPLICE_NO_CHAIN] = 4, [SPLICE_NO_TASK] = 5,
};

void splice_note(struct splice_work *work, enum splice_outcome outcome)
{
	if (severity[outcome] > severity[work->outcome])
		work->outcome = outcome;
}

static void splice_put(struct splice_work *work, struct splice_frame frame)
{
	work->called = true;
	if (work->count < work->most) {
		work->out[work->count++] = frame;
		return;
	}
	/* Of an omission that finds no room, all that it stands for. */
	work->beyond += frame.kind == SPLICE_OMITTED ? frame.address : 1;
	work->beyond_unknown |= frame.kind == SPLICE_OMITTED && !frame.address;
}

void splice_put_end(struct splice_work *work)
{
	struct splice_frame *last;

	if ((!work->beyond && !work->beyond_unknown) || !work->count)
		return;
	last = &work->out[work->count - 1];
	if (last->kind == SPLICE_OMITTED)
		work->beyond_unknown |= !last->address;
	work->beyond += last->kind == SPLICE_OMITTED ? last->address : 1;
	*last = (struct splice_frame){
		.kind = SPLICE_OMITTED,
		.address = work->beyond_unknown ? 0 : work->beyond,
		.task = last->task,
	};
}

void splice_put_frame(struct splice_work *work, const struct unweave_frame *frame, uint64_t task,
		      enum splice_kind kind)
{
	splice_put(work,
		   (struct splice_frame){
			   .address = frame->address,
			   .task = task,
			   .state = frame->state,
			   .kind = frame->kind == UNWEAVE_FRAME_OMITTED ? SPLICE_OMITTED : kind,
		   });
}

void splice_put_call(struct splice_work *work, const struct unweave_frame *frame, uint64_t task)
{
	bool called = work->called;

	if (called && splice_is_adapter(work, frame))
		return;
	splice_put_frame(work, frame, task, SPLICE_NATIVE);
	work->called = called || !splice_is_plumbing(work, frame);
}

void splice_put_native(struct splice_work *work, const struct unweave_frame *from,
		       const struct unweave_frame *to, uint64_t task)
{
	for (; from && from != to; from = from->awaiter)
		splice_put_call(work, from, task);
}

void splice_put_running(struct splice_work *work, const struct unweave_frame *native,
			const struct sample_segment *segment)
{
	bool known = segment->chain && segment->chain->kind == UNWEAVE_FRAME_CODE;

	if (native->kind == UNWEAVE_FRAME_OMITTED)
		splice_put_frame(work, native, segment->task, SPLICE_NATIVE);
	else
		splice_put(work, (struct splice_frame){.address = native->address,
						       .task = segment->task,
						       .state = known ? segment->chain->state : 0,
						       .kind = SPLICE_RUNNING});
}

static void put_cause(struct splice_work *work, const struct sample_segment *segment)
{
	const struct splice_frame *frames = NULL;
	uint32_t count = 0;

	if (work->options->cause && segment->site)
		count = work->options->cause(work->options->cause_data, segment->site, &frames);
	for (uint32_t i = 0; i < count; i++) {
		struct splice_frame frame = frames[i];

		frame.task = segment->task;
		splice_put(work, frame);
	}
}

void splice_put_awaits(struct splice_work *work, const struct unweave_frame *chain,
		       const struct sample_segment *segment)
{
	for (; chain; chain = chain->awaiter)
		splice_put_frame(work, chain, segment->task, SPLICE_AWAIT);
	put_cause(work, segment);
}

void splice_put_rest(struct splice_work *work, const struct sample_segment *segment)
{
	const struct unweave_frame *chain = segment->chain;

	if (!chain)
		return;
	/* If the innermost are left out, it is one of them. */
	if (chain->kind == UNWEAVE_FRAME_OMITTED && chain->address != 1)
		splice_put(work,
			   (struct splice_frame){.kind = SPLICE_OMITTED,
						 .address = chain->address ? chain->address - 1 : 0,
						 .task = segment->task});
	splice_put_awaits(work, chain->awaiter, segment);
}

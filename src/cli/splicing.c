/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/splicing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "model/anchors.h"
#include "model/follow.h"
#include "trace/compress.h"
#include "trace/copy.h"
#include "unweave.h"
#include "util/cleanup.h"

#define MODULES_A_BLOCK 1024u

DEFINE_FREEP(struct writer, writer_free)
DEFINE_FREEP(struct samples_writer, samples_writer_free)
DEFINE_FREEP(struct compressor, compressor_free)

struct splicing {
	struct reader *reader;
	struct foreign foreign;
	struct follow *follow;
	struct writer *to; /* borrowed */
	struct splice_options options;
	struct splicing_result *result;
	struct map threads; /* of the trace that had an event */
	/* One sample, as it is written and as it is spliced. */
	uint64_t addresses[SAMPLES_FRAMES_MAX];
	uint8_t kinds[SAMPLES_FRAMES_MAX];
	struct unweave_frame frames[SAMPLES_FRAMES_MAX];
	struct splice_frame spliced[SAMPLES_FRAMES_MAX];
	struct samples_segment segments[SAMPLE_SEGMENTS_MAX];
	struct sample_segment linked[SAMPLE_SEGMENTS_MAX];
};

static struct splicing *splicing_free(struct splicing *splicing)
{
	if (!splicing)
		return NULL;
	foreign_fini(&splicing->foreign);
	follow_free(splicing->follow);
	reader_free(splicing->reader);
	map_fini(&splicing->threads);
	free(splicing);
	return NULL;
}

DEFINE_FREEP(struct splicing, splicing_free)

/* A follow_code. */
static uint64_t code_of(void *reader, uint64_t site)
{
	const struct reader_site *found =
		site <= UINT32_MAX ? reader_site(reader, (uint32_t)site) : NULL;

	return found ? found->code : 0;
}

static int no_memory(struct diag *diag)
{
	return diag_set(diag, -ENOMEM, "out of memory");
}

/* The next event changes what runs. -ENOMEM. */
static int follow_next(struct splicing *splicing, const struct unweave_event *event)
{
	if (!map_find(&splicing->threads, event->thread)) {
		const struct reader_thread *thread = reader_thread(splicing->reader, event->thread);

		if (map_put(&splicing->threads, event->thread, 0) < 0 ||
		    (thread && thread->tid &&
		     follow_thread(splicing->follow, event->thread, thread->tid) < 0))
			return -ENOMEM;
	}
	return follow_event(splicing->follow, event);
}

/* The walked part of a native stack. */
static uint32_t put_walked(struct splicing *splicing, const struct foreign_sample *sample,
			   const struct unweave_frame **ret_rest)
{
	const struct unweave_frame *frame = sample->native;
	uint32_t count = 0;

	for (; frame && frame->depth > 2 * sample->scanned; frame = frame->awaiter) {
		splicing->addresses[count] = frame->address;
		splicing->kinds[count++] = (uint8_t)frame->kind;
	}
	*ret_rest = frame;
	return count;
}

/*
 * Anchors that were found in the bytes of the stack, if the events agree: an old
 * one may lie there too. Each has a gap before it.
 */
static uint32_t put_scanned(struct splicing *splicing, const struct foreign_sample *sample,
			    const struct unweave_frame *frame, uint32_t count)
{
	uint8_t expected[SAMPLE_SEGMENTS_MAX];
	uint32_t runs = follow_expected(splicing->follow, sample->tid, expected), run = 0;

	for (; frame && run < runs; frame = frame->awaiter) {
		if (frame->kind == UNWEAVE_FRAME_OMITTED ||
		    splice_slot(splicing->options.anchors, frame->address) != expected[run])
			continue;
		splicing->kinds[count] = UNWEAVE_FRAME_OMITTED;
		splicing->addresses[count++] = 0;
		splicing->kinds[count] = UNWEAVE_FRAME_CODE;
		splicing->addresses[count++] = frame->address;
		/* Of a state machine's run all that is below is its own, down to anchor 0. */
		if (expected[run] == 0 || !(splicing->segments[run].task & UNWEAVE_MODEL_MACHINE))
			run++;
		else
			expected[run] = 0;
	}
	return count;
}

/* A block takes only so many frames of one sample: long chains lose their roots. */
static void limit_chains(struct samples_input *input, struct samples_segment *segments)
{
	uint32_t left = SAMPLES_FRAMES_MAX - input->native.count - SAMPLE_SEGMENTS_MAX;

	for (uint32_t i = 0; i < input->segment_count; i++) {
		if (segments[i].chain.count > left) {
			segments[i].chain.count = left;
			segments[i].cut = true;
			input->flags |= SAMPLE_CHAIN_CUT;
		}
		left -= segments[i].chain.count;
	}
}

static const struct unweave_frame *link_stack(struct splicing *splicing,
					      const struct samples_stack *stack, uint32_t *used)
{
	struct unweave_frame *frames = splicing->frames + *used;

	for (uint32_t i = 0; i < stack->count; i++)
		frames[i] = (struct unweave_frame){
			.awaiter = i + 1 < stack->count ? &frames[i + 1] : NULL,
			.address = stack->addresses[i],
			.kind = stack->kinds ? stack->kinds[i] : UNWEAVE_FRAME_CODE,
		};
	*used += stack->count;
	return stack->count ? frames : NULL;
}

/* What whoever reads the trace will make of the sample. */
static enum splice_outcome try_splice(struct splicing *splicing, const struct samples_input *input)
{
	struct sample sample = {.flags = input->flags, .segment_count = input->segment_count};
	uint32_t used = 0, count;

	sample.native = link_stack(splicing, &input->native, &used);
	for (uint32_t i = 0; i < input->segment_count; i++)
		splicing->linked[i] = (struct sample_segment){
			.task = input->segments[i].task,
			.chain = link_stack(splicing, &input->segments[i].chain, &used),
		};
	sample.segments = splicing->linked;
	return splice(&splicing->options, &sample, splicing->spliced, SAMPLES_FRAMES_MAX, &count);
}

static void make_input(struct splicing *splicing, const struct foreign_sample *sample,
		       struct samples_input *ret)
{
	const struct unweave_frame *rest;
	uint32_t count = put_walked(splicing, sample, &rest);

	*ret = (struct samples_input){
		.weight = sample->weight,
		.tid = sample->tid,
		.flags = SAMPLE_FOREIGN | (sample->cut ? SAMPLE_CUT : 0),
		.thread_name = foreign_name(&splicing->foreign, sample->tid),
		.segments = splicing->segments,
		.native = {.addresses = splicing->addresses, .kinds = splicing->kinds},
	};
	/* Whose anchors they are depends on what runs, and how far that is on the anchors. */
	ret->native.count = count;
	ret->segment_count =
		follow_segments(splicing->follow, sample->tid, &ret->native, splicing->segments);
	ret->native.count = put_scanned(splicing, sample, rest, count);
	if (ret->native.count != count)
		follow_segments(splicing->follow, sample->tid, &ret->native, splicing->segments);
	limit_chains(ret, splicing->segments);
}

static int put_sample(struct splicing *splicing, struct samples_writer *writer,
		      const struct foreign_sample *sample, struct diag *diag)
{
	struct samples_input input;
	enum splice_outcome outcome;
	int r;

	make_input(splicing, sample, &input);
	if (!reader_ticks(splicing->reader, sample->time, &input.ticks))
		return 0;
	outcome = try_splice(splicing, &input);
	/* Where a walk by frame pointers goes wrong it does not say so. */
	if (outcome == SPLICE_NO_ANCHOR && splicing->foreign.walk != FOREIGN_STACK_BYTES) {
		input.flags |= SAMPLE_CUT;
		outcome = try_splice(splicing, &input);
	}
	splicing->result->outcomes[outcome]++;
	splicing->result->samples++;
	if (!input.segment_count && follow_lost(splicing->follow, sample->tid))
		splicing->result->in_losses++;
	r = samples_writer_put(writer, &input);
	return r == -ENOMEM ? no_memory(diag) : r;
}

/* Where a block that is complete goes, and what to say if it cannot. */
struct block_sink {
	struct writer *to;
	struct diag *diag;
};

static int put_block(void *data, const struct block *block, const uint8_t *payload)
{
	const struct block_sink *sink = data;

	return writer_put(sink->to, block, payload, sink->diag);
}

static int put_samples(struct splicing *splicing, struct diag *diag)
{
	cleanup(samples_writer_freep) struct samples_writer *writer = NULL;
	struct block_sink sink = {splicing->to, diag};
	struct unweave_event event;
	int r = samples_writer_new(&writer, put_block, &sink), ended;

	if (r < 0)
		return no_memory(diag);
	ended = reader_next(splicing->reader, &event, diag);
	for (uint32_t i = 0; i < splicing->foreign.count; i++) {
		const struct foreign_sample *sample = &splicing->foreign.samples[i];

		while (!ended && event.time <= sample->time) {
			if (follow_next(splicing, &event) < 0)
				return no_memory(diag);
			ended = reader_next(splicing->reader, &event, diag);
		}
		r = ended < 0 ? ended : put_sample(splicing, writer, sample, diag);
		if (r < 0)
			return r;
	}
	return samples_writer_flush(writer);
}

/* As the trace has it: a later block must not take it away. */
static void put_dispatch(const struct splicing *splicing, struct buffer *to)
{
	uint64_t start, end;

	if (!reader_dispatch(splicing->reader, &start, &end))
		return;
	buffer_put_varint(to, splicing->options.anchors.start - start);
	buffer_put_varint(to, end - start);
}

/* A block of its own for each thousand. */
static int put_modules(struct splicing *splicing, struct diag *diag)
{
	const struct foreign *foreign = &splicing->foreign;

	for (uint32_t from = 0; from < foreign->module_count; from += MODULES_A_BLOCK) {
		uint32_t left = foreign->module_count - from;
		struct buffer bytes = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
		struct block block = {.kind = BLOCK_MODULES};
		int r;

		left = left < MODULES_A_BLOCK ? left : MODULES_A_BLOCK;
		buffer_put_varint(&bytes, splicing->options.anchors.start);
		buffer_put_varint(&bytes, left);
		for (uint32_t i = from; i < from + left; i++) {
			const struct foreign_module *module = &foreign->modules[i];

			meta_module_encode(
				&bytes, &(struct meta_module){
						.start = module->start,
						.end = module->end,
						.offset = module->offset,
						.path = {module->path, strnlen(module->path, 200)},
						.build_id = {(const char *)module->build_id,
							     module->build_id_bytes},
					});
		}
		put_dispatch(splicing, &bytes);
		block.raw = (uint32_t)bytes.length;
		r = bytes.bad ? no_memory(diag)
			      : writer_put(splicing->to, &block, bytes.bytes, diag);
		buffer_fini(&bytes);
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_sampler(struct splicing *splicing, struct diag *diag)
{
	const struct foreign *foreign = &splicing->foreign;
	const char *note = foreign->weights_unknown
				   ? "perf did not count time: what is shown as CPU time are its "
				     "events, one a nanosecond"
				   : "";
	struct buffer bytes = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	struct block block = {.kind = BLOCK_SAMPLER};
	int r;

	meta_sampler_encode(&bytes, &(struct meta_sampler){.driver = SAMPLER_OTHER,
							   .hz = foreign->hz,
							   .user_only = foreign->user_only,
							   .lost = foreign->lost,
							   .note = {note, strlen(note)}});
	block.raw = (uint32_t)bytes.length;
	r = bytes.bad ? no_memory(diag) : writer_put(splicing->to, &block, bytes.bytes, diag);
	buffer_fini(&bytes);
	return r;
}

static int add(void *data, struct writer *to, struct diag *diag)
{
	struct splicing *splicing = data;
	int r;

	splicing->to = to;
	r = put_modules(splicing, diag);
	if (r == 0)
		r = put_sampler(splicing, diag);
	return r == 0 ? put_samples(splicing, diag) : r;
}

/* The old samples would count the same CPU time a second time. */
static int write_output(struct splicing *splicing, const struct splicing_plan *plan,
			struct diag *diag)
{
	cleanup(compressor_freep) struct compressor *compressor = NULL;
	cleanup(writer_freep) struct writer *writer = NULL;
	struct copy_plan copy = {.path = plan->trace,
				 .without_kinds = 1u << BLOCK_SAMPLES | 1u << BLOCK_SAMPLER,
				 .add = add,
				 .data = splicing};
	int r;

	splicing->result->file = plan->output;
	if (compressor_new(&compressor, 1) < 0)
		return no_memory(diag);
	r = writer_new(&writer, plan->output, compressor_run, compressor, diag);
	if (r < 0)
		return r;
	r = copy_trace(&copy, writer, diag);
	if (r < 0)
		output_remove(plan->output);
	return r;
}

static int check_trace(struct splicing *splicing, const struct splicing_plan *plan,
		       struct diag *diag)
{
	const struct reader_summary *summary = reader_summary(splicing->reader);
	const uint64_t stacks = UNWEAVE_KEYWORDS_BOTH(UNWEAVE_KEYWORD_RESUME_STACK);

	if (!summary->session_known || !summary->event_blocks)
		return diag_set(diag, -ENODATA, "has no events, so nobody knows what ran when");
	if (output_is_same(plan->output, plan->trace))
		return diag_set(diag, -EINVAL, "cannot be written over: -o must be another file");
	splicing->result->without_stacks = !(summary->session.keywords & stacks);
	splicing->options = anchors_options(splicing->reader);
	splicing->result->without_anchors = !splicing->options.anchors.start;
	splicing->result->replaced = summary->sample_blocks;
	return 0;
}

static void note_foreign(struct splicing_result *result, const struct foreign *foreign)
{
	result->others = foreign->others;
	result->outside = foreign->outside;
	result->damaged = foreign->damaged;
	result->lost = foreign->lost;
	result->torn = foreign->torn;
	result->walk = foreign->walk;
}

int splicing_run(const struct splicing_plan *plan, struct splicing_result *ret, struct diag *diag)
{
	cleanup(splicing_freep) struct splicing *splicing = calloc(1, sizeof(*splicing));
	int r;

	*ret = (struct splicing_result){.file = plan->trace};
	if (!splicing || map_init(&splicing->threads, UINT32_MAX) < 0)
		return no_memory(diag);
	splicing->result = ret;
	r = reader_open(&splicing->reader, plan->trace, NULL, NULL, diag);
	if (r == 0)
		r = check_trace(splicing, plan, diag);
	if (r < 0)
		return r;
	if (follow_new(&splicing->follow, splicing->options.anchors,
		       reader_summary(splicing->reader)->session.keywords) < 0)
		return no_memory(diag);
	follow_set_code(splicing->follow, code_of, splicing->reader);
	ret->file = plan->perf;
	r = foreign_read(&splicing->foreign, plan->perf, splicing->reader,
			 splicing->options.anchors, diag);
	if (r < 0)
		return r;
	note_foreign(ret, &splicing->foreign);
	return write_output(splicing, plan, diag);
}

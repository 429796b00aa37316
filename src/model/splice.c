/* SPDX-License-Identifier: Apache-2.0 */
#include "model/splice.h"

#include <stddef.h>

#include "unweave/link.h"

/* One splice under way. */
struct work {
	const struct splice_options *options;
	const struct sample *sample;
	struct splice_frame *out;
	uint32_t most;
	uint32_t count;
	uint64_t beyond; /* frames that found no room */
	bool beyond_unknown;
	enum splice_outcome outcome;
};

/* From good to bad: of a sample with several runs the worst counts. */
static const uint8_t severity[SPLICE_OUTCOMES] = {
	[SPLICE_EXACT] = 0, [SPLICE_MISMATCH] = 1, [SPLICE_NO_ANCHOR] = 2,
	[SPLICE_CUT] = 3,   [SPLICE_NO_CHAIN] = 4, [SPLICE_NO_TASK] = 5,
};

static void note(struct work *work, enum splice_outcome outcome)
{
	if (severity[outcome] > severity[work->outcome])
		work->outcome = outcome;
}

static void put(struct work *work, struct splice_frame frame)
{
	if (work->count < work->most) {
		work->out[work->count++] = frame;
		return;
	}
	/* Of an omission that finds no room, all that it stands for. */
	work->beyond += frame.kind == SPLICE_OMITTED ? frame.address : 1;
	work->beyond_unknown |= frame.kind == SPLICE_OMITTED && !frame.address;
}

/* The last frame makes room for the word that it, and those behind it, are left out. */
static void put_end(struct work *work)
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

static void put_frame(struct work *work, const struct unweave_frame *frame, uint64_t task,
		      enum splice_kind kind)
{
	put(work, (struct splice_frame){
			  .address = frame->address,
			  .task = task,
			  .state = frame->state,
			  .kind = frame->kind == UNWEAVE_FRAME_OMITTED ? SPLICE_OMITTED : kind,
		  });
}

/* Native frames from `from` up to, not with, `to`. */
static void put_native(struct work *work, const struct unweave_frame *from,
		       const struct unweave_frame *to, uint64_t task)
{
	for (; from && from != to; from = from->awaiter)
		put_frame(work, from, task, SPLICE_NATIVE);
}

/* The frame that is the running function: natively there, in the state that the chain says. */
static void put_running(struct work *work, const struct unweave_frame *native,
			const struct sample_segment *segment)
{
	bool known = segment->chain && segment->chain->kind == UNWEAVE_FRAME_CODE;

	if (native->kind == UNWEAVE_FRAME_OMITTED)
		put_frame(work, native, segment->task, SPLICE_NATIVE);
	else
		put(work, (struct splice_frame){.address = native->address,
						.task = segment->task,
						.state = known ? segment->chain->state : 0,
						.kind = SPLICE_RUNNING});
}

static void put_awaits(struct work *work, const struct unweave_frame *chain, uint64_t task)
{
	for (; chain; chain = chain->awaiter)
		put_frame(work, chain, task, SPLICE_AWAIT);
}

/* The chain without the function that runs, which is there natively. */
static void put_rest(struct work *work, const struct sample_segment *segment)
{
	const struct unweave_frame *chain = segment->chain;

	if (!chain)
		return;
	/* If the innermost are left out, it is one of them. */
	if (chain->kind == UNWEAVE_FRAME_OMITTED && chain->address != 1)
		put(work, (struct splice_frame){.kind = SPLICE_OMITTED,
						.address = chain->address ? chain->address - 1 : 0,
						.task = segment->task});
	put_awaits(work, chain->awaiter, segment->task);
}

static bool in_range(struct splice_anchors range, uint64_t address)
{
	return address >= range.start && address < range.end;
}

static bool is_anchor(const struct work *work, const struct unweave_frame *frame)
{
	return frame->kind == UNWEAVE_FRAME_CODE &&
	       in_range(work->options->anchors, frame->address);
}

static bool is_plumbing(const struct work *work, const struct unweave_frame *frame)
{
	return frame->kind == UNWEAVE_FRAME_CODE &&
	       in_range(work->options->plumbing, frame->address);
}

static bool is_same(const struct work *work, const struct unweave_frame *native,
		    const struct unweave_frame *link)
{
	return native->kind == UNWEAVE_FRAME_CODE &&
	       work->options->same(work->options->same_data, native->address, link->address);
}

uint32_t splice_slot(struct splice_anchors anchors, uint64_t address)
{
	return (uint32_t)((address - anchors.start) / UNWEAVE_ANCHOR_BYTES) % UNWEAVE_ANCHORS;
}

static const struct unweave_frame *next_anchor(const struct work *work,
					       const struct unweave_frame *from)
{
	while (from && !is_anchor(work, from))
		from = from->awaiter;
	return from;
}

/*
 * The rootmost anchor of a run of state machines, each of which may have been
 * continued inside of the one before: the first of a run goes through anchor 0
 * and is on the stack as long as the run lasts.
 */
static const struct unweave_frame *anchor_zero(const struct work *work,
					       const struct unweave_frame *anchor)
{
	const struct unweave_frame *next;

	while (splice_slot(work->options->anchors, anchor->address) &&
	       (next = next_anchor(work, anchor->awaiter)))
		anchor = next;
	return anchor;
}

/* What became of a look ahead at the anchors that are left for the runs that are left. */
enum supply { SUPPLY_SHORT, SUPPLY_FITS, SUPPLY_SURPLUS };

static bool of_machine(uint64_t task)
{
	return task & UNWEAVE_MODEL_MACHINE;
}

static enum supply supply(const struct work *work, const struct unweave_frame *at, uint32_t segment)
{
	for (; segment < work->sample->segment_count; segment++) {
		at = next_anchor(work, at);
		if (!at)
			return SUPPLY_SHORT;
		if (of_machine(work->sample->segments[segment].task))
			at = anchor_zero(work, at);
		at = at->awaiter;
	}
	return next_anchor(work, at) ? SUPPLY_SURPLUS : SUPPLY_FITS;
}

/*
 * The rootmost anchor of the run whose innermost is `anchor`. In a run of more
 * than 32 functions inside of each other, anchor 0 comes again; the runs around
 * it take what they need, so it is the same run if more are there than that.
 */
static const struct unweave_frame *last_anchor(const struct work *work,
					       const struct unweave_frame *anchor, uint32_t segment)
{
	const struct unweave_frame *next;

	if (!of_machine(work->sample->segments[segment].task))
		return anchor;
	anchor = anchor_zero(work, anchor);
	while (segment + 1 < work->sample->segment_count &&
	       (next = next_anchor(work, anchor->awaiter)) &&
	       supply(work, next, segment + 1) == SUPPLY_SURPLUS)
		anchor = anchor_zero(work, next);
	return anchor;
}

/* The frame that calls nothing but `to`; NULL if `from` is `to`. */
static const struct unweave_frame *frame_before(const struct unweave_frame *from,
						const struct unweave_frame *to)
{
	const struct unweave_frame *before = NULL;

	for (; from && from != to; from = from->awaiter)
		before = from;
	return before;
}

/* Whether what the anchor called is the function that the chain begins with. */
enum match { MATCH_UNKNOWN, MATCH_YES, MATCH_NO };

static enum match match(const struct work *work, const struct unweave_frame *at,
			const struct unweave_frame *anchor, const struct sample_segment *segment)
{
	const struct unweave_frame *callee = frame_before(at, anchor);

	if (!work->options->same || !callee || callee->kind == UNWEAVE_FRAME_OMITTED ||
	    !segment->chain || segment->chain->kind == UNWEAVE_FRAME_OMITTED)
		return MATCH_UNKNOWN;
	return is_same(work, callee, segment->chain) ? MATCH_YES : MATCH_NO;
}

static const struct unweave_frame *skip_plumbing(const struct work *work,
						 const struct unweave_frame *at)
{
	while (at && !is_anchor(work, at) && is_plumbing(work, at))
		at = at->awaiter;
	return at;
}

/* The same as put_native(), but without the dispatch of runs that are over. */
static void put_calls(struct work *work, const struct unweave_frame *from,
		      const struct unweave_frame *to, uint64_t task)
{
	while (from && from != to) {
		const struct unweave_frame *next = from->awaiter;

		if (is_anchor(work, from))
			next = skip_plumbing(work, next);
		else
			put_frame(work, from, task, SPLICE_NATIVE);
		from = next;
	}
}

/*
 * What was above the anchor, with the function that it called. False if that is
 * not there: the anchor itself was sampled, or a walk had to leave frames out.
 */
static bool put_above(struct work *work, const struct unweave_frame *at,
		      const struct unweave_frame *anchor, const struct sample_segment *segment)
{
	const struct unweave_frame *callee = frame_before(at, anchor);
	const struct unweave_frame *gap =
		callee && callee->kind == UNWEAVE_FRAME_OMITTED ? callee : NULL;

	/* What is known of the function that ran up to the gap. */
	if (gap && gap != at && work->options->same && segment->chain) {
		const struct unweave_frame *above = frame_before(at, gap);

		if (segment->chain->kind == UNWEAVE_FRAME_CODE &&
		    is_same(work, above, segment->chain))
			callee = above;
	}
	if (!callee || callee->kind == UNWEAVE_FRAME_OMITTED) {
		put_native(work, at, anchor, segment->task);
		return false;
	}
	put_calls(work, at, callee, segment->task);
	put_running(work, callee, segment);
	return true;
}

/* A run whose chain nobody knows: what is there physically stays, all of it. */
static const struct unweave_frame *splice_unknown(struct work *work, const struct unweave_frame *at,
						  const struct unweave_frame *anchor,
						  uint32_t index)
{
	const struct sample_segment *segment = &work->sample->segments[index];
	const struct unweave_frame *after = NULL;

	note(work, SPLICE_NO_CHAIN);
	if (anchor) {
		put_above(work, at, anchor, segment);
		/* Up to where the run around it goes on; there may be none. */
		if (index + 1 < work->sample->segment_count)
			after = skip_plumbing(work, last_anchor(work, anchor, index)->awaiter);
		at = anchor;
	} else if (index + 1 < work->sample->segment_count) {
		return at;
	}
	put_native(work, at, after, segment->task);
	return after;
}

/* The first frame of the library's own before `to`; NULL if there is none. */
static const struct unweave_frame *first_plumbing(const struct work *work,
						  const struct unweave_frame *at,
						  const struct unweave_frame *to)
{
	while (at && at != to && !is_plumbing(work, at))
		at = at->awaiter;
	return at && at != to ? at : NULL;
}

/*
 * Where the innermost run's dispatch ends, between two functions of it: its
 * frames, and whatever they call, are all that is on the stack of the run. NULL
 * if it is not there, or nobody can see where it ends.
 */
static const struct unweave_frame *dispatch_end(const struct work *work,
						const struct unweave_frame *at,
						const struct unweave_frame *to)
{
	const struct unweave_frame *first = first_plumbing(work, at, to);

	return first ? skip_plumbing(work, first) : NULL;
}

/*
 * A state machine goes on inside of the one before, which is done but still on
 * the stack. In between, neither runs: what goes on next is told by the chain.
 */
static const struct unweave_frame *between_boxes(const struct work *work,
						 const struct unweave_frame *at,
						 const struct unweave_frame *anchor, uint32_t index)
{
	const struct sample_segment *segment = &work->sample->segments[index];

	if (index || !of_machine(segment->task) || match(work, at, anchor, segment) != MATCH_NO)
		return NULL;
	return dispatch_end(work, at, anchor);
}

/* A run that begins at an anchor. Returns where the run around it goes on. */
static const struct unweave_frame *splice_at_anchor(struct work *work,
						    const struct unweave_frame *at,
						    const struct unweave_frame *anchor,
						    uint32_t index)
{
	const struct sample_segment *segment = &work->sample->segments[index];
	const struct unweave_frame *between = between_boxes(work, at, anchor, index);

	if (between) {
		put_native(work, at, between, segment->task);
		put_awaits(work, segment->chain, segment->task);
		return skip_plumbing(work, last_anchor(work, anchor, index)->awaiter);
	}
	if (match(work, at, anchor, segment) == MATCH_NO)
		note(work, SPLICE_MISMATCH);
	if (put_above(work, at, anchor, segment)) {
		put_rest(work, segment);
	} else {
		put_frame(work, segment->chain, segment->task, SPLICE_RUNNING);
		put_awaits(work, segment->chain->awaiter, segment->task);
	}
	return skip_plumbing(work, last_anchor(work, anchor, index)->awaiter);
}

/* The rootmost native frame, before `to`, that is in the function of `link`; NULL: none. */
static const struct unweave_frame *find_function(const struct work *work,
						 const struct unweave_frame *at,
						 const struct unweave_frame *to,
						 const struct unweave_frame *link)
{
	const struct unweave_frame *found = NULL;

	if (!work->options->same || link->kind != UNWEAVE_FRAME_CODE)
		return NULL;
	for (; at && at != to; at = at->awaiter)
		if (is_same(work, at, link))
			found = at;
	return found;
}

/* A run without an anchor, whose running function was found all the same. */
static const struct unweave_frame *splice_at_function(struct work *work,
						      const struct unweave_frame *at,
						      const struct unweave_frame *function,
						      const struct sample_segment *segment)
{
	put_native(work, at, function, segment->task);
	put_running(work, function, segment);
	put_rest(work, segment);
	return function->awaiter;
}

static bool is_cut(const struct work *work)
{
	return work->sample->flags & SAMPLE_CUT || !work->sample->native;
}

/*
 * No anchor is on the stack: it was cut, or the run is in its dispatch, or its
 * runtime has no anchors.
 */
static const struct unweave_frame *splice_no_anchor(struct work *work,
						    const struct unweave_frame *at,
						    const struct unweave_frame *next,
						    uint32_t index)
{
	const struct sample_segment *segment = &work->sample->segments[index];
	/* What the next anchor called is the running function of the run around this one. */
	const struct unweave_frame *to = next ? frame_before(at, next) : NULL;
	const struct unweave_frame *function = find_function(work, at, to, segment->chain);
	const struct unweave_frame *end = index ? NULL : dispatch_end(work, at, to);
	bool cut = is_cut(work) && !next;

	if (!function && end) {
		put_native(work, at, end, segment->task);
		put_awaits(work, segment->chain, segment->task);
		return end;
	}
	note(work, cut ? SPLICE_CUT : SPLICE_NO_ANCHOR);
	if (function)
		return splice_at_function(work, at, function, segment);
	put_native(work, at, to, segment->task);
	/* Where nobody can tell, it is among the native frames, if these are whole: it runs. */
	if (work->options->same || cut || !at || at == to)
		put_awaits(work, segment->chain, segment->task);
	else
		put_rest(work, segment);
	return to;
}

/* Whether what the anchor called is known to be the function that a run around this one runs. */
static bool is_outer(const struct work *work, const struct unweave_frame *at,
		     const struct unweave_frame *anchor, uint32_t index)
{
	while (++index < work->sample->segment_count)
		if (match(work, at, anchor, &work->sample->segments[index]) == MATCH_YES)
			return true;
	return false;
}

/* Whether an anchor that several runs could have is this one's. */
static bool may_own(const struct work *work, const struct unweave_frame *at,
		    const struct unweave_frame *anchor, uint32_t index)
{
	enum match known = match(work, at, anchor, &work->sample->segments[index]);

	if (known == MATCH_YES)
		return true;
	if (is_outer(work, at, anchor, index))
		return false;
	/* A thread that is in the library's code may be in the dispatch of its innermost run. */
	return index || !dispatch_end(work, at, anchor);
}

/*
 * The anchor at which the run goes on. One of a run inside of it that is over may
 * come first, while its functions are on their way out: names tell them apart.
 */
static const struct unweave_frame *find_anchor(const struct work *work,
					       const struct unweave_frame *at, uint32_t index)
{
	const struct sample_segment *segment = &work->sample->segments[index];
	const struct unweave_frame *first = next_anchor(work, at), *anchor = first;

	if (!first || match(work, at, first, segment) != MATCH_NO ||
	    is_outer(work, at, first, index))
		return first;
	while (anchor && match(work, at, anchor, segment) != MATCH_YES)
		anchor = next_anchor(work, anchor->awaiter);
	return anchor ? anchor : first;
}

/* One run. Returns the native frame at which the run around it goes on. */
static const struct unweave_frame *splice_run(struct work *work, const struct unweave_frame *at,
					      uint32_t index)
{
	const struct sample_segment *segment = &work->sample->segments[index];
	const struct unweave_frame *anchor = find_anchor(work, at, index);
	bool own = anchor != NULL;

	/* The next one may be that of a run around this one: by its name, or for want of others. */
	if (anchor && match(work, at, anchor, segment) == MATCH_NO)
		own = !is_outer(work, at, anchor, index);
	if (own && supply(work, at, index) == SUPPLY_SHORT)
		own = may_own(work, at, anchor, index);
	if (!segment->chain)
		return splice_unknown(work, at, own ? anchor : NULL, index);
	if (own)
		return splice_at_anchor(work, at, anchor, index);
	return splice_no_anchor(work, at, anchor, index);
}

enum splice_outcome splice(const struct splice_options *options, const struct sample *sample,
			   struct splice_frame *ret, uint32_t most, uint32_t *ret_count)
{
	struct work work = {.options = options,
			    .sample = sample,
			    .out = ret,
			    .most = most,
			    .outcome = SPLICE_EXACT};
	const struct unweave_frame *at = sample->native;

	if (!sample->segment_count) {
		note(&work, SPLICE_NO_TASK);
		put_native(&work, at, NULL, 0);
	}
	for (uint32_t i = 0; i < sample->segment_count; i++)
		at = splice_run(&work, at, i);
	put_end(&work);
	*ret_count = work.count;
	return work.outcome;
}

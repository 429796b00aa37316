/* SPDX-License-Identifier: Apache-2.0 */
#include "model/splice.h"

#include <stddef.h>

#include "model/splice_put.h"
#include "unweave/link.h"

static bool is_same(const struct splice_work *work, const struct unweave_frame *native,
		    const struct unweave_frame *link)
{
	return native->kind == UNWEAVE_FRAME_CODE &&
	       work->options->same(work->options->same_data, native->address, link->address);
}

uint32_t splice_slot(struct splice_anchors anchors, uint64_t address)
{
	return (uint32_t)((address - anchors.start) / UNWEAVE_ANCHOR_BYTES) % UNWEAVE_ANCHORS;
}

static const struct unweave_frame *next_anchor(const struct splice_work *work,
					       const struct unweave_frame *from)
{
	while (from && !splice_is_anchor(work, from))
		from = from->awaiter;
	return from;
}

/*
 * The rootmost anchor of a run of state machines, each of which may have been
 * continued inside of the one before: the first of a run goes through anchor 0
 * and is on the stack as long as the run lasts.
 */
static const struct unweave_frame *anchor_zero(const struct splice_work *work,
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

static enum supply supply(const struct splice_work *work, const struct unweave_frame *at,
			  uint32_t segment)
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
static const struct unweave_frame *last_anchor(const struct splice_work *work,
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

/* The rootmost native frame, before `to`, that is in the function of `link`; NULL: none. */
static const struct unweave_frame *find_function(const struct splice_work *work,
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

/* Whether the anchor called an adapter, which calls the function in its own way. */
static bool is_adapted(const struct splice_work *work, const struct unweave_frame *at,
		       const struct unweave_frame *anchor)
{
	const struct unweave_frame *called = frame_before(at, anchor);

	return called && splice_is_adapter(work, called);
}

/*
 * Whether what is above the anchor need not be the function of the chain: an adapter calls more
 * than that; and a callback whose last act is a call may have jumped there. It is the
 * only function of its run, so which one runs is known all the same.
 */
static bool is_free(const struct splice_work *work, const struct unweave_frame *at,
		    const struct unweave_frame *anchor, const struct sample_segment *segment)
{
	const struct splice_options *options = work->options;

	return is_adapted(work, at, anchor) ||
	       (options->is_callback && segment->site &&
		options->is_callback(options->cause_data, segment->site));
}

/*
 * The coroutine that runs, which its library resumes in its own way. Control may have come
 * there from others, which are still on the stack where the compiler made calls of that; so
 * it is the innermost frame in its function. NULL: it is none, or is not there.
 */
static const struct unweave_frame *find_routine(const struct splice_work *work,
						const struct unweave_frame *at,
						const struct unweave_frame *anchor,
						const struct sample_segment *segment)
{
	const struct unweave_frame *chain = segment->chain;

	if (!work->options->same || !chain || chain->kind != UNWEAVE_FRAME_CODE ||
	    !UNWEAVE_STATE_IS_LINE(chain->state))
		return NULL;
	while (at && at != anchor && !is_same(work, at, chain))
		at = at->awaiter;
	return at != anchor ? at : NULL;
}

/* The rootmost frame before `to` that is none of an adapter or the library; NULL: there is none. */
static const struct unweave_frame *last_of_program(const struct splice_work *work,
						   const struct unweave_frame *at,
						   const struct unweave_frame *to)
{
	const struct unweave_frame *last = NULL;

	for (; at && at != to; at = at->awaiter)
		if (!splice_is_plumbing(work, at))
			last = at;
	return last;
}

/* The function that the anchor called, by itself or by an adapter; NULL if it is not there. */
static const struct unweave_frame *callee_of(const struct splice_work *work,
					     const struct unweave_frame *at,
					     const struct unweave_frame *anchor,
					     const struct sample_segment *segment)
{
	const struct unweave_frame *routine = find_routine(work, at, anchor, segment);

	if (routine)
		return routine;
	if (work->options->same && segment->chain && segment->chain->kind == UNWEAVE_FRAME_CODE &&
	    is_free(work, at, anchor, segment))
		return find_function(work, at, anchor, segment->chain);
	return is_adapted(work, at, anchor) ? last_of_program(work, at, anchor)
					    : frame_before(at, anchor);
}

/* Whether what the anchor called is the function that the chain begins with. */
enum match { MATCH_UNKNOWN, MATCH_YES, MATCH_NO };

static enum match match(const struct splice_work *work, const struct unweave_frame *at,
			const struct unweave_frame *anchor, const struct sample_segment *segment)
{
	const struct unweave_frame *callee = callee_of(work, at, anchor, segment);

	if (!work->options->same || !segment->chain ||
	    segment->chain->kind == UNWEAVE_FRAME_OMITTED)
		return MATCH_UNKNOWN;
	/* An adapter that is on its way to the function, or back, has called nothing else. */
	if (!callee && is_free(work, at, anchor, segment))
		return last_of_program(work, at, anchor) ? MATCH_NO : MATCH_UNKNOWN;
	if (!callee || callee->kind == UNWEAVE_FRAME_OMITTED)
		return MATCH_UNKNOWN;
	return is_same(work, callee, segment->chain) ? MATCH_YES : MATCH_NO;
}

static const struct unweave_frame *skip_plumbing(const struct splice_work *work,
						 const struct unweave_frame *at)
{
	while (at && !splice_is_anchor(work, at) && splice_is_plumbing(work, at))
		at = at->awaiter;
	return at;
}

/* The same as splice_put_native(), but without the dispatch of runs that are over. */
static void put_calls(struct splice_work *work, const struct unweave_frame *from,
		      const struct unweave_frame *to, uint64_t task)
{
	while (from && from != to) {
		const struct unweave_frame *next = from->awaiter;

		if (splice_is_anchor(work, from))
			next = skip_plumbing(work, next);
		else
			splice_put_call(work, from, task);
		from = next;
	}
}

/*
 * What was above the anchor, with the function that it called. False if that is
 * not there: the anchor itself was sampled, or a walk had to leave frames out.
 */
static bool put_above(struct splice_work *work, const struct unweave_frame *at,
		      const struct unweave_frame *anchor, const struct sample_segment *segment)
{
	const struct unweave_frame *callee = callee_of(work, at, anchor, segment);
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
		splice_put_native(work, at, anchor, segment->task);
		return false;
	}
	put_calls(work, at, callee, segment->task);
	splice_put_running(work, callee, segment);
	return true;
}

/* A run whose chain nobody knows: what is there physically stays, all of it. */
static const struct unweave_frame *splice_unknown(struct splice_work *work,
						  const struct unweave_frame *at,
						  const struct unweave_frame *anchor,
						  uint32_t index)
{
	const struct sample_segment *segment = &work->sample->segments[index];
	const struct unweave_frame *after = NULL;

	splice_note(work, SPLICE_NO_CHAIN);
	if (anchor) {
		put_above(work, at, anchor, segment);
		/* Up to where the run around it goes on; there may be none. */
		if (index + 1 < work->sample->segment_count)
			after = skip_plumbing(work, last_anchor(work, anchor, index)->awaiter);
		at = anchor;
	} else if (index + 1 < work->sample->segment_count) {
		return at;
	}
	splice_put_native(work, at, after, segment->task);
	return after;
}

/* The first frame of the library's own before `to`; NULL if there is none. */
static const struct unweave_frame *first_plumbing(const struct splice_work *work,
						  const struct unweave_frame *at,
						  const struct unweave_frame *to)
{
	while (at && at != to && !splice_is_plumbing(work, at))
		at = at->awaiter;
	return at && at != to ? at : NULL;
}

/*
 * Where the innermost run's dispatch ends, between two functions of it: its
 * frames, and whatever they call, are all that is on the stack of the run. NULL
 * if it is not there, or nobody can see where it ends.
 */
static const struct unweave_frame *dispatch_end(const struct splice_work *work,
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
static const struct unweave_frame *between_boxes(const struct splice_work *work,
						 const struct unweave_frame *at,
						 const struct unweave_frame *anchor, uint32_t index)
{
	const struct sample_segment *segment = &work->sample->segments[index];

	if (index || !of_machine(segment->task) || match(work, at, anchor, segment) != MATCH_NO)
		return NULL;
	return dispatch_end(work, at, anchor);
}

/* A run that begins at an anchor. Returns where the run around it goes on. */
static const struct unweave_frame *splice_at_anchor(struct splice_work *work,
						    const struct unweave_frame *at,
						    const struct unweave_frame *anchor,
						    uint32_t index)
{
	const struct sample_segment *segment = &work->sample->segments[index];
	const struct unweave_frame *between = between_boxes(work, at, anchor, index);

	if (between) {
		splice_put_native(work, at, between, segment->task);
		splice_put_awaits(work, segment->chain, segment);
		return skip_plumbing(work, last_anchor(work, anchor, index)->awaiter);
	}
	if (match(work, at, anchor, segment) == MATCH_NO && !is_free(work, at, anchor, segment))
		splice_note(work, SPLICE_MISMATCH);
	if (put_above(work, at, anchor, segment)) {
		splice_put_rest(work, segment);
	} else {
		splice_put_frame(work, segment->chain, segment->task, SPLICE_RUNNING);
		splice_put_awaits(work, segment->chain->awaiter, segment);
	}
	return skip_plumbing(work, last_anchor(work, anchor, index)->awaiter);
}

/* A run without an anchor, whose running function was found all the same. */
static const struct unweave_frame *splice_at_function(struct splice_work *work,
						      const struct unweave_frame *at,
						      const struct unweave_frame *function,
						      const struct sample_segment *segment)
{
	splice_put_native(work, at, function, segment->task);
	splice_put_running(work, function, segment);
	splice_put_rest(work, segment);
	return function->awaiter;
}

static bool is_cut(const struct splice_work *work)
{
	return work->sample->flags & SAMPLE_CUT || !work->sample->native;
}

/* What an anchor called that is of one of the runs around this one; NULL if it is not there. */
static const struct unweave_frame *outer_callee(const struct splice_work *work,
						const struct unweave_frame *at,
						const struct unweave_frame *anchor, uint32_t index)
{
	const struct unweave_frame *callee = frame_before(at, anchor);

	while (callee && splice_is_adapter(work, callee) && ++index < work->sample->segment_count) {
		const struct unweave_frame *found =
			callee_of(work, at, anchor, &work->sample->segments[index]);

		if (found)
			return found;
	}
	return callee;
}

/*
 * No anchor is on the stack: it was cut, or the run is in its dispatch, or its
 * runtime has no anchors.
 */
static const struct unweave_frame *splice_no_anchor(struct splice_work *work,
						    const struct unweave_frame *at,
						    const struct unweave_frame *next,
						    uint32_t index)
{
	const struct sample_segment *segment = &work->sample->segments[index];
	/* What the next anchor called is the running function of the run around this one. */
	const struct unweave_frame *to = next ? outer_callee(work, at, next, index) : NULL;
	const struct unweave_frame *function = find_function(work, at, to, segment->chain);
	const struct unweave_frame *end = index ? NULL : dispatch_end(work, at, to);
	bool cut = is_cut(work) && !next;

	if (!function && end) {
		splice_put_native(work, at, end, segment->task);
		splice_put_awaits(work, segment->chain, segment);
		return end;
	}
	splice_note(work, cut ? SPLICE_CUT : SPLICE_NO_ANCHOR);
	if (function)
		return splice_at_function(work, at, function, segment);
	splice_put_native(work, at, to, segment->task);
	/* Where nobody can tell, it is among the native frames, if these are whole: it runs. */
	if (work->options->same || cut || !at || at == to)
		splice_put_awaits(work, segment->chain, segment);
	else
		splice_put_rest(work, segment);
	return to;
}

/* Whether what the anchor called is known to be the function that a run around this one runs. */
static bool is_outer(const struct splice_work *work, const struct unweave_frame *at,
		     const struct unweave_frame *anchor, uint32_t index)
{
	while (++index < work->sample->segment_count)
		if (match(work, at, anchor, &work->sample->segments[index]) == MATCH_YES)
			return true;
	return false;
}

/* Whether the function of a run around this one lies between its own and an adapter's anchor. */
static bool is_below_outer(const struct splice_work *work, const struct unweave_frame *at,
			   const struct unweave_frame *anchor, uint32_t index)
{
	const struct unweave_frame *callee =
		callee_of(work, at, anchor, &work->sample->segments[index]);

	while (callee && ++index < work->sample->segment_count) {
		const struct unweave_frame *chain = work->sample->segments[index].chain;

		if (chain && find_function(work, callee->awaiter, anchor, chain))
			return true;
	}
	return false;
}

/* Whether an anchor that several runs could have is this one's. */
static bool may_own(const struct splice_work *work, const struct unweave_frame *at,
		    const struct unweave_frame *anchor, uint32_t index)
{
	enum match known = match(work, at, anchor, &work->sample->segments[index]);

	if (known == MATCH_YES)
		return !is_free(work, at, anchor, &work->sample->segments[index]) ||
		       !is_below_outer(work, at, anchor, index);
	if (is_outer(work, at, anchor, index))
		return false;
	/* A thread that is in the library's code may be in the dispatch of its innermost run. */
	return index || !dispatch_end(work, at, anchor);
}

/*
 * The anchor at which the run goes on. One of a run inside of it that is over may
 * come first, while its functions are on their way out: names tell them apart.
 */
static const struct unweave_frame *find_anchor(const struct splice_work *work,
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
static const struct unweave_frame *splice_run(struct splice_work *work,
					      const struct unweave_frame *at, uint32_t index)
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
	struct splice_work work = {.options = options,
				   .sample = sample,
				   .out = ret,
				   .most = most,
				   .outcome = SPLICE_EXACT};
	const struct unweave_frame *at = sample->native;

	if (!sample->segment_count) {
		splice_note(&work, SPLICE_NO_TASK);
		splice_put_native(&work, at, NULL, 0);
	}
	for (uint32_t i = 0; i < sample->segment_count; i++)
		at = splice_run(&work, at, i);
	splice_put_end(&work);
	*ret_count = work.count;
	return work.outcome;
}

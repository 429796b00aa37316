/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One logical stack out of a native one and the chains of the runs that it is
 * inside of.
 *
 *     native, innermost first     sha_block  hash  load_user | anchor 1  dispatch  main
 *     chain of the run                             load_user   handle  serve
 *     spliced                     sha_block  hash  load_user   handle  serve
 *
 * An anchor in the native stack says where the run begins there: what is above
 * it is the running function and what that called, the rest of the chain
 * follows, and the dispatch below is left out. With nested runs each takes the
 * next anchor; native frames between them stay. State machines may be continued
 * inside of each other, so a run of them takes all anchors down to its anchor 0.
 *
 * Where the sample hit the anchor itself, the function comes from the chain. A
 * thread that is in the dispatch of its innermost run, between two functions,
 * has the dispatch's own frames on top of the whole chain. A run whose chain
 * nobody knows keeps all that is there, anchor and dispatch too.
 *
 * A callback is its own whole chain, and why it runs comes after it. Between the
 * anchor and the callback lies the adapter that knows how to call it, at times
 * with some of the library; an adapter's frames are left out wherever they called
 * something.
 *
 *     native, innermost first     parse  on_read | go (adapter)  anchor 0  …  uv_run  main
 *     chain, and its cause                on_read   on_accept's place  main's place
 *     spliced                     parse  on_read   on_accept  main
 */
#ifndef MODEL_SPLICE_H
#define MODEL_SPLICE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/sample.h"

enum splice_kind {
	SPLICE_NATIVE,  /* a frame that a stack walk found */
	SPLICE_RUNNING, /* the same, and the innermost function of its task's chain */
	SPLICE_AWAIT,   /* a function that awaits, from a chain */
	SPLICE_OMITTED, /* `address` frames are left out here; 0: nobody knows how many */
	SPLICE_ARMED,   /* a function that armed a callback, where it did; from a cause */
};

struct splice_frame {
	uint64_t address;
	uint64_t task; /* whose frame it is; 0: none's */
	int32_t state; /* of a state machine; 0 where there is none */
	uint32_t kind; /* enum splice_kind */
};

/* What became of a sample; with several runs the worst of what became of them. */
enum splice_outcome {
	SPLICE_NO_TASK,   /* no task ran: the native stack as it is */
	SPLICE_EXACT,     /* every run found its anchor, or is in its dispatch */
	SPLICE_NO_ANCHOR, /* a run has none (its runtime calls without): the chain follows the
			     native frames, which may include the loop's own */
	SPLICE_CUT,       /* the native stack ended before the anchor; the chain is right */
	SPLICE_NO_CHAIN,  /* the task is known, its chain is not */
	SPLICE_MISMATCH,  /* the function above the anchor is not the one that the chain says */
	SPLICE_OUTCOMES
};

/* Where the anchors lie in the program; 0: nowhere. */
struct splice_anchors {
	uint64_t start;
	uint64_t end;
};

/* Whether two addresses lie in one function; for the check that the anchor's callee is right. */
typedef bool (*splice_same_function)(void *data, uint64_t one, uint64_t other);

/*
 * What follows the chain of a site's tasks, innermost first: why they run. Returns how many
 * frames there are in `*ret`, which stay until the next call; `task` in them counts for nothing.
 */
typedef uint32_t (*splice_cause)(void *data, uint32_t site, const struct splice_frame **ret);

/* Whether tasks of this site are callbacks: runs of one function, which may leave it by a jump. */
typedef bool (*splice_is_callback)(void *data, uint32_t site);

#define SPLICE_ADAPTERS_MAX 16u

struct splice_options {
	struct splice_anchors anchors;
	struct splice_anchors plumbing; /* code of the library around its anchors; or 0 */
	struct splice_anchors adapters[SPLICE_ADAPTERS_MAX]; /* code of those that are there */
	uint32_t adapter_count;
	splice_same_function same; /* or NULL: not checked */
	void *same_data;
	splice_cause cause;             /* or NULL: there are none */
	splice_is_callback is_callback; /* as well */
	void *cause_data;               /* of both */
};

/* Which anchor an address inside of them is in, 0 to 31. */
uint32_t splice_slot(struct splice_anchors anchors, uint64_t address);

/*
 * Fills `ret`, at most `most` frames, innermost first, and `*ret_count`; frames
 * that find no room are left out at the root and replaced by an omission.
 */
enum splice_outcome splice(const struct splice_options *options, const struct sample *sample,
			   struct splice_frame *ret, uint32_t most, uint32_t *ret_count);

#endif /* MODEL_SPLICE_H */

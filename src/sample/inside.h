/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the sampler share. */
#ifndef SAMPLE_INSIDE_H
#define SAMPLE_INSIDE_H

#include "sample/modules.h"
#include "sample/sampler.h"
#include "sample/stacks.h"
#include "sample/take.h"
#include "sample/threads.h"
#include "sample/wall.h"
#include "trace/samples.h"

#define NS_PER_S UINT64_C(1000000000)

struct sampler {
	struct attachment *attachment; /* borrowed */
	struct recorder *recorder;     /* borrowed */
	struct sampler_options options;
	bool on; /* threads are sampled; else `note` says why not, or it is over */
	enum sampler_driver driver; /* to begin with; see driver_so_far() */
	bool changes;               /* the clock of a thread does, by how often that switches */
	bool has_perf;              /* some thread had a perf event, or a timer */
	bool has_timers;
	bool user_only;
	uint64_t period_ns;
	struct threads threads;
	struct wall wall;
	struct modules modules;
	struct take *take;
	struct stack_finder *finder;
	struct samples_writer *writer;
	uint64_t samples;
	uint64_t unwritten;
	uint32_t blocked;
	uint32_t blocked_ever;  /* at two looks in a row */
	uint32_t waiting;       /* for a timer: no thread that ran has set it yet */
	bool delivered;         /* one that runs was told so at the last pass */
	uint32_t runner;        /* the thread that was found to run the last time */
	uint64_t ran;           /* CPU ns of the program when one that runs was looked for */
	uint64_t looked_ns;     /* when that was */
	uint64_t look_ns;       /* when that may be done again, unless it was of use, or many run */
	uint32_t sent;          /* orders that waited when one that runs was told last; 0: done */
	uint32_t unanswered;    /* times in a row that none of them was taken then */
	uint64_t unanswered_ns; /* since when, and CPU ns of the program then */
	uint64_t unanswered_ran;
	bool probed;         /* an order waits, or was taken, to see whether the handler is ours */
	uint64_t unheard_ns; /* of CPU time without a sample, at the last check; 0: all is well */
	uint32_t lacking_ever; /* a clock: neither a timer nor a perf event could be had */
	int lack;              /* errno of the last timer that could not */

	uint64_t pace_ns;  /* when threads are to be looked at for how often they switch */
	uint64_t pace_ran; /* CPU ns of the program when they were */
	uint64_t scan_ran; /* and when new threads were looked for; 0: unknown */
	uint64_t scanned_ns;
	uint64_t checked_ns;
	uint64_t flushed_ns;
	uint64_t counted;      /* CPU ns of all threads when something was heard last */
	uint64_t heard;        /* samples and losses then */
	uint64_t samples_then; /* at the last check */
	uint64_t lost_then;
	uint32_t stuck; /* checks in a row */
	uint64_t begun; /* ticks: what was sampled before is not ours */
	bool told;      /* the SAMPLER block says what is true now */
	struct meta_sampler meta;
	char note[512];
};

static inline struct arena_sampler *shared(const struct sampler *sampler)
{
	return &sampler->attachment->control->sampler;
}

/* Adds a sentence to what the user is told. */
__attribute__((format(printf, 2, 3))) void sampler_note(struct sampler *sampler, const char *format,
							...);

#endif /* SAMPLE_INSIDE_H */

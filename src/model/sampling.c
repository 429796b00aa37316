/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sampling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/anchors.h"
#include "util/grow.h"
#include "util/hash.h"

#define AHEAD_NS UINT64_C(200000000) /* threads are drained more often than that */
#define AHEAD_MOST (1u << 17)        /* samples */
#define FRAMES_MOST 4096u

int sampling_init(struct sampling *sampling, struct reader *reader, struct tree *tree,
		  struct causes *causes)
{
	*sampling = (struct sampling){.due = UINT64_MAX,
				      .reader = reader,
				      .tree = tree,
				      .causes = causes,
				      .splice = anchors_options(reader)};
	sampling->splice.cause = causes_behind;
	sampling->splice.is_callback = causes_is_callback;
	sampling->splice.cause_data = causes;
	sampling->frames = calloc(FRAMES_MOST, sizeof(*sampling->frames));
	sampling->known = calloc(SAMPLING_KNOWN, sizeof(*sampling->known));
	return sampling->frames && sampling->known ? 0 : -ENOMEM;
}

void sampling_fini(struct sampling *sampling)
{
	free(sampling->heap);
	free(sampling->frames);
	free(sampling->known);
	*sampling = (struct sampling){0};
}

static int make_room(struct sampling *sampling)
{
	struct sampling_sample *heap =
		grow(sampling->heap, sampling->count, &sampling->capacity, 256, sizeof(*heap));

	if (!heap)
		return -ENOMEM;
	sampling->heap = heap;
	return 0;
}

static void push(struct sampling *sampling, const struct sampling_sample *sample)
{
	struct sampling_sample *heap = sampling->heap;
	uint32_t at = sampling->count++;

	for (; at && heap[(at - 1) / 2].time > sample->time; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = *sample;
}

static struct sampling_sample pop(struct sampling *sampling)
{
	struct sampling_sample *heap = sampling->heap;
	struct sampling_sample first = heap[0], last = heap[--sampling->count];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < sampling->count) {
		if (child + 1 < sampling->count && heap[child + 1].time < heap[child].time)
			child++;
		if (heap[child].time >= last.time)
			break;
		heap[at] = heap[child];
		at = child;
	}
	if (sampling->count)
		heap[at] = last;
	return first;
}

/* Frames, innermost first, as a stack of the tree; 0: no memory. */
static uint32_t intern(struct tree *tree, const struct splice_frame *frames, uint32_t count)
{
	uint32_t node = 0;

	while (count--) {
		node = tree_child(tree, node, frames[count].address, frames[count].state,
				  frames[count].kind);
		if (!node)
			return 0;
	}
	return node;
}

static struct sampling_known key_of(const struct sample *sample)
{
	struct sampling_known key = {
		.native = sample->native ? sample->native->id : 0,
		.segments = sample->segment_count,
		.flags = sample->flags,
		.block = sample->block + 1,
	};

	for (uint32_t i = 0; i < sample->segment_count && i < 2; i++) {
		key.chains[i] = sample->segments[i].chain ? sample->segments[i].chain->id : 0;
		key.sites[i] = sample->segments[i].site;
	}
	return key;
}

static struct sampling_known *known_of(const struct sampling *sampling,
				       const struct sampling_known *key)
{
	uint64_t chains = (uint64_t)key->chains[0] << 32 | key->chains[1];
	uint64_t sites = (uint64_t)key->sites[0] << 32 | key->sites[1];
	uint64_t hash = hash_mix(hash_mix(hash_mix(key->native) ^ chains) ^ sites);

	return &sampling->known[hash % SAMPLING_KNOWN];
}

/* Splices a sample, unless the same was just done. -ENOMEM. */
static int resolve(struct sampling *sampling, const struct sample *sample,
		   struct sampling_sample *ret)
{
	struct sampling_known key = key_of(sample), *known = known_of(sampling, &key);
	uint32_t count = 0;

	if (sample->segment_count <= 2 &&
	    memcmp(known, &key, offsetof(struct sampling_known, stack)) == 0) {
		ret->stack = known->stack;
		ret->outcome = known->outcome;
		return 0;
	}
	ret->outcome = splice(&sampling->splice, sample, sampling->frames, FRAMES_MOST, &count);
	ret->stack = intern(sampling->tree, sampling->frames, count);
	if ((count && !ret->stack) || sampling->causes->no_memory)
		return -ENOMEM;
	if (sample->segment_count <= 2) {
		key.stack = ret->stack;
		key.outcome = ret->outcome;
		*known = key;
	}
	return 0;
}

static int read_one(struct sampling *sampling, struct diag *diag)
{
	struct sampling_sample made;
	struct sample sample;
	int r = reader_next_sample(sampling->reader, &sample, diag);

	if (r) {
		sampling->ended = r == READER_END;
		return r == READER_END ? 0 : r;
	}
	made = (struct sampling_sample){
		.time = sample.time,
		.weight = sample.weight,
		.task = sample.segment_count ? sample.segments[0].task : 0,
		.site = sample.segment_count ? sample.segments[0].site : 0,
		.tid = sample.tid,
		.flags = sample.flags,
	};
	if (make_room(sampling) < 0 || resolve(sampling, &sample, &made) < 0)
		return diag_set(diag, -ENOMEM, "out of memory");
	if (made.time > sampling->latest)
		sampling->latest = made.time;
	push(sampling, &made);
	return 0;
}

int sampling_start(struct sampling *sampling, struct diag *diag)
{
	while (!sampling->ended && sampling->count < AHEAD_MOST &&
	       (!sampling->count || sampling->latest - sampling->heap[0].time < AHEAD_NS)) {
		int r = read_one(sampling, diag);

		if (r < 0)
			return r;
	}
	sampling->due = sampling->count ? sampling->heap[0].time : UINT64_MAX;
	return 0;
}

int sampling_next(struct sampling *sampling, struct sampling_sample *ret, struct diag *diag)
{
	*ret = pop(sampling);
	return sampling_start(sampling, diag);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/follow.h"

/* The stack of a record, taken apart. */
struct frames {
	uint32_t count, root, keep;
	uint64_t omitted; /* if `root` */
	const uint64_t *addresses;
	const uint32_t *states; /* or NULL */
};

static struct frames frames_of(const uint64_t *stack)
{
	uint64_t head = *stack++;
	struct frames frames = {.count = head & 0xffff,
				.root = head >> 16 & 0xffff,
				.keep = head >> 32 & 0x7fffffff};

	if (frames.root)
		frames.omitted = *stack++;
	frames.addresses = stack;
	if (head >> 63)
		frames.states = (const uint32_t *)(stack + frames.count);
	return frames;
}

/* Says in the chain that `frames` frames are left out on top of `base`. */
static const struct unweave_frame *push_omission(struct stream_shop *shop,
						 const struct unweave_frame *base, uint64_t frames)
{
	shop->omitting = true;
	return stacks_push(shop->stacks, base, frames, 0, UNWEAVE_FRAME_OMITTED);
}

/* Frames that the program has in its chain, those included that are left out. */
static uint64_t frames_in(const struct stream_shop *shop, const struct unweave_frame *chain)
{
	uint64_t frames = chain ? chain->depth : 0;

	for (; chain && shop->omitting; chain = chain->awaiter)
		if (chain->kind == UNWEAVE_FRAME_OMITTED && chain->address)
			frames += chain->address - 1;
	return frames;
}

/* All but the innermost frame. Of a chain that is not known, who knows how much is missing. */
static const struct unweave_frame *keep_rest(struct stream_shop *shop,
					     const struct unweave_frame *chain)
{
	if (!chain)
		return push_omission(shop, NULL, 0);
	return chain->kind == UNWEAVE_FRAME_CODE ? chain->awaiter : chain;
}

/* The `keep` outermost frames of a chain; what is not known of them is said to be left out. */
static const struct unweave_frame *keep_root(struct stream_shop *shop,
					     const struct unweave_frame *chain, uint32_t keep)
{
	uint64_t frames = frames_in(shop, chain);

	if (keep == RECORD_KEEP_REST)
		return keep_rest(shop, chain);
	/* A hostile program's frames may add up to anything. */
	while (chain && frames > keep) {
		frames -= chain->kind == UNWEAVE_FRAME_OMITTED ? chain->address : 1;
		chain = chain->awaiter;
	}
	return frames < keep ? push_omission(shop, chain, keep - frames) : chain;
}

/* Puts frames on top of `base`. NULL if there is no room for new chains. */
static const struct unweave_frame *
push_frames(struct stream_shop *shop, const struct unweave_frame *base, const struct frames *frames)
{
	const struct unweave_frame *chain = base;

	for (uint32_t i = frames->count; i-- > 0;) {
		int32_t state = frames->states ? (int32_t)frames->states[i] : 0;

		/* Outermost first: the root side, then the word that something is missing. */
		if (frames->root && i == frames->count - frames->root - 1)
			chain = push_omission(shop, chain, frames->omitted);
		chain = stacks_push(shop->stacks, chain, frames->addresses[i], state,
				    UNWEAVE_FRAME_CODE);
		if (!chain || chain->depth >= SCRATCH_FRAMES)
			return NULL;
	}
	return chain;
}

/* The chain that grew at its root: the new frames, and all the old ones on top of them. */
static const struct unweave_frame *append_frames(struct stream_shop *shop,
						 const struct unweave_frame *old,
						 const struct frames *frames)
{
	const struct unweave_frame *chain = push_frames(shop, NULL, frames);
	uint32_t count = 0;

	if (!frames->count)
		return old;
	for (; old && count < SCRATCH_FRAMES; old = old->awaiter)
		shop->scratch[count++] = old;
	while (count-- > 0 && chain)
		chain = stacks_push(shop->stacks, chain, shop->scratch[count]->address,
				    shop->scratch[count]->state, shop->scratch[count]->kind);
	return chain;
}

const struct unweave_frame *follow_unusual(struct stream_shop *shop, struct chain_slot *slot,
					   uint64_t task, const struct record *record)
{
	const struct unweave_frame *old = chain_stack(slot), *chain;
	struct frames frames = frames_of(record->stack);

	if (record->kind == RECORD_APPEND)
		chain = append_frames(shop, old, &frames);
	else
		chain = push_frames(shop, keep_root(shop, old, frames.keep), &frames);
	if (slot->task)
		chain_change(slot, chain);
	else
		chains_add(&shop->chains, slot, task, chain);
	return chain;
}

const struct unweave_frame *follow_alone(struct stream_shop *shop, const struct record *record)
{
	struct frames frames;

	if (!record->stack)
		return NULL;
	frames = frames_of(record->stack);
	return push_frames(shop, NULL, &frames);
}

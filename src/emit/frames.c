/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/frames.h"

#include "emit/emit.h"

struct emit_frames frames_of_stack(const struct unweave_stack *stack)
{
	return (struct emit_frames){
		.count = stack->count,
		.keep = stack->keep,
		.with_states = stack->states != NULL,
		.addresses = stack->addresses,
		.states = stack->states,
	};
}

struct emit_frames frames_of_links(struct unweave_link *innermost, uint32_t count)
{
	struct emit_frames frames = {.links = innermost};
	struct unweave_link *link = innermost;
	struct link_walk walk = {0};

	for (; link && (!count || frames.count < count); link = link_next(&walk, link)) {
		frames.count++;
		frames.with_states |= link->state != 0;
	}
	return frames;
}

struct emit_frames frames_of_head(struct unweave_head *head, uint32_t epoch)
{
	uint32_t keep = head_known(head, epoch);
	struct emit_frames frames = {.links = head->innermost};

	if (!head->depth)
		frames = frames_of_links(head->innermost, keep ? 1 : 0);
	else if (head->depth > keep)
		frames = frames_of_links(head->innermost, head->depth - keep);
	frames.keep = keep;
	frames.head = head;
	return frames;
}

struct emit_frames frames_of_view(const struct unweave_priv_view *view)
{
	struct emit_frames frames = frames_of_links(view_rest(view), 0);

	frames.count++;
	frames.running = view;
	frames.with_states |= view->state != 0;
	return frames;
}

static size_t words_of(uint32_t frames, bool states, bool omission)
{
	return 1u + (omission ? 1u : 0u) + frames + (states ? (frames + 1) / 2 : 0u);
}

struct frames_plan frames_plan(const struct emit_frames *frames, size_t room)
{
	struct frames_plan plan = {.inner = frames->count};
	uint32_t most;

	plan.words = words_of(frames->count, frames->with_states, false);
	if (frames->count <= UINT16_MAX && plan.words <= room)
		return plan;

	/* Two states share a word; two words stay for the counts, one for rounding. */
	most = (uint32_t)((room - 3) * 2 / (frames->with_states ? 3 : 2));
	plan.root = most / 2;
	plan.inner = most - plan.root;
	plan.omitted = frames->count - most;
	plan.words = words_of(most, frames->with_states, true);
	return plan;
}

/* One frame after the other, innermost first. */
struct cursor {
	const struct emit_frames *frames;
	const struct unweave_link *link;
	uint32_t at;
	uint64_t address;
	int32_t state;
};

static void advance(struct cursor *cursor)
{
	const struct emit_frames *frames = cursor->frames;
	uint32_t at = cursor->at++;

	if (frames->addresses) {
		cursor->address = frames->addresses[at];
		cursor->state = frames->states ? frames->states[at] : 0;
	} else if (at == 0 && frames->running) {
		cursor->address = (uintptr_t)frames->running->code;
		cursor->state = frames->running->state;
	} else {
		cursor->address = link_address(cursor->link);
		cursor->state = cursor->link->state;
		cursor->link = link_awaiter(cursor->link);
	}
}

/* On to the next frame that is in the plan. */
static void advance_planned(struct cursor *cursor, const struct frames_plan *plan)
{
	uint32_t skipped = cursor->at == plan->inner ? plan->omitted : 0;

	for (uint32_t i = 0; i <= skipped; i++)
		advance(cursor);
}

uint64_t *frames_store(uint64_t *to, const struct emit_frames *frames,
		       const struct frames_plan *plan)
{
	struct cursor start = {.frames = frames, .link = frames->links};
	uint32_t count = plan->inner + plan->root;
	struct cursor cursor = start;

	emit_store(to++, record_stack_word(count, plan->root, frames->keep, frames->with_states));
	if (plan->root)
		emit_store(to++, plan->omitted);
	for (uint32_t i = 0; i < count; i++) {
		advance_planned(&cursor, plan);
		emit_store(to++, cursor.address);
	}
	cursor = start;
	for (uint32_t i = 0; frames->with_states && i < count; i += 2) {
		uint32_t low, high = 0;

		advance_planned(&cursor, plan);
		low = (uint32_t)cursor.state;
		if (i + 1 < count) {
			advance_planned(&cursor, plan);
			high = (uint32_t)cursor.state;
		}
		emit_store(to++, (uint64_t)high << 32 | low);
	}
	return to;
}

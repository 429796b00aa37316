/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/census.h"

#include <errno.h>
#include <stdlib.h>

#include "arena/clock.h"
#include "drain/heads.h"

#define SLOTS_A_STEP 4096u /* so that the streams are not kept waiting */

int census_begin(struct census *census, const struct stream_shop *shop,
		 int (*introduce)(void *data, struct stream *stream), void *data)
{
	census->stream.line = ARENA_LINES; /* none */
	census->introduce = introduce;
	census->data = data;
	census->next = 1;
	census->end = table_ready(&shop->attachment->table);
	census->batch = calloc(1, sizeof(*census->batch));
	return census->batch ? 0 : -ENOMEM;
}

void census_fini(struct census *census)
{
	free(census->batch);
	census->batch = NULL;
}

static const struct unweave_frame *omit(struct stream_shop *shop, const struct unweave_frame *chain,
					uint64_t frames)
{
	shop->omitting = true;
	return stacks_push(shop->stacks, chain, frames, 0, UNWEAVE_FRAME_OMITTED);
}

static const struct unweave_frame *chain_of(const struct head_subject *subject,
					    struct stream_shop *shop)
{
	uint32_t omitted = heads_omitted(subject);
	/* Where it was given up, nobody knows what the root is. */
	const struct unweave_frame *chain = subject->at ? omit(shop, NULL, 0) : NULL;

	for (uint32_t i = subject->count; i-- > 0;) {
		if (omitted && i == HEADS_ENDS + omitted - 1) {
			chain = omit(shop, chain, omitted);
			i = HEADS_ENDS;
			continue;
		}
		chain = stacks_push(shop->stacks, chain, subject->frames[heads_place(i)].address,
				    subject->frames[heads_place(i)].state, UNWEAVE_FRAME_CODE);
	}
	return chain;
}

static int send_event(struct census *census, struct stream_shop *shop, struct unweave_event *event)
{
	int r;

	if (!census->stream.thread) {
		r = census->introduce(census->data, &census->stream);
		if (r < 0)
			return r;
	}
	event->time = clock_ticks(shop->attachment->clock);
	event->thread = census->stream.thread;
	event->flags = UNWEAVE_EVENT_BEFORE;
	census->stream.number++;
	census->stream.sent++;
	return shop->sink(shop->sink_data, &census->stream, event, 1);
}

static int tell(struct census *census, struct stream_shop *shop, const struct head_subject *subject)
{
	bool known = heads_is_at_rest(subject);
	struct unweave_event event = {
		.kind = UNWEAVE_EVENT_TASK,
		.task = subject->task.id,
		.other = subject->task.parent,
		.value = subject->task.site,
		.stack = known ? chain_of(subject, shop) : NULL,
	};
	struct unweave_event name = {
		.kind = UNWEAVE_EVENT_NAME,
		.task = subject->task.id,
		.text = subject->task.name,
	};
	int r = send_event(census, shop, &event);

	census->told++;
	census->silent += subject->task.head && !known;
	return r < 0 || !subject->task.name[0] ? r : send_event(census, shop, &name);
}

static int tell_batch(struct census *census, struct stream_shop *shop)
{
	int r = 0;

	heads_read(census->batch, shop->attachment);
	census->error = census->batch->error;
	for (uint32_t i = 0; i < census->batch->count && r >= 0; i++)
		r = tell(census, shop, &census->batch->subjects[i]);
	census->batch->count = 0;
	return r;
}

int census_step(struct census *census, struct stream_shop *shop)
{
	struct heads *batch = census->batch;
	uint32_t end = census->end - census->next > SLOTS_A_STEP ? census->next + SLOTS_A_STEP
								 : census->end;
	int r = 0;

	batch->count = 0;
	for (; census->next < end && r >= 0; census->next++) {
		if (table_read(&shop->attachment->table, census->next,
			       &batch->subjects[batch->count].task))
			batch->count++;
		if (batch->count == HEADS_BATCH)
			r = tell_batch(census, shop);
	}
	return r < 0 || !batch->count ? r : tell_batch(census, shop);
}

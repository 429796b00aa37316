/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/census.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "arena/clock.h"
#include "unweave/link.h"

#define SLOTS_A_STEP 4096u /* so that the streams are not kept waiting */
#define BATCH 64u          /* tasks whose memory is read together */
#define ENDS_MAX 512u      /* frames of a chain that are kept, on each side */
#define WALK_MAX 65536u    /* frames that are looked at */

/* A task of a batch, and how far its chain has been followed. */
struct subject {
	struct table_task task;
	struct unweave_head head;
	struct unweave_head again; /* the same, after the chain was read */
	struct unweave_link link;  /* where it stands */
	uint64_t at;               /* address of the next link; 0: the chain has ended */
	uint64_t mark;             /* a link that it has been at: there a ring closes */
	uint32_t count;
	bool known; /* nothing has failed so far */
	/* Innermost first; after the first half, those seen last take turns in the second. */
	struct {
		uint64_t address;
		int32_t state;
	} frames[2 * ENDS_MAX];
};

/* Where the i-th frame of a chain is kept, or would be. */
static uint32_t place_of(uint32_t i)
{
	return i < ENDS_MAX ? i : ENDS_MAX + i % ENDS_MAX;
}

struct census_batch {
	struct subject subjects[BATCH];
	uint32_t count;
};

int census_begin(struct census *census, const struct stream_shop *shop,
		 int (*introduce)(void *data, struct stream *stream), void *data)
{
	census->stream.line = ARENA_LINES; /* none */
	census->introduce = introduce;
	census->data = data;
	census->next = 1;
	census->end = table_ready(&shop->attachment->table);
	census->batch = malloc(sizeof(*census->batch));
	return census->batch ? 0 : -ENOMEM;
}

void census_fini(struct census *census)
{
	free(census->batch);
	census->batch = NULL;
}

/* Pieces of the program's memory that are read at once, and whose they are. */
struct request {
	struct iovec local[BATCH];
	struct iovec remote[BATCH];
	struct subject *owner[BATCH];
	uint32_t count;
};

static void ask(struct request *request, struct subject *owner, void *to, uint64_t address,
		size_t bytes)
{
	request->local[request->count] = (struct iovec){to, bytes};
	request->remote[request->count] = (struct iovec){(void *)(uintptr_t)address, bytes};
	request->owner[request->count++] = owner;
}

/* Reads all pieces; who owns one that cannot be read is not known any more. */
static void read_memory(struct census *census, const struct stream_shop *shop,
			const struct request *request)
{
	uint32_t done = 0;

	while (done < request->count && !census->error) {
		ssize_t got = process_vm_readv((pid_t)shop->attachment->pid, request->local + done,
					       request->count - done, request->remote + done,
					       request->count - done, 0);

		if (got < 0 && errno != EFAULT)
			census->error = errno;
		for (; got > 0 && (size_t)got >= request->local[done].iov_len; done++)
			got -= (ssize_t)request->local[done].iov_len;
		/* It ended at one that is not there, or not all of it. */
		if (done < request->count)
			request->owner[done++]->known = false;
	}
	while (done < request->count)
		request->owner[done++]->known = false;
}

static void read_heads(struct census *census, const struct stream_shop *shop, bool again)
{
	struct census_batch *batch = census->batch;
	struct request request = {.count = 0};

	for (uint32_t i = 0; i < batch->count; i++) {
		struct subject *subject = &batch->subjects[i];

		if (subject->known)
			ask(&request, subject, again ? &subject->again : &subject->head,
			    subject->task.head, sizeof(subject->head));
	}
	read_memory(census, shop, &request);
}

/* One link more of every chain. Returns false if all have ended. */
static bool read_links(struct census *census, const struct stream_shop *shop)
{
	struct census_batch *batch = census->batch;
	struct request request = {.count = 0};

	for (uint32_t i = 0; i < batch->count; i++) {
		struct subject *subject = &batch->subjects[i];

		if (subject->known && subject->at && subject->count < WALK_MAX)
			ask(&request, subject, &subject->link, subject->at, sizeof(subject->link));
	}
	if (!request.count)
		return false;
	read_memory(census, shop, &request);
	for (uint32_t i = 0; i < request.count; i++) {
		struct subject *subject = request.owner[i];
		const struct unweave_link *link = &subject->link;
		const void *code = link->code ? link->code : (const void *)(uintptr_t)link->go;

		if (!subject->known)
			continue;
		subject->frames[place_of(subject->count)].address = (uintptr_t)code;
		subject->frames[place_of(subject->count)].state = link->state;
		/* Brent: as struct link_walk does it in the program. */
		if ((subject->count & (subject->count - 1)) == 0)
			subject->mark = subject->at;
		subject->count++;
		subject->at = (uintptr_t)link->awaiter;
		if (subject->at == subject->mark)
			subject->at = 0;
	}
	return true;
}

/* A task that waits does not change its chain: the turn says whether it has waited throughout. */
static bool is_at_rest(const struct subject *subject)
{
	return subject->known && subject->head.task == subject->task.id &&
	       subject->again.task == subject->task.id && subject->head.turn % 2 == 0 &&
	       subject->head.turn == subject->again.turn &&
	       subject->head.innermost == subject->again.innermost;
}

static void read_chains(struct census *census, const struct stream_shop *shop)
{
	struct census_batch *batch = census->batch;

	for (uint32_t i = 0; i < batch->count; i++) {
		struct subject *subject = &batch->subjects[i];

		subject->known = subject->task.head && !shop->attachment->foreign;
		subject->count = 0;
	}
	read_heads(census, shop, false);
	for (uint32_t i = 0; i < batch->count; i++)
		batch->subjects[i].at = (uintptr_t)batch->subjects[i].head.innermost;
	while (read_links(census, shop))
		;
	read_heads(census, shop, true);
}

static const struct unweave_frame *omit(struct stream_shop *shop, const struct unweave_frame *chain,
					uint64_t frames)
{
	shop->omitting = true;
	return stacks_push(shop->stacks, chain, frames, 0, UNWEAVE_FRAME_OMITTED);
}

static const struct unweave_frame *chain_of(const struct subject *subject, struct stream_shop *shop)
{
	uint32_t omitted = subject->count > 2 * ENDS_MAX ? subject->count - 2 * ENDS_MAX : 0;
	/* Where it was given up, nobody knows what the root is. */
	const struct unweave_frame *chain = subject->at ? omit(shop, NULL, 0) : NULL;

	for (uint32_t i = subject->count; i-- > 0;) {
		if (omitted && i == ENDS_MAX + omitted - 1) {
			chain = omit(shop, chain, omitted);
			i = ENDS_MAX;
			continue;
		}
		chain = stacks_push(shop->stacks, chain, subject->frames[place_of(i)].address,
				    subject->frames[place_of(i)].state, UNWEAVE_FRAME_CODE);
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
	return shop->sink(shop->sink_data, &census->stream, event);
}

static int tell(struct census *census, struct stream_shop *shop, const struct subject *subject)
{
	bool known = is_at_rest(subject);
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

	read_chains(census, shop);
	for (uint32_t i = 0; i < census->batch->count && r >= 0; i++)
		r = tell(census, shop, &census->batch->subjects[i]);
	census->batch->count = 0;
	return r;
}

int census_step(struct census *census, struct stream_shop *shop)
{
	struct census_batch *batch = census->batch;
	uint32_t end = census->end - census->next > SLOTS_A_STEP ? census->next + SLOTS_A_STEP
								 : census->end;
	int r = 0;

	batch->count = 0;
	for (; census->next < end && r >= 0; census->next++) {
		if (table_read(&shop->attachment->table, census->next,
			       &batch->subjects[batch->count].task))
			batch->count++;
		if (batch->count == BATCH)
			r = tell_batch(census, shop);
	}
	return r < 0 || !batch->count ? r : tell_batch(census, shop);
}

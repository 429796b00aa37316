/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/heads.h"

#include <string.h>

#include "drain/memory.h"

#define WALK_MAX 65536u /* frames that are looked at */
#define PAGE_BYTES 4096u

/* Pieces of the program's memory that are read at once, and whose they are. */
struct request {
	struct iovec local[HEADS_BATCH];
	struct iovec remote[HEADS_BATCH];
	struct head_subject *owner[HEADS_BATCH];
	uint32_t count;
};
_Static_assert(HEADS_BATCH <= MEMORY_PIECES, "a batch is read at once");

static void ask(struct request *request, struct head_subject *owner, void *to, uint64_t address,
		size_t bytes)
{
	request->local[request->count] = (struct iovec){to, bytes};
	request->remote[request->count] = (struct iovec){(void *)(uintptr_t)address, bytes};
	request->owner[request->count++] = owner;
}

/* Reads all pieces; who owns one that cannot be read is not known any more. */
static void read_memory(struct heads *heads, const struct attachment *attachment,
			const struct request *request)
{
	bool there[HEADS_BATCH];

	memory_read_pieces(attachment, request->local, request->remote, request->count, there,
			   &heads->error);
	for (uint32_t i = 0; i < request->count; i++)
		request->owner[i]->known &= there[i];
}

/* Asks for a link, and for some of what follows on the same page: often the next ones. */
static void ask_window(struct request *request, struct head_subject *subject, uint64_t address)
{
	uint32_t bytes = PAGE_BYTES - (uint32_t)(address % PAGE_BYTES);

	if (bytes > HEADS_WINDOW)
		bytes = HEADS_WINDOW;
	if (bytes < sizeof(struct unweave_link))
		bytes = sizeof(struct unweave_link);
	subject->window_at = address;
	subject->window_bytes = bytes;
	ask(request, subject, subject->window, address, bytes);
}

/* What is at an address, if it is in the window. */
static const void *in_window(const struct head_subject *subject, uint64_t address, size_t bytes)
{
	uint64_t within = address - subject->window_at;

	return within < subject->window_bytes && bytes <= subject->window_bytes - within
		       ? subject->window + within
		       : NULL;
}

static void take_link(struct head_subject *subject, const struct unweave_link *link)
{
	const void *code = link->code ? link->code : (const void *)(uintptr_t)link->go;

	subject->frames[heads_place(subject->count)].address = (uintptr_t)code;
	subject->frames[heads_place(subject->count)].state = link->state;
	/* Brent: as struct link_walk does it in the program. */
	if ((subject->count & (subject->count - 1)) == 0)
		subject->mark = subject->at;
	subject->count++;
	subject->at = (uintptr_t)link->awaiter;
	if (subject->at == subject->mark)
		subject->at = 0;
}

static bool goes_on(const struct head_subject *subject)
{
	return subject->known && subject->at && subject->count < WALK_MAX;
}

/* Along the links that are there already. */
static void follow(struct head_subject *subject)
{
	struct unweave_link link;
	const void *found;

	while (goes_on(subject) && (found = in_window(subject, subject->at, sizeof(link)))) {
		memcpy(&link, found, sizeof(link));
		take_link(subject, &link);
	}
}

static void read_heads(struct heads *heads, const struct attachment *attachment, bool again)
{
	struct request request = {.count = 0};

	for (uint32_t i = 0; i < heads->count; i++) {
		struct head_subject *subject = &heads->subjects[i];

		if (subject->known)
			ask(&request, subject, again ? &subject->again : &subject->head,
			    subject->task.head, sizeof(subject->head));
	}
	read_memory(heads, attachment, &request);
}

/* Some links more of every chain. Returns false if all have ended. */
static bool read_links(struct heads *heads, const struct attachment *attachment)
{
	struct request request = {.count = 0};

	for (uint32_t i = 0; i < heads->count; i++)
		if (goes_on(&heads->subjects[i]))
			ask_window(&request, &heads->subjects[i], heads->subjects[i].at);
	if (!request.count)
		return false;
	read_memory(heads, attachment, &request);
	for (uint32_t i = 0; i < request.count; i++)
		follow(request.owner[i]);
	return true;
}

/* A task that waits does not change its chain: the turn says whether it did. */
bool heads_is_at_rest(const struct head_subject *subject)
{
	return subject->known && subject->head.task == subject->task.id &&
	       subject->again.task == subject->task.id && subject->head.turn % 2 == 0 &&
	       subject->head.turn == subject->again.turn &&
	       subject->head.innermost == subject->again.innermost;
}

void heads_read(struct heads *heads, const struct attachment *attachment)
{
	for (uint32_t i = 0; i < heads->count; i++) {
		struct head_subject *subject = &heads->subjects[i];

		subject->known = subject->task.head != 0;
		subject->count = 0;
	}
	/* What links say counts only between two looks at the head: so it is not read with the
	 * links. */
	read_heads(heads, attachment, false);
	for (uint32_t i = 0; i < heads->count; i++)
		heads->subjects[i].at = (uintptr_t)heads->subjects[i].head.innermost;
	while (read_links(heads, attachment))
		;
	read_heads(heads, attachment, true);
}

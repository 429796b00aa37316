/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/meta.h"

#include <errno.h>

static void put_text(struct buffer *to, struct meta_text text)
{
	buffer_put_text(to, text.bytes, text.length);
}

static struct meta_text get_text(struct wire *from)
{
	uint64_t length = wire_varint(from);
	const uint8_t *bytes = NULL;

	/* Compared as 64 bits: where size_t is smaller, a cut length could look possible. */
	if (length > (uint64_t)(from->end - from->at))
		from->bad = true;
	else
		bytes = wire_bytes(from, length);
	if (!bytes)
		return (struct meta_text){.bytes = ""};
	return (struct meta_text){.bytes = (const char *)bytes, .length = length};
}

static int result(const struct buffer *to)
{
	return to->bad ? -ENOMEM : 0;
}

int meta_session_encode(struct buffer *to, const struct meta_session *session)
{
	buffer_put_varint(to, session->pid);
	buffer_put_varint(to, session->realtime);
	buffer_put_varint(to, session->clock);
	buffer_put_varint(to, session->ticks_per_s);
	buffer_put_varint(to, session->keywords);
	buffer_put_varint(to, session->policy);
	buffer_put_varint(to, session->detail);
	put_text(to, session->version);
	put_text(to, session->program);
	put_text(to, session->machine);
	return result(to);
}

void meta_session_decode(struct wire *from, struct meta_session *ret)
{
	ret->pid = wire_varint(from);
	ret->realtime = wire_varint(from);
	ret->clock = wire_varint(from);
	ret->ticks_per_s = wire_varint(from);
	ret->keywords = wire_varint(from);
	ret->policy = wire_varint(from);
	ret->detail = wire_varint(from);
	ret->version = get_text(from);
	ret->program = get_text(from);
	ret->machine = get_text(from);
}

int meta_clock_encode(struct buffer *to, const struct meta_clock *clock)
{
	buffer_put_varint(to, clock->ticks);
	buffer_put_varint(to, clock->raw);
	buffer_put_varint(to, clock->realtime);
	return result(to);
}

void meta_clock_decode(struct wire *from, struct meta_clock *ret)
{
	ret->ticks = wire_varint(from);
	ret->raw = wire_varint(from);
	ret->realtime = wire_varint(from);
}

int meta_thread_encode(struct buffer *to, const struct meta_thread *thread)
{
	buffer_put_varint(to, thread->thread);
	buffer_put_varint(to, thread->tid);
	buffer_put_varint(to, thread->ended);
	put_text(to, thread->name);
	return result(to);
}

void meta_thread_decode(struct wire *from, struct meta_thread *ret)
{
	ret->thread = wire_varint(from);
	ret->tid = wire_varint(from);
	ret->ended = wire_varint(from);
	ret->name = get_text(from);
}

int meta_site_encode(struct buffer *to, const struct meta_site *site)
{
	buffer_put_varint(to, site->id);
	buffer_put_varint(to, site->line);
	put_text(to, site->name);
	put_text(to, site->function);
	put_text(to, site->file);
	return result(to);
}

void meta_site_decode(struct wire *from, struct meta_site *ret)
{
	ret->id = wire_varint(from);
	ret->line = wire_varint(from);
	ret->name = get_text(from);
	ret->function = get_text(from);
	ret->file = get_text(from);
}

int meta_text_encode(struct buffer *to, struct meta_text text)
{
	put_text(to, text);
	return result(to);
}

void meta_text_decode(struct wire *from, struct meta_text *ret)
{
	*ret = get_text(from);
}

int meta_callback_encode(struct buffer *to, const struct meta_site *site)
{
	buffer_put_varint(to, site->flags);
	buffer_put_varint(to, site->code);
	buffer_put_varint(to, site->place);
	buffer_put_varint(to, site->under);
	return result(to);
}

void meta_callback_decode(struct wire *from, struct meta_site *ret)
{
	ret->flags = wire_varint(from);
	ret->code = wire_varint(from);
	ret->place = wire_varint(from);
	ret->under = wire_varint(from);
}

int meta_adapter_encode(struct buffer *to, const struct meta_adapter *adapter)
{
	put_text(to, adapter->name);
	buffer_put_varint(to, adapter->fate);
	put_text(to, adapter->why);
	return result(to);
}

void meta_adapter_decode(struct wire *from, struct meta_adapter *ret)
{
	ret->name = get_text(from);
	ret->fate = wire_varint(from);
	ret->why = get_text(from);
}

int meta_wait_encode(struct buffer *to, const struct meta_wait *wait)
{
	buffer_put_varint(to, wait->task);
	buffer_put_varint(to, wait->kind);
	buffer_put_varint(to, wait->on);
	return result(to);
}

void meta_wait_decode(struct wire *from, struct meta_wait *ret)
{
	ret->task = wire_varint(from);
	ret->kind = wire_varint(from);
	ret->on = wire_varint(from);
}

int meta_stream_end_encode(struct buffer *to, const struct meta_stream_end *end)
{
	buffer_put_varint(to, end->thread);
	buffer_put_varint(to, end->aside);
	buffer_put_varint(to, end->number);
	return result(to);
}

void meta_stream_end_decode(struct wire *from, struct meta_stream_end *ret)
{
	ret->thread = wire_varint(from);
	ret->aside = wire_varint(from);
	ret->number = wire_varint(from);
}

int meta_loss_encode(struct buffer *to, const struct meta_loss *loss)
{
	buffer_put_varint(to, loss->cause);
	buffer_put_varint(to, loss->events);
	return result(to);
}

void meta_loss_decode(struct wire *from, struct meta_loss *ret)
{
	ret->cause = wire_varint(from);
	ret->events = wire_varint(from);
}

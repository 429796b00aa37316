/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/sample.h"

#include <errno.h>

static int result(const struct buffer *to)
{
	return to->bad ? -ENOMEM : 0;
}

int meta_sampler_encode(struct buffer *to, const struct meta_sampler *sampler)
{
	buffer_put_varint(to, sampler->driver);
	buffer_put_varint(to, sampler->hz);
	buffer_put_varint(to, sampler->user_only);
	buffer_put_varint(to, sampler->lost);
	return meta_text_encode(to, sampler->note);
}

void meta_sampler_decode(struct wire *from, struct meta_sampler *ret)
{
	ret->driver = wire_varint(from);
	ret->hz = wire_varint(from);
	ret->user_only = wire_varint(from);
	ret->lost = wire_varint(from);
	meta_text_decode(from, &ret->note);
}

int meta_module_encode(struct buffer *to, const struct meta_module *module)
{
	buffer_put_varint(to, module->start);
	buffer_put_varint(to, module->end - module->start);
	buffer_put_varint(to, module->offset);
	meta_text_encode(to, module->path);
	return meta_text_encode(to, module->build_id);
}

void meta_module_decode(struct wire *from, struct meta_module *ret)
{
	uint64_t bytes;

	ret->start = wire_varint(from);
	bytes = wire_varint(from);
	if (bytes > UINT64_MAX - ret->start)
		from->bad = true;
	ret->end = ret->start + bytes;
	ret->offset = wire_varint(from);
	meta_text_decode(from, &ret->path);
	meta_text_decode(from, &ret->build_id);
}

int meta_symbol_encode(struct buffer *to, uint64_t address, uint64_t start,
		       const struct meta_symbol_frame *frames, uint32_t count)
{
	buffer_put_varint(to, address);
	/*
	 * 1 more than how far before it, so that 0 is "unknown". What is seldom run of a function
	 * may lie before it: modulo 2^64.
	 */
	buffer_put_varint(to, start ? address - start + 1 : 0);
	buffer_put_varint(to, count);
	for (uint32_t i = 0; i < count; i++) {
		meta_text_encode(to, frames[i].function);
		meta_text_encode(to, frames[i].file);
		buffer_put_varint(to, frames[i].line);
	}
	return result(to);
}

uint32_t meta_symbol_decode(struct wire *from, uint64_t *ret_address, uint64_t *ret_start,
			    struct meta_symbol_frame frames[META_SYMBOL_FRAMES])
{
	uint64_t back, count;

	*ret_address = wire_varint(from);
	back = wire_varint(from);
	*ret_start = back ? *ret_address - (back - 1) : 0;
	count = wire_varint(from);
	for (uint64_t i = 0; i < count && !from->bad; i++) {
		struct meta_symbol_frame frame;

		meta_text_decode(from, &frame.function);
		meta_text_decode(from, &frame.file);
		frame.line = wire_varint(from);
		if (i < META_SYMBOL_FRAMES)
			frames[i] = frame;
	}
	if (from->bad)
		return 0;
	return count < META_SYMBOL_FRAMES ? (uint32_t)count : META_SYMBOL_FRAMES;
}

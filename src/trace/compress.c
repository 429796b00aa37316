/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/compress.h"

#include <errno.h>
#include <zstd.h>

/* Both are zstd's contexts under a name of ours, so that no header needs zstd's. */

int compressor_new(struct compressor **ret, int level)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();

	if (!context)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
	*ret = (struct compressor *)context;
	return 0;
}

struct compressor *compressor_free(struct compressor *compressor)
{
	ZSTD_freeCCtx((ZSTD_CCtx *)compressor);
	return NULL;
}

size_t compressor_run(void *data, void *to, size_t capacity, const void *from, size_t length)
{
	size_t size = ZSTD_compress2(data, to, capacity, from, length);

	/* No room in `capacity` is an error to zstd; to the writer it is a block that stays plain.
	 */
	return ZSTD_isError(size) || size >= length ? 0 : size;
}

int decompressor_new(struct decompressor **ret)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();

	if (!context)
		return -ENOMEM;
	*ret = (struct decompressor *)context;
	return 0;
}

struct decompressor *decompressor_free(struct decompressor *decompressor)
{
	ZSTD_freeDCtx((ZSTD_DCtx *)decompressor);
	return NULL;
}

int decompressor_run(struct decompressor *decompressor, void *to, size_t length, const void *from,
		     size_t stored)
{
	/* In one shot, zstd writes to `to` only, and takes no memory for what the frame claims. */
	size_t size = ZSTD_decompressDCtx((ZSTD_DCtx *)decompressor, to, length, from, stored);

	return ZSTD_isError(size) || size != length ? -EBADMSG : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a program besides its arena: of the living process, which is not
 * asked and does not notice, or what somebody kept of a dead one.
 */
#ifndef DRAIN_MEMORY_H
#define DRAIN_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "drain/attach.h"

#define MEMORY_PIECES 64u

/*
 * Reads up to MEMORY_PIECES pieces, `remote` into `local`, each as long as the other, and
 * says of each whether it was there. `error` gets why nothing can be read at all; once
 * it is set, nothing is tried.
 */
void memory_read_pieces(const struct attachment *attachment, const struct iovec *local,
			const struct iovec *remote, uint32_t count, bool *ret_there, int *error);

/* The same for one. */
bool memory_read(const struct attachment *attachment, void *to, uint64_t address, size_t bytes,
		 int *error);

#endif /* DRAIN_MEMORY_H */

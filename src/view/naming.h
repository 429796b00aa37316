/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of a trace: what it carries itself, then what the files on this machine say. */
#ifndef VIEW_NAMING_H
#define VIEW_NAMING_H

#include "symbol/symbol.h"
#include "trace/reader.h"
#include "util/diag.h"

/* `no_files`: only what the trace carries. -ENOMEM. */
int naming_new(struct symbols **ret, struct reader *reader, bool no_files, struct diag *diag);

/*
 * A splice_same_function; `symbols` is the data. Where it is not known what
 * function an address is in, nothing speaks against it.
 */
bool naming_same_function(void *symbols, uint64_t one, uint64_t other);

#endif /* VIEW_NAMING_H */

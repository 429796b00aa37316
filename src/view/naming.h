/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of a trace: what it carries itself, then what the files on this machine say. */
#ifndef VIEW_NAMING_H
#define VIEW_NAMING_H

#include "symbol/symbol.h"
#include "trace/reader.h"
#include "util/diag.h"

/* `no_files`: only what the trace carries. -ENOMEM. */
int naming_new(struct symbols **ret, struct reader *reader, bool no_files, struct diag *diag);

#endif /* VIEW_NAMING_H */

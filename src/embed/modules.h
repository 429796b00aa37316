/* SPDX-License-Identifier: Apache-2.0 */
/* Which code this process has mapped, for the trace that it writes of itself. */
#ifndef EMBED_MODULES_H
#define EMBED_MODULES_H

#include "drain/recorder.h"

/* Tells all of it; what cannot be told is left out. Not for hooks: it asks the loader. */
void modules_tell(struct recorder *recorder, const struct attachment *attachment);

#endif /* EMBED_MODULES_H */

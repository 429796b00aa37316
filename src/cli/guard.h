/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program can make its arena's file smaller while we read it, and the pages
 * that are gone would end us by SIGBUS. With a guard they read as zeros instead,
 * and the attachment says that it was cut: the session ends, and the trace with
 * all that was taken is closed as usual.
 */
#ifndef CLI_GUARD_H
#define CLI_GUARD_H

#include "drain/attach.h"

/* Guards one attachment, which must stay where it is; a later call guards another instead. */
void guard_begin(struct attachment *attachment);
/* Before it is unmapped. */
void guard_end(void);

#endif /* CLI_GUARD_H */

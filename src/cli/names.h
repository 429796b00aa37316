/* SPDX-License-Identifier: Apache-2.0 */
/* What the numbers of a trace are called. Unknown ones are "?". */
#ifndef CLI_NAMES_H
#define CLI_NAMES_H

#include <stdint.h>

#include "unweave/event.h"

#define NAMES_KINDS (UNWEAVE_EVENT_DUE + 1)
#define NAMES_LOSSES (UNWEAVE_LOSS_DAMAGE + 1)

const char *name_kind(uint64_t kind); /* as in --kind: "frame_resume" */
const char *name_status(uint64_t status);
const char *name_source(uint64_t source);
const char *name_reset(uint64_t reset);
const char *name_loss(uint64_t cause);        /* one word, for programs */
const char *name_loss_reason(uint64_t cause); /* a few, for people */
const char *name_clock(uint64_t clock);
const char *name_driver(uint64_t driver); /* of samples */
const char *name_policy(uint64_t policy);
const char *name_detail(uint64_t detail);

#endif /* CLI_NAMES_H */

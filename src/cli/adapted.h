/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace says of adapters. */
#ifndef CLI_ADAPTED_H
#define CLI_ADAPTED_H

#include <stdio.h>

#include "trace/reader.h"
#include "view/json.h"

/* As a line, "libuv 1.44.2; glib was not wished for". */
void adapted_print(const struct reader *reader, FILE *to);
/* As a list, "adapters". */
void adapted_json(const struct reader *reader, struct json *json);

#endif /* CLI_ADAPTED_H */

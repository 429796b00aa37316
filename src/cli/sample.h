/* SPDX-License-Identifier: Apache-2.0 */
/* One sample in words, or as JSON. */
#ifndef CLI_SAMPLE_H
#define CLI_SAMPLE_H

#include <stdbool.h>
#include <stdio.h>

#include "trace/reader.h"
#include "view/json.h"

/* One line; `stacks` adds the addresses of its stacks, innermost first. */
void sample_show(FILE *to, const struct reader *reader, const struct sample *sample, bool stacks);

/* One object, with all that the sample says. */
void sample_json(struct json *json, const struct reader *reader, const struct sample *sample);

#endif /* CLI_SAMPLE_H */

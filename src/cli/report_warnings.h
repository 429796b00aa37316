/* SPDX-License-Identifier: Apache-2.0 */
/* The warnings of a report. */
#ifndef CLI_REPORT_WARNINGS_H
#define CLI_REPORT_WARNINGS_H

#include "cli/report.h"

/* Both return -ENOMEM. The first prints nothing if there are none. */
int warnings_print(const struct report *report, FILE *to);
int warnings_json(const struct report *report, const char *key, struct json *json);

/* Whether there is one of this kind: then a finding of the same is one too many. */
bool warnings_have(const struct report *report, enum lint_kind kind);

#endif /* CLI_REPORT_WARNINGS_H */

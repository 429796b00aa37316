/* SPDX-License-Identifier: Apache-2.0 */
/* What stands out in a trace, in sentences. */
#ifndef CLI_REPORT_FINDINGS_H
#define CLI_REPORT_FINDINGS_H

#include "cli/report.h"

/* Both return -ENOMEM. */
int findings_print(const struct report *report, FILE *to);
int findings_json(const struct report *report, const char *key, struct json *json);

#endif /* CLI_REPORT_FINDINGS_H */

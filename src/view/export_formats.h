/* SPDX-License-Identifier: Apache-2.0 */
/* The formats that export.c lists. */
#ifndef VIEW_EXPORT_FORMATS_H
#define VIEW_EXPORT_FORMATS_H

#include "view/export.h"

extern const struct export_format export_chrome;
extern const struct export_format export_firefox;
extern const struct export_format export_folded;
extern const struct export_format export_perfetto;
extern const struct export_format export_pprof;
extern const struct export_format export_speedscope;

#endif /* VIEW_EXPORT_FORMATS_H */

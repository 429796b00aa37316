/* SPDX-License-Identifier: Apache-2.0 */
/* What splicing needs to know of the program that a trace is of. */
#ifndef MODEL_ANCHORS_H
#define MODEL_ANCHORS_H

#include "model/splice.h"
#include "trace/reader.h"

/*
 * Where the anchors are, and the code around them: all of the library if it was a
 * file of its own, else what calls them; and the adapters. Zeros where the trace does not say.
 */
struct splice_options anchors_options(const struct reader *reader);

#endif /* MODEL_ANCHORS_H */

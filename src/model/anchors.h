/* SPDX-License-Identifier: Apache-2.0 */
/* What splicing needs to know of the program that a trace is of. */
#ifndef MODEL_ANCHORS_H
#define MODEL_ANCHORS_H

#include "model/splice.h"
#include "trace/reader.h"

/*
 * Where the anchors are and, if the library was a file of its own, the code
 * around them; zeros where the trace does not say.
 */
struct splice_options anchors_options(const struct reader *reader);

#endif /* MODEL_ANCHORS_H */

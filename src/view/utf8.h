/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VIEW_UTF8_H
#define VIEW_UTF8_H

#include <stddef.h>

/* Bytes of the character at `text`; 0 if they are no valid UTF-8. `text` ends with a zero byte. */
size_t utf8_length(const char *text);

#endif /* VIEW_UTF8_H */

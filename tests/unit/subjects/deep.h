/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of deep.c, in each of its variants. */
#ifndef TESTS_DEEP_H
#define TESTS_DEEP_H

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define VARIANT(name) PASTE(name, FLAVOUR)

#define DECLARE_VARIANT(flavour)                                                                   \
	int PASTE_(down, flavour)(int depth, void (*stop)(void));                                  \
	int PASTE_(work, flavour)(void)

DECLARE_VARIANT(plain);   /* -O0 */
DECLARE_VARIANT(quick);   /* -O2 -fomit-frame-pointer */
DECLARE_VARIANT(chained); /* -O1 -fno-omit-frame-pointer, without call frame information */

#endif /* TESTS_DEEP_H */

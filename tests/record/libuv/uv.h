/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RECORD_UV_H
#define TESTS_RECORD_UV_H

/* Calls it once. */
int uv_run(void (*callback)(void));

#endif /* TESTS_RECORD_UV_H */

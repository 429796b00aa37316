/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines that wait again and again: plain ones, those that tell unweave, and those that do
 * not know of it but are built with its <coroutine>.
 */
#ifndef BENCH_CORO_H
#define BENCH_CORO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CORO_TASKS 16u

/* To be called once, before the others. */
void coro_make(void);
void coro_make_unaware(void);

/* Resumes one, which waits in a function that another one awaits. */
void coro_resume_plain(uint32_t number);
void coro_resume_told(uint32_t number);
void coro_resume_unaware(uint32_t number);

#ifdef __cplusplus
}
#endif

#endif /* BENCH_CORO_H */

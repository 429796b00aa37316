/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the stress tests share: how long they go on, where their files are, and
 * time and chance.
 *
 * UNWEAVE_STRESS=full runs them at full size; the usual size fits `make check`.
 * UNWEAVE_STRESS_SEED repeats a run's choices, as far as threads allow.
 */
#ifndef STRESS_STRESS_H
#define STRESS_STRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Under a sanitizer everything takes several times as long, and memory is not ours to judge. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STRESS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STRESS_SANITIZED 1
#endif
#endif
#ifndef STRESS_SANITIZED
#define STRESS_SANITIZED 0
#endif
/* ThreadSanitizer has a thread of its own, which outlives a first thread that ends early. */
#if defined(__SANITIZE_THREAD__)
#define STRESS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STRESS_TSAN 1
#endif
#endif
#ifndef STRESS_TSAN
#define STRESS_TSAN 0
#endif

/*
 * Makes a directory for the test's files and one on a tmpfs for its arenas, both
 * removed at exit, and gives the whole test so many seconds.
 */
void stress_begin(unsigned limit_s);

bool stress_is_full(void);
/* One of the two; half of the short one under a sanitizer. */
unsigned stress_size(unsigned shortly, unsigned fully);

/* A path in the test's directory; `number` makes it another one. Static storage, of four turns. */
const char *stress_path(const char *name, unsigned number);

uint64_t stress_random(void);
/* From 0 to limit - 1. */
uint64_t stress_below(uint64_t limit);

uint64_t stress_now_ns(void);
void stress_sleep_us(uint64_t us);

/* Memory that children share with us, zeroed; never given back. */
void *stress_share(size_t bytes);

/* Waits for a child; its status, or -1 if it had to be killed after `limit_ms`. */
int stress_wait(pid_t pid, unsigned limit_ms);

/* Peak of a child's resident memory, of the last one that stress_wait() saw. In bytes. */
uint64_t stress_peak_of_last(void);

/* A line of /proc/PID/status in bytes, such as "VmHWM"; 0 if it is not there. */
uint64_t stress_memory(pid_t pid, const char *field);

#endif /* STRESS_STRESS_H */

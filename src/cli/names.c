/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/names.h"

#include <stddef.h>

#include "trace/sample.h"
#include "unweave.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define LOOK_UP(table, index) ((index) < COUNT(table) && (table)[index] ? (table)[index] : "?")

const char *name_kind(uint64_t kind)
{
	static const char *const names[] = {
		[UNWEAVE_EVENT_CREATE] = "create",
		[UNWEAVE_EVENT_RESUME] = "resume",
		[UNWEAVE_EVENT_SUSPEND] = "suspend",
		[UNWEAVE_EVENT_COMPLETE] = "complete",
		[UNWEAVE_EVENT_WAKE] = "wake",
		[UNWEAVE_EVENT_FRAME_RESUME] = "frame_resume",
		[UNWEAVE_EVENT_FRAME_COMPLETE] = "frame_complete",
		[UNWEAVE_EVENT_UNWIND] = "unwind",
		[UNWEAVE_EVENT_APPEND] = "append",
		[UNWEAVE_EVENT_NAME] = "name",
		[UNWEAVE_EVENT_IDLE] = "idle",
		[UNWEAVE_EVENT_ANCHOR_RESET] = "anchor_reset",
		[UNWEAVE_EVENT_RESET] = "reset",
		[UNWEAVE_EVENT_REPLAY] = "replay",
		[UNWEAVE_EVENT_LOST] = "lost",
		[UNWEAVE_EVENT_AWAIT] = "await",
		[UNWEAVE_EVENT_TASK] = "task",
		[UNWEAVE_EVENT_WOKE] = "woke",
		[UNWEAVE_EVENT_DUE] = "due",
	};

	return LOOK_UP(names, kind);
}

const char *name_status(uint64_t status)
{
	static const char *const names[] = {
		[UNWEAVE_OK] = "ok",
		[UNWEAVE_ERROR] = "error",
		[UNWEAVE_CANCELLED] = "cancelled",
	};

	return LOOK_UP(names, status);
}

const char *name_source(uint64_t source)
{
	static const char *const names[] = {
		[UNWEAVE_SOURCE_TASK] = "task",   [UNWEAVE_SOURCE_TIMER] = "timer",
		[UNWEAVE_SOURCE_IO] = "io",       [UNWEAVE_SOURCE_SIGNAL] = "signal",
		[UNWEAVE_SOURCE_OTHER] = "other",
	};

	return LOOK_UP(names, source);
}

const char *name_reset(uint64_t reset)
{
	static const char *const names[] = {
		[UNWEAVE_RESET_START] = "start",
		[UNWEAVE_RESET_CONFIG] = "config",
		[UNWEAVE_RESET_LOSS] = "loss",
		[UNWEAVE_RESET_CHUNK] = "chunk",
	};

	return LOOK_UP(names, reset);
}

const char *name_loss(uint64_t cause)
{
	static const char *const names[] = {
		[UNWEAVE_LOSS_FULL] = "full",           [UNWEAVE_LOSS_RECORDER] = "recorder",
		[UNWEAVE_LOSS_NO_THREAD] = "no_thread", [UNWEAVE_LOSS_REENTRY] = "reentry",
		[UNWEAVE_LOSS_DISK] = "disk",           [UNWEAVE_LOSS_DAMAGE] = "damage",
	};

	return LOOK_UP(names, cause);
}

const char *name_loss_reason(uint64_t cause)
{
	static const char *const names[] = {
		[UNWEAVE_LOSS_FULL] = "the buffers were full",
		[UNWEAVE_LOSS_RECORDER] = "the recorder died",
		[UNWEAVE_LOSS_NO_THREAD] = "their thread was not registered",
		[UNWEAVE_LOSS_REENTRY] = "a signal handler interrupted another",
		[UNWEAVE_LOSS_DISK] = "the disk was full, or failed",
		[UNWEAVE_LOSS_DAMAGE] = "the file is damaged",
	};

	return LOOK_UP(names, cause);
}

const char *name_driver(uint64_t driver)
{
	static const char *const names[] = {
		[SAMPLER_NONE] = "none",          [SAMPLER_PERF] = "perf events",
		[SAMPLER_TIMER] = "timers",       [SAMPLER_WALL] = "wall clock",
		[SAMPLER_OTHER] = "another tool", [SAMPLER_MIXED] = "perf events and timers",
	};

	return LOOK_UP(names, driver);
}

const char *name_clock(uint64_t clock)
{
	static const char *const names[] = {
		[1] = "TSC / 16",
		[2] = "cntvct_el0",
		[3] = "CLOCK_MONOTONIC_RAW",
	};

	return LOOK_UP(names, clock);
}

const char *name_policy(uint64_t policy)
{
	static const char *const names[] = {
		[UNWEAVE_POLICY_DROP] = "drop newest",
		[UNWEAVE_POLICY_OVERWRITE] = "overwrite oldest",
		[UNWEAVE_POLICY_BLOCK] = "block",
	};

	return LOOK_UP(names, policy);
}

const char *name_detail(uint64_t detail)
{
	static const char *const names[] = {
		[UNWEAVE_DETAIL_DEFAULT] = "full",
		[UNWEAVE_DETAIL_SAMPLES] = "samples",
		[UNWEAVE_DETAIL_TASKS] = "tasks",
		[UNWEAVE_DETAIL_FULL] = "full",
	};

	return LOOK_UP(names, detail);
}

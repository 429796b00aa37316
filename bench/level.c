/* SPDX-License-Identifier: Apache-2.0 */
#include "level.h"

#define CHUNKS 16u

static const struct {
	enum arena_mode mode;
	uint64_t keywords;
} settings[] = {
	[LEVEL_OFF] = {ARENA_MODE_OFF, 0},
	[LEVEL_SAMPLES] = {ARENA_MODE_SAMPLES, 0},
	[LEVEL_TASKS] = {ARENA_MODE_EVENTS, UNWEAVE_KEYWORDS_TASKS},
	[LEVEL_FULL] = {ARENA_MODE_EVENTS, UNWEAVE_KEYWORDS_FULL},
};

void level_set(enum level level)
{
	struct arena_config *config = &emit_process.control->config;
	uint64_t revision = (unweave_priv_gate() >> 8) + 1;

	atomic_store(&config->keywords, settings[level].keywords);
	if (level == LEVEL_OFF)
		atomic_store(&config->off_revision, revision);
	__atomic_store_n(&config->hot.gate, revision << 8 | settings[level].mode, __ATOMIC_RELEASE);
}

void level_give_chunks(void)
{
	struct arena_control *control = emit_process.control;

	atomic_store(&control->hints[0], (UINT64_C(1) << CHUNKS) - 1);
	atomic_store(&control->config.chunks, CHUNKS);
}

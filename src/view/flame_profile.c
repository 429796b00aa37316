/* SPDX-License-Identifier: Apache-2.0 */
/* From a profile to a flame graph. */
#include <stdlib.h>

#include "view/flame_graph.h"

#define TASKS_A_FRAME 8u /* of each value; the rest is said to be of others */

static void add_values(struct flame *flame, uint32_t node, enum flame_side side,
		       const struct profile *profile, uint32_t from)
{
	const struct profile_node *there = profile_at(profile, from);
	struct profile_task tasks[TASKS_A_FRAME];

	for (uint32_t value = 0; value < PROFILE_VALUES; value++) {
		uint32_t count;

		if (!there->self[value])
			continue;
		flame_add_self(flame, node, side, value, there->self[value], there->count[value]);
		if (side != FLAME_THIS)
			continue;
		count = profile_tasks(profile, from, value, tasks, TASKS_A_FRAME);
		for (uint32_t i = 0; i < count; i++)
			flame_add_task(flame, node, value, &tasks[i]);
	}
}

/* From each name of the profile to the graph's; NULL if there is no memory. */
static uint32_t *translate_names(struct flame *flame, const struct profile *profile)
{
	uint32_t count = profile_name_count(profile);
	uint32_t *names = calloc((size_t)count + 1, sizeof(*names));

	for (uint32_t i = 0; names && i < count; i++)
		names[i] = flame_add_name(flame, profile_name(profile, i));
	return names;
}

void flame_add_profile(struct flame *flame, const struct profile *profile, enum flame_side side)
{
	uint32_t *names = translate_names(flame, profile);
	uint32_t at = 0, here = 0; /* in the profile, and in the graph */

	if (!names || !flame_make_values(flame, side)) {
		flame->bad = true;
		free(names);
		return;
	}
	add_values(flame, 0, side, profile, 0);
	/* Down where it goes down; else to the next one of the nearest frame that has one. */
	while (!flame->bad) {
		const struct profile_node *node = profile_at(profile, at);

		if (node->first_child) {
			at = node->first_child;
		} else {
			while (at && !profile_at(profile, at)->next_sibling) {
				at = profile_at(profile, at)->parent;
				here = flame_at(flame, here)->parent;
			}
			if (!at)
				break;
			at = profile_at(profile, at)->next_sibling;
			here = flame_at(flame, here)->parent;
		}
		here = flame_add_child(flame, here, names[profile_at(profile, at)->name]);
		add_values(flame, here, side, profile, at);
	}
	free(names);
}

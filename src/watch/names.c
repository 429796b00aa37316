/* SPDX-License-Identifier: Apache-2.0 */
/* What tasks are called. Looked up only for what is shown, or when they are put in order by it. */
#include <stdio.h>
#include <string.h>

#include "watch/query.h"

const char *name_own(const struct watch *watch, const struct watch_task *task,
		     char room[TABLE_NAME_BYTES])
{
	struct table_task copy;

	if (watch->model) {
		const struct model_task *live = task->slot < model_slots(watch->model)
							? model_slot(watch->model, task->slot)
							: NULL;

		return live && live->id == task->id ? model_own_name(live) : NULL;
	}
	/* A trace that could not be read has neither. */
	if (!watch->attachment || !table_find(&watch->attachment->table, task->id, &copy) ||
	    !copy.name[0])
		return NULL;
	memcpy(room, copy.name, TABLE_NAME_BYTES);
	return room;
}

const char *name_of(struct watch *watch, const struct watch_task *task, char room[TABLE_NAME_BYTES])
{
	const char *own = name_own(watch, task, room);
	struct site *site = own ? NULL : site_get(watch, task->site);

	return own ? own : site ? site_name(watch, site) : "";
}

void watch_name(struct watch *watch, const struct watch_task *task, char to[WATCH_TEXT])
{
	char room[TABLE_NAME_BYTES];

	snprintf(to, WATCH_TEXT, "%s", name_of(watch, task, room));
}

const char *watch_state_name(enum watch_state state)
{
	static const char *const names[WATCH_STATES] = {
		[WATCH_UNTOLD] = "unknown",    [WATCH_RUNNING] = "running",
		[WATCH_QUEUED] = "queued",     [WATCH_WAITING] = "waiting",
		[WATCH_STANDING] = "standing", [WATCH_STILL] = "idle",
	};

	return names[state];
}

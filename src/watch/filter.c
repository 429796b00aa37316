/* SPDX-License-Identifier: Apache-2.0 */
/* Which tasks a query wants. What a filter says of sites and states is found out once for all. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "watch/query.h"

static bool contains(const char *text, const char *part)
{
	return text && strcasestr(text, part);
}

static bool site_matches(struct watch *watch, struct site *site, const char *filter)
{
	return contains(site_name(watch, site), filter) ||
	       contains(site_place(watch, site), filter) ||
	       (site->told.site && contains(site->told.site->kind, filter));
}

void filter_prepare(struct choice *choice)
{
	struct watch *watch = choice->watch;
	const char *filter = choice->query->filter;
	char *end;

	if (!filter || !filter[0])
		return;
	choice->filter = filter;
	choice->id = isdigit((unsigned char)filter[0]) ? strtoull(filter, &end, 10) : 0;
	if (choice->id && *end)
		choice->id = 0;
	for (uint32_t i = 0; i < WATCH_STATES; i++)
		choice->states |= (uint32_t)contains(watch_state_name(i), filter) << i;
	for (uint32_t i = 0; i < watch->sites.count; i++)
		watch->sites.at[i]->matches = site_matches(watch, watch->sites.at[i], filter);
}

static bool passes_filter(const struct choice *choice, const struct watch_task *task)
{
	const struct site *site;
	char room[TABLE_NAME_BYTES];
	const char *own;

	if (choice->states >> task->state & 1 || (choice->id && choice->id == task->id))
		return true;
	own = name_own(choice->watch, task, room);
	if (contains(own, choice->filter))
		return true;
	site = site_get(choice->watch, task->site);
	return site && site->matches;
}

bool filter_wants(const struct choice *choice, const struct watch_task *task)
{
	const struct watch_query *query = choice->query;

	if (query->states && !(query->states >> task->state & 1))
		return false;
	if (query->warnings && !(query->warnings & task->warnings))
		return false;
	if (query->of_site && query->site != task->site)
		return false;
	if (query->of_parent && query->parent != task->parent)
		return false;
	return !choice->filter || passes_filter(choice, task);
}

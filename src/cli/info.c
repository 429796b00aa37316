/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/info.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/progress.h"
#include "util/grow.h"
#include "view/naming.h"

#define SITES_MAX (1u << 20)

void info_fini(struct info *info)
{
	symbols_free(info->symbols);
	free(info->threads);
	tasks_fini(&info->tasks);
	map_fini(&info->site_index);
	free(info->sites);
}

/* NULL: there is no memory, or no room for so many. */
static struct info_site *site_new(struct info *info, uint32_t site)
{
	struct info_site *sites =
		grow(info->sites, info->site_count, &info->site_capacity, 16, sizeof(*sites));

	if (!sites)
		return NULL;
	info->sites = sites;
	if (map_put(&info->site_index, site, info->site_count) < 0)
		return NULL;
	info->sites[info->site_count] = (struct info_site){.site = site};
	return &info->sites[info->site_count++];
}

static void count_site(struct info *info, uint64_t site)
{
	const uint32_t *found;
	struct info_site *at;

	if (!site || site > UINT32_MAX)
		return;
	found = map_find(&info->site_index, site);
	at = found ? &info->sites[*found] : site_new(info, (uint32_t)site);
	if (at)
		at->tasks++;
}

static void count_task(struct info *info, const struct unweave_event *event)
{
	enum tasks_mark mark = TASKS_SEEN;

	if (event->kind == UNWEAVE_EVENT_CREATE)
		mark = TASKS_CREATED;
	if (event->kind == UNWEAVE_EVENT_COMPLETE)
		mark = TASKS_COMPLETED;
	if (event->task)
		tasks_mark(&info->tasks, event->task, mark);
	/* A task may be told to be there, and to be made, by two threads at once. */
	if ((event->kind == UNWEAVE_EVENT_CREATE || event->kind == UNWEAVE_EVENT_TASK) &&
	    tasks_mark(&info->tasks, event->task, TASKS_PLACED))
		count_site(info, event->value);
}

static void count_event(struct info *info, const struct reader *reader,
			const struct unweave_event *event)
{
	const struct reader_thread *thread = reader_thread(reader, event->thread);

	if (event->kind == UNWEAVE_EVENT_LOST) {
		if (event->other < NAMES_LOSSES)
			info->lost[event->other] += event->value;
		if (event->other == UNWEAVE_LOSS_DAMAGE)
			return;
	}
	info->events++;
	info->kinds[event->kind]++;
	if (thread)
		info->threads[thread - reader_thread_at(reader, 0)]++;
	count_task(info, event);
}

/* Those with the most tasks first. */
static int by_tasks(const void *a, const void *b)
{
	const struct info_site *one = a, *two = b;

	if (one->tasks != two->tasks)
		return one->tasks < two->tasks ? 1 : -1;
	return one->site < two->site ? -1 : one->site > two->site;
}

static int count_samples(struct info *info, struct reader *reader, struct diag *diag)
{
	struct sample sample;
	int r;

	while ((r = reader_next_sample(reader, &sample, diag)) == 0) {
		info->samples++;
		info->sampled_ns += sample.weight;
	}
	return r;
}

int info_count(struct info *info, struct reader *reader, struct diag *diag)
{
	struct progress progress;
	struct unweave_event event;
	int r;

	info->threads = calloc(reader_thread_count(reader) + 1, sizeof(*info->threads));
	if (!info->threads || tasks_init(&info->tasks) < 0 ||
	    map_init(&info->site_index, SITES_MAX) < 0)
		return diag_set(diag, -ENOMEM, "out of memory");
	progress_start(&progress, "counting", reader);
	while ((r = reader_next(reader, &event, diag)) == 0) {
		count_event(info, reader, &event);
		progress_step(&progress, event.time);
	}
	progress_end(&progress);
	if (r == READER_END)
		r = count_samples(info, reader, diag);
	if (info->site_count)
		qsort(info->sites, info->site_count, sizeof(*info->sites), by_tasks);
	for (unsigned cause = 0; cause < NAMES_LOSSES; cause++)
		info->lost[cause] += reader_lost_outside(reader, cause);
	return r == READER_END ? 0 : r;
}

uint64_t info_lost(const struct info *info)
{
	uint64_t lost = 0;

	for (unsigned cause = 0; cause < NAMES_LOSSES; cause++)
		lost += info->lost[cause];
	return lost;
}

double info_bytes_per_event(const struct reader_summary *summary, const struct info *info)
{
	return info->events ? (double)summary->event_stored / (double)info->events : 0;
}

uint64_t info_duration(const struct reader_summary *summary)
{
	return summary->last - summary->first;
}

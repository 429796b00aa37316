/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/watch.h"

#include <errno.h>
#include <stdlib.h>

struct watch {
	struct watch_totals totals;
	struct watch_wait none;
};

static int make(struct watch **ret, enum watch_source source)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	watch->totals.source = source;
	*ret = watch;
	return 0;
}

int watch_new(struct watch **ret, struct attachment *attachment, struct diag *diag)
{
	(void)attachment, (void)diag;
	return make(ret, WATCH_EVENTS);
}

int watch_new_table(struct watch **ret, struct attachment *attachment, struct diag *diag)
{
	(void)attachment, (void)diag;
	return make(ret, WATCH_TABLE);
}

int watch_new_trace(struct watch **ret, const char *path, struct diag *diag)
{
	(void)path, (void)diag;
	return make(ret, WATCH_TRACE);
}

struct watch *watch_free(struct watch *watch)
{
	free(watch);
	return NULL;
}

const char *watch_note(const struct watch *watch)
{
	(void)watch;
	return "";
}

int watch_pass(struct watch *watch)
{
	(void)watch;
	return 0;
}

uint64_t watch_pause_ns(const struct watch *watch)
{
	(void)watch;
	return 20000000;
}

int watch_refresh(struct watch *watch)
{
	(void)watch;
	return 0;
}

int watch_seek(struct watch *watch, uint64_t time, struct diag *diag)
{
	(void)watch, (void)time, (void)diag;
	return 0;
}

const struct watch_totals *watch_totals(const struct watch *watch)
{
	return &watch->totals;
}

uint32_t watch_task_count(const struct watch *watch)
{
	(void)watch;
	return 0;
}

const struct watch_task *watch_task_at(const struct watch *watch, uint32_t index)
{
	(void)watch, (void)index;
	return NULL;
}

const struct watch_task *watch_task_find(const struct watch *watch, uint64_t id)
{
	(void)watch, (void)id;
	return NULL;
}

void watch_warn(struct watch *watch, uint32_t index, uint32_t warnings)
{
	(void)watch, (void)index, (void)warnings;
}

void watch_tap(struct watch *watch, const struct model_sink *sink)
{
	(void)watch, (void)sink;
}

void watch_name(struct watch *watch, const struct watch_task *task, char to[WATCH_TEXT])
{
	(void)watch, (void)task;
	to[0] = '\0';
}

void watch_site_name(struct watch *watch, uint32_t site, char to[WATCH_TEXT])
{
	(void)watch, (void)site;
	to[0] = '\0';
}

void watch_site_place(struct watch *watch, uint32_t site, char to[WATCH_TEXT])
{
	(void)watch, (void)site;
	to[0] = '\0';
}

const char *watch_state_name(enum watch_state state)
{
	static const char *const names[] = {"not running", "running", "queued", "waiting",
					    "standing"};

	return names[state];
}

struct symbols *watch_symbols(struct watch *watch)
{
	(void)watch;
	return NULL;
}

int watch_select(struct watch *watch, const struct watch_query *query, uint64_t first,
		 uint32_t count, struct watch_row *rows, struct watch_found *ret)
{
	(void)watch, (void)query, (void)first, (void)count, (void)rows;
	*ret = (struct watch_found){0};
	return 0;
}

int watch_where(struct watch *watch, const struct watch_query *query, uint64_t id, uint64_t *ret)
{
	(void)watch, (void)query, (void)id, (void)ret;
	return -ENOENT;
}

uint32_t watch_site_count(const struct watch *watch)
{
	(void)watch;
	return 0;
}

const struct watch_site *watch_site_at(const struct watch *watch, uint32_t index)
{
	(void)watch, (void)index;
	return NULL;
}

const struct watch_site *watch_site_find(const struct watch *watch, uint32_t id)
{
	(void)watch, (void)id;
	return NULL;
}

uint32_t watch_thread_count(const struct watch *watch)
{
	(void)watch;
	return 0;
}

const struct watch_thread *watch_thread_at(const struct watch *watch, uint32_t index)
{
	(void)watch, (void)index;
	return NULL;
}

const struct watch_wait *watch_waits(const struct watch *watch, uint32_t kind)
{
	(void)kind;
	return &watch->none;
}

int watch_waits_on(struct watch *watch, uint32_t kind, uint32_t count, struct watch_wait *rows)
{
	(void)watch, (void)kind, (void)count, (void)rows;
	return 0;
}

int watch_cycles(struct watch *watch,
		 int (*visit)(void *data, const uint64_t *tasks, uint32_t count), void *data)
{
	(void)watch, (void)visit, (void)data;
	return 0;
}

int watch_choose(struct watch *watch, uint64_t task)
{
	(void)watch, (void)task;
	return 0;
}

const struct watch_detail *watch_detail(struct watch *watch)
{
	(void)watch;
	return NULL;
}

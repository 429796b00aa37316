/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/names.h"

void filter_fini(struct filter *filter)
{
	free(filter->tasks.at);
	free(filter->threads.at);
	*filter = (struct filter){0};
}

int filter_add(struct filter_list *list, uint64_t number)
{
	uint64_t *at = reallocarray(list->at, list->count + 1, sizeof(*at));

	if (!at)
		return -ENOMEM;
	list->at = at;
	list->at[list->count++] = number;
	return 0;
}

static bool contains(const struct filter_list *list, uint64_t number)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->at[i] == number)
			return true;
	return false;
}

/* Whether the word is this name; '-' does for '_'. */
static bool is_name(const char *word, size_t length, const char *name)
{
	if (strlen(name) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		if (word[i] != name[i] && !(word[i] == '-' && name[i] == '_'))
			return false;
	return true;
}

const char *filter_add_kinds(struct filter *filter, const char *words, char *ret, size_t size)
{
	for (;;) {
		size_t length = strcspn(words, ",");
		unsigned kind;

		for (kind = UNWEAVE_EVENT_CREATE; kind < NAMES_KINDS; kind++)
			if (is_name(words, length, name_kind(kind)))
				break;
		if (kind == NAMES_KINDS) {
			length = length < size - 1 ? length : size - 1;
			memcpy(ret, words, length);
			ret[length] = 0;
			return ret;
		}
		filter->kinds |= 1u << kind;
		if (!words[length])
			return NULL;
		words += length + 1;
	}
}

bool filter_passes(const struct filter_list *list, uint64_t number)
{
	return !list->count || contains(list, number);
}

bool filter_match(const struct filter *filter, const struct reader *reader,
		  const struct unweave_event *event)
{
	if (filter->kinds && !(filter->kinds >> event->kind & 1))
		return false;
	if (!filter_passes(&filter->tasks, event->task))
		return false;
	if (filter->threads.count && !contains(&filter->threads, event->thread)) {
		const struct reader_thread *thread = reader_thread(reader, event->thread);

		return thread && thread->tid && contains(&filter->threads, thread->tid);
	}
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a warning says. */
#include <inttypes.h>

#include "view/figures.h"
#include "view/lint.h"

static const char *name_of(const struct lint_warning *warning)
{
	return warning->label && warning->label[0] ? warning->label : "an unnamed task";
}

static void say_where(FILE *to, const struct lint_warning *warning, const char *how)
{
	if (!warning->function)
		return;
	fprintf(to, ", %s %s", warning->how ? warning->how : how, warning->function);
	if (warning->caller)
		fprintf(to, ", called by %s", warning->caller);
}

static void say_thread(FILE *to, const struct lint_warning *warning)
{
	if (warning->thread_name && warning->thread_name[0])
		fprintf(to, " %s", warning->thread_name);
}

static const char *name_in_circle(const struct lint_warning *warning, uint32_t at,
				  const char *unnamed)
{
	return warning->names[at] && warning->names[at][0] ? warning->names[at] : unnamed;
}

static void say_deadlock(FILE *to, const struct lint_warning *warning)
{
	for (uint32_t i = 0; i < warning->task_count; i++)
		fprintf(to, "%s%s",
			i == 0   ? ""
			: i == 1 ? " waits for "
				 : ", which waits for ",
			name_in_circle(warning, i, "an unnamed task"));
	if (warning->count > warning->task_count)
		fprintf(to, ", and so on through %s tasks", say_count(warning->count).text);
	fprintf(to, "%s %s: none of them can go on; so it was for %s.",
		warning->task_count == 1 ? " waits for" : ", which waits for",
		warning->task_count == 1 ? "itself" : name_in_circle(warning, 0, "the first one"),
		say_span(warning->worst).text);
}

static void say_lost_wake(FILE *to, const struct lint_warning *warning)
{
	if (warning->count > 1)
		fprintf(to, "%s tasks, %s, wait", say_count(warning->count).text, name_of(warning));
	else
		fprintf(to, "%s waits", name_of(warning));
	say_where(to, warning, "in");
	if (warning->other)
		fprintf(to, ", for a task that has ended without waking %s; for %s.",
			warning->count > 1 ? "them" : "it", say_span(warning->worst).text);
	else
		fprintf(to, ", for a timer that ran down %s ago, and %s not woken.",
			say_span(warning->worst).text, warning->count > 1 ? "were" : "was");
}

static void say_endless(FILE *to, const struct lint_warning *warning)
{
	fprintf(to, "A run of %s has kept its thread", name_of(warning));
	say_thread(to, warning);
	fprintf(to, " for %s and does not end", say_span(warning->worst).text);
	say_where(to, warning, "in");
	fprintf(to, ".");
}

static void say_run(FILE *to, const struct lint_warning *warning)
{
	if (warning->count > 1)
		fprintf(to, "%s runs of %s kept their threads for at least %s, the longest%s",
			say_count(warning->count).text, name_of(warning),
			say_span(warning->limit).text,
			warning->thread_name && warning->thread_name[0] ? " on" : "");
	else
		fprintf(to, "A run of %s kept its thread", name_of(warning));
	say_thread(to, warning);
	fprintf(to, " for %s", say_span(warning->worst).text);
	say_where(to, warning, "in");
	if (warning->asleep)
		fprintf(to, "; asleep for %s of it", say_span(warning->asleep).text);
	fprintf(to, ".");
}

static void say_queue(FILE *to, const struct lint_warning *warning)
{
	fprintf(to, "%s could run and found no thread for %s", name_of(warning),
		say_span(warning->worst).text);
	if (warning->count > 1)
		fprintf(to, " at worst, and for at least %s %s times of %s",
			say_span(warning->limit).text, say_count(warning->count).text,
			say_count(warning->of).text);
	say_where(to, warning, "after it waited in");
	if (warning->other)
		fprintf(to, "; threads ran mostly %s", warning->other);
	fprintf(to, ".");
}

static void say_wait(FILE *to, const struct lint_warning *warning)
{
	if (warning->count > 1)
		fprintf(to, "%s tasks, %s, have waited for at least %s, one for %s",
			say_count(warning->count).text, name_of(warning),
			say_span(warning->limit).text, say_span(warning->worst).text);
	else
		fprintf(to, "%s has waited for %s", name_of(warning),
			say_span(warning->worst).text);
	say_where(to, warning, "in");
	fprintf(to, ".");
}

static void say_empty(FILE *to, const struct lint_warning *warning)
{
	if (warning->count > 1)
		fprintf(to,
			"%s tasks, %s, were run to do nothing but wake themselves again, "
			"one of them %s times",
			say_count(warning->count).text, name_of(warning),
			say_count(warning->worst).text);
	else
		fprintf(to, "%s was run %s times to do nothing but wake itself again",
			name_of(warning), say_count(warning->worst).text);
	say_where(to, warning, "in");
	fprintf(to, ".");
}

static void say_self_wakes(FILE *to, const struct lint_warning *warning)
{
	if (warning->count > 1)
		fprintf(to,
			"%s tasks, %s, mostly wake themselves: up to %" PRIu64 " %% of their wakes",
			say_count(warning->count).text, name_of(warning), warning->worst);
	else
		fprintf(to, "%s mostly wakes itself: %" PRIu64 " %% of its %s wakes",
			name_of(warning), warning->worst, say_count(warning->of).text);
	say_where(to, warning, "in");
	fprintf(to, ".");
}

static void say_leak(FILE *to, const struct lint_warning *warning)
{
	fprintf(to, "%s tasks live, %s, of %s that were created, and it is ever more",
		say_count(warning->worst).text, name_of(warning), say_count(warning->of).text);
	say_where(to, warning, "created in");
	fprintf(to, ".");
}

void lint_say(FILE *to, const struct lint_warning *warning)
{
	static void (*const words[LINT_KINDS])(FILE *, const struct lint_warning *) = {
		[LINT_DEADLOCK] = say_deadlock, [LINT_LOST_WAKE] = say_lost_wake,
		[LINT_ENDLESS] = say_endless,   [LINT_RUN] = say_run,
		[LINT_QUEUE] = say_queue,       [LINT_WAIT] = say_wait,
		[LINT_EMPTY] = say_empty,       [LINT_SELF_WAKES] = say_self_wakes,
		[LINT_LEAK] = say_leak,
	};

	words[warning->kind](to, warning);
}

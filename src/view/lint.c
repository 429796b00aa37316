/* SPDX-License-Identifier: Apache-2.0 */
#include "view/lint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "view/figures.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

/* Fewer wakes than these are no habit; and what works for so long at a time yields on purpose. */
#define WAKES_LEAST 100u
#define SHORT_RUN_NS 100000u

/* One stall is a hiccup of the machine, unless it is as many times the limit. */
#define LATE_LEAST 5u
#define LATE_TIMES 10u

/* A site that grows is watched for so long before that means anything. */
#define GROWTH_LEAST_NS (2 * NS_PER_S)
#define GROWTH_PART_NS (125 * NS_PER_MS)

static const struct lint_rule rules[LINT_KINDS] = {
	[LINT_DEADLOCK] = {"deadlock", "deadlock", LINT_NS, NS_PER_S,
			   "Tasks that wait for each other in a circle never go on: take locks in "
			   "one order, or let one of them wait with a timeout."},
	[LINT_LOST_WAKE] = {"lost-wake", "lost wake", LINT_NS, NS_PER_S,
			    "What the task waits for has happened and nobody woke it, so it will "
			    "wait forever: whoever ends the wait must wake the task, also on the "
			    "paths of errors and cancellation."},
	[LINT_ENDLESS] =
		{"endless", "never yields", LINT_NS, NS_PER_S,
		 "A run that does not end keeps its thread from all other tasks: a loop in "
		 "it does not wait, or something in it blocks."},
	[LINT_RUN] = {"run", "long run", LINT_NS, 100 * NS_PER_MS,
		      "While a task runs no other can run on its thread: move what blocks, or "
		      "computes for long, to another thread, or do it in smaller steps."},
	[LINT_QUEUE] = {"queue", "queue delay", LINT_NS, 100 * NS_PER_MS,
			"Tasks that could run found no thread: others run for too long at a time, "
			"or there is more to do than threads can."},
	[LINT_WAIT] = {"wait", "long wait", LINT_NS, 10 * NS_PER_S,
		       "What waits for so long mostly waits for what does not come: a lock that is "
		       "never given back, an answer that is never sent."},
	[LINT_EMPTY] =
		{"empty-runs", "empty runs", LINT_COUNT, 1000,
		 "A task that wakes itself to look again, and finds nothing, polls in a busy "
		 "loop: let it be woken by what it waits for."},
	[LINT_SELF_WAKES] = {"self-wakes", "self-wakes", LINT_PERCENT, 50,
			     "A task that mostly wakes itself is queued again and again without "
			     "waiting for anything: do the work in one run, or wait for an event."},
	[LINT_LEAK] = {"leak", "task leak", LINT_COUNT, 100,
		       "Ever more tasks of one place live and hardly one ends: they wait for what "
		       "does not come, or nobody ends them."},
};

const struct lint_rule *lint_rule(enum lint_kind kind)
{
	return &rules[kind];
}

void lint_limits_init(struct lint_limits *limits)
{
	for (unsigned i = 0; i < LINT_KINDS; i++) {
		limits->at[i] = rules[i].limit;
		limits->set[i] = false;
	}
}

static int no_limit(const char *word, size_t length, const struct lint_rule *rule,
		    struct diag *diag)
{
	diag_set(diag, -EINVAL, "'%.*s' is no limit for the warning '%s'", (int)length, word,
		 rule->name);
	return diag_hint(diag, -EINVAL, "%s, or none",
			 rule->unit == LINT_NS        ? "a time such as 1.5s or 20ms"
			 : rule->unit == LINT_PERCENT ? "a number from 0 to 100"
						      : "a number");
}

static int no_rule(const char *word, size_t length, struct diag *diag)
{
	char names[160] = "";
	size_t at = 0;

	for (unsigned i = 0; i < LINT_KINDS; i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? ", " : "",
				       rules[i].name);
	diag_set(diag, -EINVAL, "there is no warning '%.*s'", (int)length, word);
	return diag_hint(diag, -EINVAL, "one of %s; or none", names);
}

static bool parse_limit(const struct lint_rule *rule, const char *text, uint64_t *ret)
{
	char *end;

	if (strcmp(text, "none") == 0) {
		*ret = LINT_OFF;
		return true;
	}
	if (rule->unit == LINT_NS)
		return figures_time(text, ret);
	if (text[0] < '0' || text[0] > '9')
		return false;
	*ret = strtoull(text, &end, 10);
	if (rule->unit == LINT_PERCENT && *end == '%')
		end++;
	return !*end && (rule->unit != LINT_PERCENT || *ret <= 100);
}

/* One word: "run=10ms", "none". */
static int set_one(struct lint_limits *limits, const char *word, size_t length, struct diag *diag)
{
	const char *equals = memchr(word, '=', length);
	size_t name = equals ? (size_t)(equals - word) : length;
	char value[32] = "";
	unsigned i = 0;

	if (!equals && length == 4 && memcmp(word, "none", 4) == 0) {
		for (; i < LINT_KINDS; i++)
			limits->at[i] = LINT_OFF;
		return 0;
	}
	while (i < LINT_KINDS &&
	       (strlen(rules[i].name) != name || memcmp(rules[i].name, word, name) != 0))
		i++;
	if (i == LINT_KINDS)
		return no_rule(word, name, diag);
	if (equals && length - name - 1 < sizeof(value))
		memcpy(value, equals + 1, length - name - 1);
	if (!parse_limit(&rules[i], value, &limits->at[i]))
		return no_limit(equals ? equals + 1 : "", equals ? length - name - 1 : 0, &rules[i],
				diag);
	limits->set[i] = true;
	return 0;
}

int lint_limits_set(struct lint_limits *limits, const char *text, struct diag *diag)
{
	int r = 0;

	for (;; text++) {
		size_t length = strcspn(text, ",");

		r = set_one(limits, text, length, diag);
		text += length;
		if (r < 0 || !*text)
			return r;
	}
}

struct lint_limit_text lint_limit_text(enum lint_kind kind, uint64_t limit)
{
	struct lint_limit_text result;
	enum lint_unit unit = rules[kind].unit;

	if (limit == LINT_OFF)
		snprintf(result.text, sizeof(result.text), "none");
	else if (unit == LINT_NS)
		snprintf(result.text, sizeof(result.text), "%s", say_span(limit).text);
	else
		snprintf(result.text, sizeof(result.text), "%" PRIu64 "%s", limit,
			 unit == LINT_PERCENT ? " %" : "");
	return result;
}

bool lint_may_block(const char *kind)
{
	return kind && (strcmp(kind, "work") == 0 || strcmp(kind, "blocking") == 0);
}

enum lint_kind lint_judge_run(const struct lint_limits *limits, uint64_t ns, bool over)
{
	if (!over && ns >= limits->at[LINT_ENDLESS])
		return LINT_ENDLESS;
	return ns >= limits->at[LINT_RUN] ? LINT_RUN : LINT_KINDS;
}

enum lint_kind lint_judge_wait(const struct lint_limits *limits, const struct lint_waiting *waiting)
{
	bool timer = waiting->waits == UNWEAVE_WAIT_TIMER;

	if (waiting->waits == UNWEAVE_WAIT_TASK && waiting->gone &&
	    waiting->ns >= limits->at[LINT_LOST_WAKE])
		return LINT_LOST_WAKE;
	if (timer && !waiting->kept && waiting->idled &&
	    waiting->overdue >= limits->at[LINT_LOST_WAKE] &&
	    waiting->ns >= limits->at[LINT_LOST_WAKE])
		return LINT_LOST_WAKE;
	/* Of all others, only the user knows whether they may take long. */
	if ((waiting->waits == UNWEAVE_WAIT_LOCK || (limits->set[LINT_WAIT] && !timer)) &&
	    waiting->ns >= limits->at[LINT_WAIT])
		return LINT_WAIT;
	return LINT_KINDS;
}

enum lint_kind lint_judge_queue(const struct lint_limits *limits,
				const struct lint_queueing *queueing)
{
	uint64_t limit = limits->at[LINT_QUEUE];

	if (limit == LINT_OFF || !queueing->late)
		return LINT_KINDS;
	if (queueing->episodes >= LATE_LEAST && queueing->late >= queueing->waits / 100)
		return LINT_QUEUE;
	return queueing->worst / LATE_TIMES >= limit ? LINT_QUEUE : LINT_KINDS;
}

uint64_t lint_self_percent(const struct lint_waking *waking)
{
	return waking->wakes ? waking->self_wakes * 100 / waking->wakes : 0;
}

enum lint_kind lint_judge_wakes(const struct lint_limits *limits, const struct lint_waking *waking)
{
	if (!waking->runs || waking->busy / waking->runs >= SHORT_RUN_NS)
		return LINT_KINDS;
	if (waking->empty_runs >= limits->at[LINT_EMPTY] &&
	    waking->empty_runs >= waking->runs - waking->runs / 10)
		return LINT_EMPTY;
	return waking->wakes >= WAKES_LEAST && waking->self_wakes &&
			       lint_self_percent(waking) >= limits->at[LINT_SELF_WAKES]
		       ? LINT_SELF_WAKES
		       : LINT_KINDS;
}

/* Makes one part out of two. */
static void halve(struct lint_growth *growth)
{
	for (uint32_t i = 0; i < LINT_PARTS / 2; i++) {
		growth->live_at[i] = growth->live_at[2 * i + 1];
		growth->created_at[i] = growth->created_at[2 * i + 1];
	}
	growth->parts = LINT_PARTS / 2;
	growth->part_ns *= 2;
}

void lint_growth_until(struct lint_growth *growth, uint64_t now)
{
	if (!growth->start) {
		growth->start = now ? now : 1;
		growth->part_ns = GROWTH_PART_NS;
	}
	while (now > growth->start && (now - growth->start) / growth->part_ns > growth->parts) {
		if (growth->parts == LINT_PARTS) {
			halve(growth);
			continue;
		}
		growth->live_at[growth->parts] = growth->live;
		growth->created_at[growth->parts++] = growth->created;
	}
}

void lint_growth_before(struct lint_growth *growth)
{
	growth->live++;
	growth->created++;
	for (uint32_t i = 0; i < growth->parts; i++) {
		growth->live_at[i]++;
		growth->created_at[i]++;
	}
}

enum lint_kind lint_judge_growth(const struct lint_limits *limits, const struct lint_growth *growth)
{
	const uint64_t *live = growth->live_at, *created = growth->created_at;
	uint32_t quarter = growth->parts / 4, last = growth->parts - 1, half = last - 2 * quarter;
	uint64_t made, grown;

	if (growth->live < limits->at[LINT_LEAK] || growth->parts < LINT_PARTS / 2 ||
	    growth->parts * growth->part_ns < GROWTH_LEAST_NS)
		return LINT_KINDS;
	/* It grew in each quarter, and in the last one not much less than before. */
	for (uint32_t i = last; i >= quarter; i -= quarter) {
		if (live[i] <= live[i - quarter])
			return LINT_KINDS;
		if (i < 2 * quarter)
			break;
	}
	if (live[last] - live[last - quarter] < live[last] / 16)
		return LINT_KINDS;
	/* And of what was created in the second half, hardly anything ended. */
	made = created[last] - created[half];
	grown = live[last] > live[half] ? live[last] - live[half] : 0;
	return grown >= made - made / 10 ? LINT_LEAK : LINT_KINDS;
}

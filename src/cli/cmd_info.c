/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/adapted.h"
#include "cli/cmd.h"
#include "cli/labels.h"
#include "cli/names.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "cli/tasks.h"
#include "trace/reader.h"
#include "util/cleanup.h"
#include "util/grow.h"
#include "view/json.h"
#include "view/naming.h"

#define THREADS_SHOWN 16u
#define SITES_SHOWN 16u
#define SITES_MAX (1u << 20)
#define NS_PER_S UINT64_C(1000000000)

DEFINE_FREEP(struct reader, reader_free)

struct plan {
	bool json;
	bool no_files; /* names only from the trace */
};

/* Tasks that were made at one place. */
struct site_tally {
	uint32_t site;
	uint64_t tasks;
};

/* What is counted by reading all events. */
struct tally {
	struct symbols *symbols; /* for the sites of callbacks */
	uint64_t events;         /* not the LOST ones that the reader made */
	uint64_t kinds[NAMES_KINDS];
	uint64_t lost[NAMES_LOSSES];
	uint64_t samples;
	uint64_t sampled_ns; /* that they stand for */
	uint64_t *threads;   /* events by the reader's index of threads */
	struct tasks tasks;
	struct map site_index; /* site to where it is in `sites` */
	struct site_tally *sites;
	uint32_t site_count;
	uint32_t site_capacity;
};

static void tally_fini(struct tally *tally)
{
	symbols_free(tally->symbols);
	free(tally->threads);
	tasks_fini(&tally->tasks);
	map_fini(&tally->site_index);
	free(tally->sites);
}

/* NULL: there is no memory, or no room for so many. */
static struct site_tally *site_new(struct tally *tally, uint32_t site)
{
	struct site_tally *sites =
		grow(tally->sites, tally->site_count, &tally->site_capacity, 16, sizeof(*sites));

	if (!sites)
		return NULL;
	tally->sites = sites;
	if (map_put(&tally->site_index, site, tally->site_count) < 0)
		return NULL;
	tally->sites[tally->site_count] = (struct site_tally){.site = site};
	return &tally->sites[tally->site_count++];
}

static void count_site(struct tally *tally, uint64_t site)
{
	const uint32_t *found;
	struct site_tally *at;

	if (!site || site > UINT32_MAX)
		return;
	found = map_find(&tally->site_index, site);
	at = found ? &tally->sites[*found] : site_new(tally, (uint32_t)site);
	if (at)
		at->tasks++;
}

static void count_task(struct tally *tally, const struct unweave_event *event)
{
	enum tasks_mark mark = TASKS_SEEN;

	if (event->kind == UNWEAVE_EVENT_CREATE)
		mark = TASKS_CREATED;
	if (event->kind == UNWEAVE_EVENT_COMPLETE)
		mark = TASKS_COMPLETED;
	if (event->task)
		tasks_mark(&tally->tasks, event->task, mark);
	/* A task may be told to be there, and to be made, by two threads at once. */
	if ((event->kind == UNWEAVE_EVENT_CREATE || event->kind == UNWEAVE_EVENT_TASK) &&
	    tasks_mark(&tally->tasks, event->task, TASKS_PLACED))
		count_site(tally, event->value);
}

static void count_event(struct tally *tally, const struct reader *reader,
			const struct unweave_event *event)
{
	const struct reader_thread *thread = reader_thread(reader, event->thread);

	if (event->kind == UNWEAVE_EVENT_LOST) {
		if (event->other < NAMES_LOSSES)
			tally->lost[event->other] += event->value;
		if (event->other == UNWEAVE_LOSS_DAMAGE)
			return;
	}
	tally->events++;
	tally->kinds[event->kind]++;
	if (thread)
		tally->threads[thread - reader_thread_at(reader, 0)]++;
	count_task(tally, event);
}

/* Those with the most tasks first. */
static int by_tasks(const void *a, const void *b)
{
	const struct site_tally *one = a, *two = b;

	if (one->tasks != two->tasks)
		return one->tasks < two->tasks ? 1 : -1;
	return one->site < two->site ? -1 : one->site > two->site;
}

static int count_samples(struct tally *tally, struct reader *reader, struct diag *diag)
{
	struct sample sample;
	int r;

	while ((r = reader_next_sample(reader, &sample, diag)) == 0) {
		tally->samples++;
		tally->sampled_ns += sample.weight;
	}
	return r;
}

static int count(struct reader *reader, struct tally *tally, struct diag *diag)
{
	struct progress progress;
	struct unweave_event event;
	int r;

	tally->threads = calloc(reader_thread_count(reader) + 1, sizeof(*tally->threads));
	if (!tally->threads || tasks_init(&tally->tasks) < 0 ||
	    map_init(&tally->site_index, SITES_MAX) < 0)
		return diag_set(diag, -ENOMEM, "out of memory");
	progress_start(&progress, "counting", reader);
	while ((r = reader_next(reader, &event, diag)) == 0) {
		count_event(tally, reader, &event);
		progress_step(&progress, event.time);
	}
	progress_end(&progress);
	if (r == READER_END)
		r = count_samples(tally, reader, diag);
	if (tally->site_count)
		qsort(tally->sites, tally->site_count, sizeof(*tally->sites), by_tasks);
	for (unsigned cause = 0; cause < NAMES_LOSSES; cause++)
		tally->lost[cause] += reader_lost_outside(reader, cause);
	return r == READER_END ? 0 : r;
}

static uint64_t lost_in_all(const struct tally *tally)
{
	uint64_t lost = 0;

	for (unsigned cause = 0; cause < NAMES_LOSSES; cause++)
		lost += tally->lost[cause];
	return lost;
}

static double bytes_per_event(const struct reader_summary *summary, const struct tally *tally)
{
	return tally->events ? (double)summary->event_stored / (double)tally->events : 0;
}

static uint64_t duration(const struct reader_summary *summary)
{
	return summary->last - summary->first;
}

static void field(const char *name)
{
	printf("  %-11s ", name);
}

static void show_when(const struct reader_summary *summary)
{
	time_t seconds = (time_t)(summary->realtime / NS_PER_S);
	struct tm tm;
	char text[64];

	field("recorded");
	if (summary->realtime && localtime_r(&seconds, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm))
		printf("%s, ", text);
	if (summary->event_blocks)
		printf("for %s\n", say_duration(duration(summary)).text);
	else
		printf("nothing\n");
}

static void show_session(const struct reader_summary *summary)
{
	const struct meta_session *session = &summary->session;

	if (!summary->session_known) {
		field("session");
		printf("unknown: no session block is readable\n");
		return;
	}
	field("program");
	say_text(stdout, session->program.length ? session->program.bytes : "unknown");
	printf(" (pid %" PRIu64 ", ", session->pid);
	say_text(stdout, session->machine.bytes);
	printf(")\n");
	show_when(summary);
	field("recorder");
	printf("unweave ");
	say_text(stdout, session->version.bytes);
	printf("; detail %s, keywords %#" PRIx64 "; when full: %s\n", name_detail(session->detail),
	       session->keywords, name_policy(session->policy));
	field("clock");
	printf("%s, %.3f MHz\n", name_clock(session->clock), (double)session->ticks_per_s / 1e6);
}

static void show_adapters(const struct reader *reader)
{
	if (!reader_adapter_at(reader, 0))
		return;
	field("adapters");
	adapted_print(reader, stdout);
}

static void show_file(const struct reader_summary *summary, const struct tally *tally)
{
	field("file");
	printf("%s bytes, %s blocks, %s\n", say_count(summary->file_bytes).text,
	       say_count(summary->blocks).text,
	       summary->closed ? "closed" : "not closed: the recorder ended early, or still runs");
	field("size");
	printf("%.2f bytes an event", bytes_per_event(summary, tally));
	if (summary->event_raw)
		printf(", %.0f %% of %s uncompressed",
		       100.0 * (double)summary->event_stored / (double)summary->event_raw,
		       say_count(summary->event_raw).text);
	printf("\n");
}

static void show_threads(const struct reader *reader, const struct tally *tally)
{
	uint32_t threads = reader_thread_count(reader), ended = 0;

	for (uint32_t i = 0; i < threads; i++)
		ended += reader_thread_at(reader, i)->ended;
	field("threads");
	printf("%s", say_count(threads).text);
	if (ended)
		printf(", %s of them ended", say_count(ended).text);
	printf("\n");
	for (uint32_t i = 0; i < threads && i < THREADS_SHOWN; i++) {
		const struct reader_thread *thread = reader_thread_at(reader, i);

		printf("    %-14" PRIu32 " %18s", thread->thread,
		       say_count(tally->threads[i]).text);
		if (thread->tid)
			printf("  %" PRIu32 " ", thread->tid);
		say_text(stdout, thread->name);
		printf("\n");
	}
	if (threads > THREADS_SHOWN)
		printf("    and %s more\n", say_count(threads - THREADS_SHOWN).text);
}

/* Where its tasks are made; of callbacks, where they are armed. */
static void show_place(struct symbols *symbols, const struct reader_site *site)
{
	struct symbol_frame origin = naming_origin(symbols, site);

	if (!origin.file[0])
		return;
	printf("  ");
	say_text(stdout, origin.file);
	printf(":%" PRIu32, origin.line);
}

/* What sort its tasks are of: the kind, which is in the label of callbacks already. */
static const char *mark_of(const struct reader_site *site)
{
	return site->code ? naming_role_word(naming_role(site)) : site->kind;
}

static void show_site(const struct reader *reader, struct symbols *symbols,
		      const struct site_tally *tally)
{
	struct label label = label_of_site(reader, symbols, tally->site);
	const char *mark = label.site ? mark_of(label.site) : NULL;
	int width;

	printf("    ");
	width = label.text[0] ? say_text(stdout, label.text) : printf("site %" PRIu32, tally->site);
	printf("%*s %*s", width < 14 ? 14 - width : 0, "", width < 14 ? 18 : 32 - width,
	       say_count(tally->tasks).text);
	if (mark && mark[0]) {
		printf("  [");
		say_text(stdout, mark);
		printf("]");
	}
	if (label.site)
		show_place(symbols, label.site);
	printf("\n");
}

static void show_tasks(const struct reader *reader, const struct tally *tally)
{
	const uint64_t *marked = tally->tasks.marked;

	field("tasks");
	printf("%s%s: %s created, %s completed, %s incomplete\n",
	       tally->tasks.full ? "more than " : "", say_count(marked[TASKS_SEEN]).text,
	       say_count(marked[TASKS_CREATED]).text, say_count(marked[TASKS_COMPLETED]).text,
	       say_count(marked[TASKS_SEEN] - marked[TASKS_COMPLETED]).text);
	for (uint32_t i = 0; i < tally->site_count && i < SITES_SHOWN; i++)
		show_site(reader, tally->symbols, &tally->sites[i]);
	if (tally->site_count > SITES_SHOWN)
		printf("    and those of %s sites more\n",
		       say_count(tally->site_count - SITES_SHOWN).text);
}

static void show_events(const struct tally *tally)
{
	field("events");
	printf("%s\n", say_count(tally->events).text);
	for (unsigned kind = 0; kind < NAMES_KINDS; kind++)
		if (tally->kinds[kind])
			printf("    %-14s %18s\n", name_kind(kind),
			       say_count(tally->kinds[kind]).text);
}

static void show_samples(const struct reader *reader, const struct tally *tally)
{
	const struct meta_sampler *sampler = reader_sampler(reader);

	if (!sampler && !tally->samples)
		return;
	field("samples");
	printf("%s, for %.3f s", say_count(tally->samples).text, (double)tally->sampled_ns / 1e9);
	if (!sampler) {
		printf("\n");
		return;
	}
	printf("; %s, %" PRIu64 " a second", name_driver(sampler->driver), sampler->hz);
	if (sampler->lost)
		printf(", %s lost", say_count(sampler->lost).text);
	printf("\n");
	if (sampler->note.length) {
		printf("    ");
		say_text(stdout, sampler->note.bytes);
		printf("\n");
	}
}

static void show_lost(const struct tally *tally)
{
	uint64_t lost = lost_in_all(tally);

	field("lost");
	printf("%s\n", lost ? say_count(lost).text : "none");
	for (unsigned cause = 0; cause < NAMES_LOSSES; cause++)
		if (tally->lost[cause])
			printf("    %-14s %18s  %s\n", name_loss(cause),
			       say_count(tally->lost[cause]).text, name_loss_reason(cause));
}

static void show(const char *path, const struct reader *reader, const struct tally *tally)
{
	const struct reader_summary *summary = reader_summary(reader);

	say_text(stdout, path);
	printf("\n");
	show_session(summary);
	show_adapters(reader);
	show_file(summary, tally);
	show_threads(reader, tally);
	show_tasks(reader, tally);
	show_events(tally);
	show_samples(reader, tally);
	show_lost(tally);
	field("faults");
	if (summary->faults)
		printf("%s: 'unweave verify' lists them\n", say_count(summary->faults).text);
	else
		printf("none\n");
}

static void json_session(struct json *json, const struct reader_summary *summary)
{
	const struct meta_session *session = &summary->session;

	if (!summary->session_known) {
		json_null(json, "session");
		return;
	}
	json_open(json, "session", '{');
	json_text(json, "program", session->program.bytes);
	json_number(json, "pid", session->pid);
	json_text(json, "machine", session->machine.bytes);
	json_text(json, "version", session->version.bytes);
	json_text(json, "detail", name_detail(session->detail));
	json_number(json, "keywords", session->keywords);
	json_text(json, "policy", name_policy(session->policy));
	json_text(json, "clock", name_clock(session->clock));
	json_number(json, "ticks_per_s", session->ticks_per_s);
	json_number(json, "realtime_ns", session->realtime);
	json_close(json, '}');
}

static void json_threads(struct json *json, const struct reader *reader, const struct tally *tally)
{
	json_open(json, "threads", '[');
	for (uint32_t i = 0; i < reader_thread_count(reader); i++) {
		const struct reader_thread *thread = reader_thread_at(reader, i);

		json_open(json, NULL, '{');
		json_number(json, "thread", thread->thread);
		json_number(json, "tid", thread->tid);
		json_text(json, "name", thread->name);
		json_bool(json, "ended", thread->ended);
		json_number(json, "events", tally->threads[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_sites(struct json *json, const struct reader *reader, const struct tally *tally)
{
	json_open(json, "sites", '[');
	for (uint32_t i = 0; i < tally->site_count; i++) {
		struct label label = label_of_site(reader, tally->symbols, tally->sites[i].site);

		json_open(json, NULL, '{');
		json_number(json, "id", tally->sites[i].site);
		json_number(json, "tasks", tally->sites[i].tasks);
		json_text(json, "label", label.text);
		if (label.site && label.site->kind && label.site->kind[0])
			json_text(json, "kind", label.site->kind);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_tally(struct json *json, const struct tally *tally)
{
	const uint64_t *marked = tally->tasks.marked;

	json_open(json, "tasks", '{');
	json_number(json, "seen", marked[TASKS_SEEN]);
	json_number(json, "created", marked[TASKS_CREATED]);
	json_number(json, "completed", marked[TASKS_COMPLETED]);
	json_bool(json, "all_counted", !tally->tasks.full);
	json_close(json, '}');
	json_number(json, "events", tally->events);
	json_open(json, "kinds", '{');
	for (unsigned kind = UNWEAVE_EVENT_CREATE; kind < NAMES_KINDS; kind++)
		json_number(json, name_kind(kind), tally->kinds[kind]);
	json_close(json, '}');
	json_open(json, "lost", '{');
	for (unsigned cause = 0; cause < NAMES_LOSSES; cause++)
		json_number(json, name_loss(cause), tally->lost[cause]);
	json_close(json, '}');
}

static void json_samples(struct json *json, const struct reader *reader, const struct tally *tally)
{
	const struct meta_sampler *sampler = reader_sampler(reader);

	json_open(json, "samples", '{');
	json_number(json, "count", tally->samples);
	json_number(json, "ns", tally->sampled_ns);
	if (sampler) {
		json_text(json, "driver", name_driver(sampler->driver));
		json_number(json, "hz", sampler->hz);
		json_bool(json, "user_only", sampler->user_only);
		json_number(json, "lost", sampler->lost);
		json_text(json, "note", sampler->note.bytes);
	}
	json_close(json, '}');
}

static void show_json(const char *path, const struct reader *reader, const struct tally *tally)
{
	const struct reader_summary *summary = reader_summary(reader);
	struct json json = {.to = stdout};

	json_open(&json, NULL, '{');
	json_text(&json, "file", path);
	json_number(&json, "bytes", summary->file_bytes);
	json_number(&json, "blocks", summary->blocks);
	json_bool(&json, "closed", summary->closed);
	json_number(&json, "faults", summary->faults);
	json_number(&json, "first_ns", summary->first);
	json_number(&json, "duration_ns", duration(summary));
	json_number(&json, "first_realtime_ns", summary->realtime);
	json_session(&json, summary);
	adapted_json(reader, &json);
	json_number(&json, "event_blocks", summary->event_blocks);
	json_number(&json, "event_bytes", summary->event_stored);
	json_number(&json, "event_bytes_uncompressed", summary->event_raw);
	json_real(&json, "bytes_per_event", bytes_per_event(summary, tally));
	json_threads(&json, reader, tally);
	json_tally(&json, tally);
	json_samples(&json, reader, tally);
	json_sites(&json, reader, tally);
	json_close(&json, '}');
	json_line(&json);
}

static int info(const char *path, const struct plan *plan, struct diag *diag)
{
	cleanup(reader_freep) struct reader *reader = NULL;
	cleanup(tally_fini) struct tally tally = {0};
	int r;

	r = reader_open(&reader, path, NULL, NULL, diag);
	if (r == 0)
		r = naming_new(&tally.symbols, reader, plan->no_files, diag);
	if (r < 0)
		return r;
	r = count(reader, &tally, diag);
	if (r < 0)
		return r;
	if (plan->json)
		show_json(path, reader, &tally);
	else
		show(path, reader, &tally);
	return 0;
}

static int run(struct options *options)
{
	struct plan plan = {0};
	int status = EXIT_OK;

	if (!options_read(options, &plan))
		return options->status;
	if (!options->operand_count) {
		say_error(NULL, "info: which trace?");
		say_hint("unweave info FILE...");
		return EXIT_USAGE;
	}
	for (int i = 0; i < options->operand_count; i++) {
		struct diag diag = {0};

		if (i && !plan.json)
			printf("\n");
		if (info(options->operands[i], &plan, &diag) < 0) {
			fflush(stdout);
			say_diag(options->operands[i], &diag);
			status = EXIT_FAILED;
		}
	}
	return status;
}

static const struct option_entry entries[] = {
	{'j', "json", NULL, "one JSON object a file", OPTION_FLAG(struct plan, json)},
	{0, "no-files", NULL, "names only from the trace, not from files",
	 OPTION_FLAG(struct plan, no_files)},
	{0},
};

const struct cmd cmd_info = {
	.name = "info",
	.arguments = "FILE...",
	.summary = "Say what a trace holds",
	.options = entries,
	.run = run,
};

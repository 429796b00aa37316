/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace holds, for people. */
#include <inttypes.h>
#include <time.h>

#include "cli/adapted.h"
#include "cli/info.h"
#include "cli/labels.h"
#include "cli/say.h"
#include "view/naming.h"

#define THREADS_SHOWN 16u
#define SITES_SHOWN 16u
#define NS_PER_S UINT64_C(1000000000)

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
	if (summary->event_blocks || summary->sample_blocks)
		printf("for %s\n", say_duration(info_duration(summary)).text);
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

static void show_file(const struct reader_summary *summary, const struct info *info)
{
	field("file");
	printf("%s bytes, %s blocks, %s\n", say_count(summary->file_bytes).text,
	       say_count(summary->blocks).text,
	       summary->closed ? "closed" : "not closed: the recorder ended early, or still runs");
	field("size");
	printf("%.2f bytes an event", info_bytes_per_event(summary, info));
	if (summary->event_raw)
		printf(", %.0f %% of %s uncompressed",
		       100.0 * (double)summary->event_stored / (double)summary->event_raw,
		       say_count(summary->event_raw).text);
	printf("\n");
}

static void show_threads(const struct reader *reader, const struct info *info)
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

		printf("    %-14" PRIu32 " %18s", thread->thread, say_count(info->threads[i]).text);
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
		      const struct info_site *info)
{
	struct label label = label_of_site(reader, symbols, info->site);
	const char *mark = label.site ? mark_of(label.site) : NULL;
	int width;

	printf("    ");
	width = label.text[0] ? say_text(stdout, label.text) : printf("site %" PRIu32, info->site);
	printf("%*s %*s", width < 14 ? 14 - width : 0, "", width < 14 ? 18 : 32 - width,
	       say_count(info->tasks).text);
	if (mark && mark[0]) {
		printf("  [");
		say_text(stdout, mark);
		printf("]");
	}
	if (label.site)
		show_place(symbols, label.site);
	printf("\n");
}

static void show_tasks(const struct reader *reader, const struct info *info)
{
	const uint64_t *marked = info->tasks.marked;

	field("tasks");
	printf("%s%s: %s created, %s completed, %s incomplete\n",
	       info->tasks.full ? "more than " : "", say_count(marked[TASKS_SEEN]).text,
	       say_count(marked[TASKS_CREATED]).text, say_count(marked[TASKS_COMPLETED]).text,
	       say_count(marked[TASKS_SEEN] - marked[TASKS_COMPLETED]).text);
	for (uint32_t i = 0; i < info->site_count && i < SITES_SHOWN; i++)
		show_site(reader, info->symbols, &info->sites[i]);
	if (info->site_count > SITES_SHOWN)
		printf("    and those of %s sites more\n",
		       say_count(info->site_count - SITES_SHOWN).text);
}

static void show_events(const struct info *info)
{
	field("events");
	printf("%s\n", say_count(info->events).text);
	for (unsigned kind = 0; kind < NAMES_KINDS; kind++)
		if (info->kinds[kind])
			printf("    %-14s %18s\n", name_kind(kind),
			       say_count(info->kinds[kind]).text);
}

static void show_samples(const struct reader *reader, const struct info *info)
{
	const struct meta_sampler *sampler = reader_sampler(reader);

	if (!sampler && !info->samples)
		return;
	field("samples");
	printf("%s, for %.3f s", say_count(info->samples).text, (double)info->sampled_ns / 1e9);
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

static void show_lost(const struct info *info)
{
	uint64_t lost = info_lost(info);

	field("lost");
	printf("%s\n", lost ? say_count(lost).text : "none");
	for (unsigned cause = 0; cause < NAMES_LOSSES; cause++)
		if (info->lost[cause])
			printf("    %-14s %18s  %s\n", name_loss(cause),
			       say_count(info->lost[cause]).text, name_loss_reason(cause));
}

void info_text(const struct info *info, const char *path, const struct reader *reader)
{
	const struct reader_summary *summary = reader_summary(reader);

	say_text(stdout, path);
	printf("\n");
	show_session(summary);
	show_adapters(reader);
	show_file(summary, info);
	show_threads(reader, info);
	show_tasks(reader, info);
	show_events(info);
	show_samples(reader, info);
	show_lost(info);
	field("faults");
	if (reader_faults(summary))
		printf("%s: 'unweave verify' lists them\n", say_count(reader_faults(summary)).text);
	else
		printf("none\n");
}

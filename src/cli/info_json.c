/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace holds, for programs. */
#include "cli/adapted.h"
#include "cli/info.h"
#include "cli/labels.h"
#include "view/json.h"

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

static void json_threads(struct json *json, const struct reader *reader, const struct info *info)
{
	json_open(json, "threads", '[');
	for (uint32_t i = 0; i < reader_thread_count(reader); i++) {
		const struct reader_thread *thread = reader_thread_at(reader, i);

		json_open(json, NULL, '{');
		json_number(json, "thread", thread->thread);
		json_number(json, "tid", thread->tid);
		json_text(json, "name", thread->name);
		json_bool(json, "ended", thread->ended);
		json_number(json, "events", info->threads[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_sites(struct json *json, const struct reader *reader, const struct info *info)
{
	json_open(json, "sites", '[');
	for (uint32_t i = 0; i < info->site_count; i++) {
		struct label label = label_of_site(reader, info->symbols, info->sites[i].site);

		json_open(json, NULL, '{');
		json_number(json, "id", info->sites[i].site);
		json_number(json, "tasks", info->sites[i].tasks);
		json_text(json, "label", label.text);
		if (label.site && label.site->kind && label.site->kind[0])
			json_text(json, "kind", label.site->kind);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_counts(struct json *json, const struct info *info)
{
	const uint64_t *marked = info->tasks.marked;

	json_open(json, "tasks", '{');
	json_number(json, "seen", marked[TASKS_SEEN]);
	json_number(json, "created", marked[TASKS_CREATED]);
	json_number(json, "completed", marked[TASKS_COMPLETED]);
	json_bool(json, "all_counted", !info->tasks.full);
	json_close(json, '}');
	json_number(json, "events", info->events);
	json_open(json, "kinds", '{');
	for (unsigned kind = UNWEAVE_EVENT_CREATE; kind < NAMES_KINDS; kind++)
		json_number(json, name_kind(kind), info->kinds[kind]);
	json_close(json, '}');
	json_open(json, "lost", '{');
	for (unsigned cause = 0; cause < NAMES_LOSSES; cause++)
		json_number(json, name_loss(cause), info->lost[cause]);
	json_close(json, '}');
}

static void json_samples(struct json *json, const struct reader *reader, const struct info *info)
{
	const struct meta_sampler *sampler = reader_sampler(reader);

	json_open(json, "samples", '{');
	json_number(json, "count", info->samples);
	json_number(json, "ns", info->sampled_ns);
	if (sampler) {
		json_text(json, "driver", name_driver(sampler->driver));
		json_number(json, "hz", sampler->hz);
		json_bool(json, "user_only", sampler->user_only);
		json_number(json, "lost", sampler->lost);
		json_text(json, "note", sampler->note.bytes);
	}
	json_close(json, '}');
}

void info_json(const struct info *info, const char *path, const struct reader *reader)
{
	const struct reader_summary *summary = reader_summary(reader);
	struct json json = {.to = stdout};

	json_open(&json, NULL, '{');
	json_text(&json, "file", path);
	json_number(&json, "bytes", summary->file_bytes);
	json_number(&json, "blocks", summary->blocks);
	json_bool(&json, "closed", summary->closed);
	json_number(&json, "faults", reader_faults(summary));
	json_number(&json, "first_ns", summary->first);
	json_number(&json, "duration_ns", info_duration(summary));
	json_number(&json, "first_realtime_ns", summary->realtime);
	json_session(&json, summary);
	adapted_json(reader, &json);
	json_number(&json, "event_blocks", summary->event_blocks);
	json_number(&json, "event_bytes", summary->event_stored);
	json_number(&json, "event_bytes_uncompressed", summary->event_raw);
	json_real(&json, "bytes_per_event", info_bytes_per_event(summary, info));
	json_threads(&json, reader, info);
	json_counts(&json, info);
	json_samples(&json, reader, info);
	json_sites(&json, reader, info);
	json_close(&json, '}');
	json_line(&json);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export.h"

#include <errno.h>
#include <string.h>

#include "view/export_formats.h"
#include "view/naming.h"

/* Above the largest that Linux gives: 2^22. */
#define TID_UNKNOWN (1u << 23)

const struct export_format *const export_formats[] = {
	&export_perfetto, &export_chrome, &export_speedscope, &export_pprof, &export_folded,
	&export_firefox,  NULL,
};

const struct export_format *export_find(const char *name)
{
	const struct export_format *const *format = export_formats;

	while (*format && strcmp((*format)->name, name) != 0)
		format++;
	return *format;
}

uint32_t export_pid(const struct export *export)
{
	const struct reader_summary *summary = reader_summary(export->reader);

	return summary->session_known && summary->session.pid ? (uint32_t)summary->session.pid : 1;
}

void export_program(const struct export *export, char *to, size_t room)
{
	const struct reader_summary *summary = reader_summary(export->reader);
	struct meta_text path = summary->session.program;
	const char *name = "program";
	size_t length = strlen(name);

	if (summary->session_known && path.length) {
		const char *slash = memrchr(path.bytes, '/', path.length);

		name = slash ? slash + 1 : path.bytes;
		length = path.length - (size_t)(name - path.bytes);
	}
	snprintf(to, room, "%.*s", (int)(length < room ? length : room - 1), name);
}

uint32_t export_tid(const struct export *export, uint32_t thread)
{
	const struct reader_thread *known = reader_thread(export->reader, thread);

	return known && known->tid ? known->tid : TID_UNKNOWN + thread;
}

const char *export_thread_name(const struct export *export, uint32_t thread)
{
	const struct reader_thread *known = reader_thread(export->reader, thread);

	return known ? known->name : "";
}

const char *export_label(const struct model_task *task)
{
	return task->label && *task->label ? task->label : "task";
}

const char *export_end(const struct model_task *task)
{
	if (task->end == MODEL_INCOMPLETE && naming_role(task->site) != NAMING_TASK)
		return "open";
	return model_end_name(task->end);
}

const char *export_source(uint32_t source)
{
	static const char *const names[] = {
		[UNWEAVE_SOURCE_TASK] = "task",   [UNWEAVE_SOURCE_TIMER] = "timer",
		[UNWEAVE_SOURCE_IO] = "io",       [UNWEAVE_SOURCE_SIGNAL] = "signal",
		[UNWEAVE_SOURCE_OTHER] = "other",
	};

	return source < sizeof(names) / sizeof(names[0]) ? names[source] : "other";
}

const char *const export_loop_figures[EXPORT_LOOP_FIGURES] = {
	"iterations", "calls", "idle_ns", "busy_ns", "lag_median_ns", "lag_p99_ns", "lag_max_ns",
};

struct export_loop export_loop(const struct model_loop *loop)
{
	return (struct export_loop){
		.task = loop->task->id,
		.figures = {loop->iterations, loop->runs, loop->idle, loop->busy,
			    histogram_quantile(&loop->lag, 500),
			    histogram_quantile(&loop->lag, 990), loop->lag.max},
	};
}

int export_model(const struct export *export, struct model **ret)
{
	int r = model_new(ret, export->reader);

	if (r < 0)
		return r;
	model_set_splice(*ret, (struct splice_anchors){0}, naming_same_function, export->symbols);
	model_set_labels(*ret, naming_site_label, export->symbols);
	model_set_folds(*ret, naming_surely_same, export->symbols);
	return 0;
}

static void progress(void *data, uint64_t done, uint64_t all)
{
	struct export *export = *(struct export **)data;

	export->progress(export->progress_data, done, all);
}

int export_read(struct export *export, struct model *model, struct model_sink *sink,
		struct diag *diag)
{
	int r;

	sink->progress = export->progress ? progress : NULL;
	r = model_read(model, sink, diag);
	return r == -ECANCELED ? 0 : r;
}

int export_status(const struct export *export)
{
	return ferror_unlocked(export->to) ? -ECANCELED : 0;
}

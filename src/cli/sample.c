/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sample.h"

#include <inttypes.h>

#include "cli/event.h"
#include "cli/say.h"

#define NS_PER_S UINT64_C(1000000000)
#define NAME_WIDTH 16

static const struct {
	uint32_t flag;
	const char *word;
	const char *key;
} flags[] = {
	{SAMPLE_CUT, "cut", "cut"},
	{SAMPLE_ASLEEP, "asleep", "asleep"},
	{SAMPLE_FOREIGN, "by another tool", "foreign"},
	{SAMPLE_CHAIN_CUT, "chain cut", "chain_cut"},
};

#define FLAGS (sizeof(flags) / sizeof(flags[0]))

void sample_show(FILE *to, const struct reader *reader, const struct sample *sample, bool stacks)
{
	int64_t time = (int64_t)(sample->time - reader_summary(reader)->first);
	int width;

	fprintf(to, "%5" PRId64 ".%09u %7" PRIu32 " ", time < 0 ? 0 : time / (int64_t)NS_PER_S,
		time < 0 ? 0 : (unsigned)(time % (int64_t)NS_PER_S), sample->tid);
	width = say_text(to, reader_tid_name(reader, sample->tid));
	fprintf(to, "%*s  %.3f ms", width < NAME_WIDTH ? NAME_WIDTH - width : 0, "",
		(double)sample->weight / 1e6);
	if (sample->native) {
		fputs("  native", to);
		event_show_stack(to, sample->native, stacks);
	}
	for (uint32_t i = 0; i < sample->segment_count; i++) {
		fprintf(to, "  task %" PRIu64, sample->segments[i].task);
		if (sample->segments[i].chain)
			event_show_stack(to, sample->segments[i].chain, stacks);
	}
	for (size_t i = 0; i < FLAGS; i++)
		if (sample->flags & flags[i].flag)
			fprintf(to, "  [%s]", flags[i].word);
	putc_unlocked('\n', to);
}

void sample_json(struct json *json, const struct reader *reader, const struct sample *sample)
{
	json_open(json, NULL, '{');
	json_number(json, "time", sample->time);
	json_number(json, "tid", sample->tid);
	json_text(json, "thread_name", reader_tid_name(reader, sample->tid));
	json_number(json, "weight_ns", sample->weight);
	for (size_t i = 0; i < FLAGS; i++)
		if (sample->flags & flags[i].flag)
			json_bool(json, flags[i].key, true);
	event_json_stack(json, "native", sample->native);
	json_open(json, "runs", '[');
	for (uint32_t i = 0; i < sample->segment_count; i++) {
		json_open(json, NULL, '{');
		json_number(json, "task", sample->segments[i].task);
		if (sample->segments[i].site)
			json_number(json, "site", sample->segments[i].site);
		event_json_stack(json, "chain", sample->segments[i].chain);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
	json_line(json);
}

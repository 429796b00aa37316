/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples TRACE
 *
 * Every sample of a trace as the model has it, a line of JSON each: what reports
 * and graphs are sums of.
 */
#include <stdio.h>
#include <stdlib.h>

#include "model/model.h"
#include "view/frames.h"
#include "view/naming.h"

struct printer {
	struct model *model;
	struct frames *frames;
};

static const char *const outcomes[SPLICE_OUTCOMES] = {
	[SPLICE_NO_TASK] = "no task",     [SPLICE_EXACT] = "exact",
	[SPLICE_NO_ANCHOR] = "no anchor", [SPLICE_CUT] = "cut",
	[SPLICE_NO_CHAIN] = "no chain",   [SPLICE_MISMATCH] = "mismatch",
};

/* From the innermost function outwards. */
static int print_stack(const struct printer *printer, uint32_t stack)
{
	const struct tree *tree = model_tree(printer->model);
	const char *between = "";

	printf(",\"stack\":[");
	for (; stack; stack = tree_at(tree, stack)->parent) {
		const uint32_t *names;
		uint32_t count = frames_of(printer->frames, stack, &names);

		if (!count)
			return -1;
		while (count--) {
			printf("%s\"%s\"", between,
			       frames_name(printer->frames, names[count])->function);
			between = ",";
		}
	}
	puts("]}");
	return 0;
}

static int on_sample(void *data, const struct model_sample *sample)
{
	if (sample->task)
		printf("{\"task\":\"%s\"", sample->task->label);
	else
		printf("{\"task\":null");
	printf(",\"outcome\":\"%s\",\"weight\":%llu,\"flags\":%u", outcomes[sample->outcome],
	       (unsigned long long)sample->weight, sample->flags);
	return print_stack(data, sample->stack);
}

static int print_all(const char *path, struct diag *diag)
{
	struct reader *reader = NULL;
	struct symbols *symbols = NULL;
	struct printer printer = {0};
	struct model_sink sink = {.sample = on_sample, .data = &printer};
	int r = reader_open(&reader, path, NULL, NULL, diag);

	if (r == 0)
		r = naming_new(&symbols, reader, false, diag);
	if (r == 0)
		r = model_new(&printer.model, reader);
	if (r == 0)
		r = frames_new(&printer.frames, model_tree(printer.model), symbols);
	if (r == 0) {
		model_set_splice(printer.model, (struct splice_anchors){0}, naming_same_function,
				 symbols);
		r = model_read(printer.model, &sink, diag);
	}
	frames_free(printer.frames);
	model_free(printer.model);
	symbols_free(symbols);
	reader_free(reader);
	return r;
}

int main(int argc, char **argv)
{
	struct diag diag = {.text = "out of memory"};

	if (argc != 2)
		return 2;
	if (print_all(argv[1], &diag) < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], diag.text);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

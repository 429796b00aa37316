/* SPDX-License-Identifier: Apache-2.0 */
/* A survey of a trace that the test makes. */
#ifndef TESTS_SURVEY_TRACE_H
#define TESTS_SURVEY_TRACE_H

#include "check.h"
#include "maker.h"
#include "view/naming.h"
#include "view/survey.h"

static struct maker maker;
static struct reader *reader;
static struct symbols *symbols;
static struct survey *survey;

/* Ends the trace, and reads it. */
static inline void open_survey(struct survey_options options)
{
	struct diag diag = {0};

	maker_flush(&maker);
	maker_end(&maker, 0);
	maker_fini(&maker);
	maker_must(reader_open(&reader, maker_path(), NULL, NULL, &diag));
	maker_must(naming_new(&symbols, reader, true, &diag));
	options.reader = reader;
	options.symbols = symbols;
	maker_must(survey_new(&survey, &options, &diag));
}

static inline void close_survey(void)
{
	survey = survey_free(survey);
	symbols = symbols_free(symbols);
	reader = reader_free(reader);
	unlink(maker_path());
}

#endif /* TESTS_SURVEY_TRACE_H */

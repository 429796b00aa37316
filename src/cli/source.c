/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/source.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/say.h"
#include "util/cleanup.h"

#define FILE_MOST (16u << 20)
#define LINE_MOST 120u

static FILE *open_source(const char *file)
{
	cleanup(close_fd) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat stat;
	FILE *stream;

	if (fd < 0 || fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) || stat.st_size > FILE_MOST)
		return NULL;
	stream = fdopen(fd, "r");
	if (stream)
		fd = -1;
	return stream;
}

/* Tabs as one space, and no end of line. */
static void tidy(char *text)
{
	text[strcspn(text, "\r\n")] = 0;
	for (; *text; text++)
		if (*text == '\t')
			*text = ' ';
}

void source_print(FILE *to, const char *file, uint64_t line)
{
	FILE *stream = line ? open_source(file) : NULL;
	char *text = NULL;
	size_t size = 0;
	uint64_t at = 0;

	if (!stream)
		return;
	while (at < line && getline(&text, &size, stream) > 0)
		at++;
	if (at == line) {
		char *start = text;

		tidy(text);
		start += strspn(start, " ");
		if (strlen(start) > LINE_MOST)
			start[LINE_MOST] = 0;
		fprintf(to, "      %" PRIu64 " | ", line);
		say_text(to, start);
		fputc('\n', to);
	}
	free(text);
	fclose(stream);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 512u /* a longer one is left out */

/* A line on its way from the kernel's file to the arena. */
struct line {
	char bytes[LINE_MAX_BYTES];
	uint32_t length;
	bool too_long;
};

/* "START-END r-xp ...": whether it may be executed. */
static bool is_code(const struct line *line)
{
	const char *rights = memchr(line->bytes, ' ', line->length);

	return rights && line->bytes + line->length - rights > 4 && rights[3] == 'x';
}

static void keep(struct arena_control *control, const struct line *line)
{
	uint32_t used = control->mapped_bytes;

	if (line->too_long || !is_code(line) || line->length > ARENA_MAPPED_BYTES - used)
		return;
	memcpy(arena_mapped(control) + used, line->bytes, line->length);
	control->mapped_bytes = used + line->length;
}

static void take(struct arena_control *control, struct line *line, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (line->length < LINE_MAX_BYTES)
			line->bytes[line->length++] = bytes[i];
		else
			line->too_long = true;
		if (bytes[i] != '\n')
			continue;
		keep(control, line);
		line->length = 0;
		line->too_long = false;
	}
}

void mapped_tell(struct arena_control *control)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct line line = {.length = 0};
	char bytes[1024];
	ssize_t count;

	if (fd < 0)
		return;
	while ((count = read(fd, bytes, sizeof(bytes))) > 0 || (count < 0 && errno == EINTR))
		take(control, &line, bytes, count > 0 ? (size_t)count : 0);
	close(fd);
}

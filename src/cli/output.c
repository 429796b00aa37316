/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)1 << 20)

bool output_is_same(const char *output, const char *trace)
{
	struct stat one, other;

	return output && trace && stat(output, &one) == 0 && stat(trace, &other) == 0 &&
	       one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

FILE *output_open(const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file)
		return NULL;
	setvbuf(file, NULL, _IOFBF, BUFFER_BYTES);
	/* What ferror() does not tell, this does: see output_close(). */
	errno = 0;
	return file;
}

int output_close(FILE *file, const char *path, int result)
{
	int error = 0;

	if (ferror(file))
		error = errno ? errno : EIO;
	if (fclose(file) != 0 && !error)
		error = errno;
	if (result >= 0 && error)
		result = -error;
	if (result < 0)
		output_remove(path);
	return result < 0 ? result : 0;
}

void output_remove(const char *path)
{
	/* The file itself, and not a link that leads to it. */
	char *real = realpath(path, NULL);
	struct stat st;

	if (real && stat(real, &st) == 0 && S_ISREG(st.st_mode))
		unlink(real);
	free(real);
}

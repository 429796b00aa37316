/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target on every file of a directory, where there is no libFuzzer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static int replay(const char *directory, const char *name)
{
	char path[4096];
	uint8_t *bytes;
	FILE *file;
	long length;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END) != 0 || (length = ftell(file)) < 0)
		return -1;
	rewind(file);
	/* Not a byte more: a sanitizer sees who reads beyond. */
	bytes = malloc(length ? (size_t)length : 1);
	if (!bytes || fread(bytes, 1, (size_t)length, file) != (size_t)length)
		return -1;
	fclose(file);
	LLVMFuzzerTestOneInput(bytes, (size_t)length);
	free(bytes);
	return 0;
}

int main(int argc, char **argv)
{
	DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
	int count = 0, failed = 0;
	struct dirent *entry;

	if (!directory) {
		fprintf(stderr, "usage: replay DIRECTORY\n");
		return 2;
	}
	while ((entry = readdir(directory))) {
		int r;

		if (entry->d_name[0] == '.')
			continue;
		/* The name first: a crash then shows whose it is. */
		printf("# %s\n", entry->d_name);
		fflush(stdout);
		r = replay(argv[1], entry->d_name);
		failed |= r < 0;
		printf("%s %d - %s\n", r < 0 ? "not ok" : "ok", ++count, entry->d_name);
	}
	closedir(directory);
	printf("1..%d\n", count);
	return failed || !count;
}

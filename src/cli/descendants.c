/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/descendants.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/adapters.h"
#include "drain/find.h"

#define DEEPEST 16u /* generations that are looked at */
#define LINE_BYTES 4400u

void descendants_adopt(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void descendants_reap(const struct follow *follow)
{
	siginfo_t info;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || !info.si_pid ||
		    info.si_pid == follow->command || follow_is_worker(follow, info.si_pid))
			return;
		waitpid(info.si_pid, NULL, WNOHANG);
	}
}

void descendants_await(const struct follow *follow)
{
	siginfo_t info;

	if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) == 0)
		descendants_reap(follow);
}

/* Whether an adapter is mapped in the process, and its library. */
static bool is_ready(uint32_t pid)
{
	char path[32], line[LINE_BYTES];
	uint32_t adapters = 0, libraries = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		const char *name = strrchr(line, '/');

		if (!name)
			continue;
		line[strcspn(line, "\n")] = '\0';
		adapters |= adapters_of_file(name + 1);
		libraries |= adapters_of_library(name + 1);
	}
	if (maps)
		fclose(maps);
	return adapters & libraries;
}

/*
 * Calls `suits` for what the process `pid` has started, in all generations, but
 * for what records, or is recorded; until one does.
 */
static bool walk(const struct follow *follow, uint32_t pid, unsigned depth,
		 bool (*suits)(uint32_t pid, void *data), void *data)
{
	char path[64];
	uint32_t child;
	bool found = false;
	FILE *children;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/children", pid, pid);
	children = fopen(path, "re");
	while (children && !found && fscanf(children, "%" SCNu32, &child) == 1) {
		if (follow_is_worker(follow, (pid_t)child))
			continue;
		found = (!follow_knows(follow, child) && suits(child, data)) ||
			(depth < DEEPEST && walk(follow, child, depth + 1, suits, data));
	}
	if (children)
		fclose(children);
	return found;
}

static bool suits_if_ready(uint32_t pid, void *data)
{
	(void)data;
	return is_ready(pid);
}

bool descendants_may_begin(const struct follow *follow)
{
	return follow_has_room(follow) && walk(follow, (uint32_t)getpid(), 0, suits_if_ready, NULL);
}

static bool suits_if_strange(uint32_t pid, void *data)
{
	struct attachment *attachment = data;
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	if (stat(path, &st) < 0 || st.st_uid == geteuid() || !is_ready(pid) ||
	    find_pid(attachment, pid, NULL) < 0)
		return false;
	if (!attach_armed(attachment) && attach_lock(attachment, NULL) == 0)
		return true;
	attach_fini(attachment);
	return false;
}

bool descendants_find(const struct follow *follow, struct attachment *ret)
{
	return walk(follow, (uint32_t)getpid(), 0, suits_if_strange, ret);
}

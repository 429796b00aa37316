/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/executable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "util/cleanup.h"

#define SCRIPT_BYTES 256u  /* of the first line, as far as the kernel looks at it */
#define SCRIPTS_DEEPEST 5u /* that interpret one another, for the kernel too */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static int search_path(char ret[PATH_MAX], const char *command)
{
	const char *list = getenv("PATH");

	for (list = list ? list : "/bin:/usr/bin";; list++) {
		size_t length = strcspn(list, ":");
		int used = snprintf(ret, PATH_MAX, "%.*s%s%s", (int)length, list,
				    length ? "/" : "./", command);

		if (used < PATH_MAX && is_program(ret))
			return 0;
		list += length;
		if (!*list)
			return -ENOENT;
	}
}

/* The interpreter that a script names, in place of the script. Returns whether it was one. */
static bool follow_script(char path[PATH_MAX])
{
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char line[SCRIPT_BYTES + 1] = "";
	ssize_t length = fd < 0 ? -1 : read(fd, line, SCRIPT_BYTES);
	char *name;

	if (length < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[strcspn(line, "\n")] = '\0';
	name = line + 2 + strspn(line + 2, " \t");
	name[strcspn(name, " \t")] = '\0';
	if (!*name)
		return false;
	memcpy(path, name, strlen(name) + 1);
	return true;
}

/* Whether exec gives it another user, another group, or a capability. */
static bool gains_rights(const char *path)
{
	struct statvfs fs;
	struct stat st;

	if (stat(path, &st) < 0 || (statvfs(path, &fs) == 0 && fs.f_flag & ST_NOSUID))
		return false;
	return (st.st_mode & S_ISUID && st.st_uid != getuid()) ||
	       ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		st.st_gid != getgid()) ||
	       (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

int executable_find(struct executable *ret, const char *command)
{
	unsigned depth = 0;
	int r = 0;

	if (!*command || strlen(command) >= PATH_MAX)
		return -ENOENT;
	if (strchr(command, '/'))
		memcpy(ret->path, command, strlen(command) + 1);
	else
		r = search_path(ret->path, command);
	while (r == 0 && follow_script(ret->path))
		if (++depth > SCRIPTS_DEEPEST)
			r = -ELOOP;
	if (r < 0)
		return r;
	ret->secure = gains_rights(ret->path);
	return access(ret->path, F_OK) < 0 ? -errno : 0;
}

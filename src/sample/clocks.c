/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/clocks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int open_event(pid_t tid, uint64_t period_ns, bool user_only)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.disabled = 1,
		.exclude_kernel = user_only,
		.exclude_hv = 1,
		.wakeup_events = 1,
		/* Or the program's successor would get signals that it never asked for. */
		.remove_on_exec = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

struct clocks_perf clocks_try_perf(pid_t tid, uint64_t period_ns)
{
	struct clocks_perf result = {0};
	int fd = open_event(tid, period_ns, false);

	if (fd == -EACCES || fd == -EPERM) {
		fd = open_event(tid, period_ns, true);
		result.user_only = true;
	}
	if (fd < 0) {
		result.error = -fd;
		return result;
	}
	result.allowed = true;
	close(fd);
	return result;
}

int clocks_arm_perf(struct thread *thread, int signal, uint64_t period_ns, bool user_only)
{
	struct f_owner_ex owner = {F_OWNER_TID, thread->tid};
	int fd = open_event(thread->tid, period_ns, user_only);

	if (fd < 0)
		return fd;
	if (fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) < 0 || fcntl(fd, F_SETSIG, signal) < 0 ||
	    fcntl(fd, F_SETOWN_EX, &owner) < 0 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0) {
		int error = errno;

		close(fd);
		return -error;
	}
	thread->fd = fd;
	return 0;
}

uint64_t clocks_counted(const struct threads *threads, const struct thread *thread)
{
	char path[64], line[64] = "";
	uint64_t count;
	int fd;

	if (thread->fd >= 0)
		return read(thread->fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", threads->pid, thread->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (read(fd, line, sizeof(line) - 1) < 0)
		line[0] = '\0';
	close(fd);
	return strtoull(line, NULL, 10);
}

uint64_t clocks_used(const struct threads *threads)
{
	struct timespec used = {0};
	clockid_t clock;

	if (clock_getcpuclockid(threads->pid, &clock) == 0)
		clock_gettime(clock, &used);
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

int clocks_order(const struct threads *threads, pid_t tid, enum ring_order order)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = threads->signal;
	info.si_code = SI_QUEUE;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = (void *)(uintptr_t)order;
	if (syscall(SYS_rt_tgsigqueueinfo, threads->pid, tid, threads->signal, &info) < 0)
		return -errno;
	return 0;
}

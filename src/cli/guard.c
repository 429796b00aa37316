/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/guard.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static struct attachment *guarded;

/* [signal-safe] Puts zeroed memory in the place of the page and of all that follow. */
static void on_bus_error(int signal_number, siginfo_t *info, void *context)
{
	uintptr_t start = guarded ? (uintptr_t)guarded->control : 0;
	uintptr_t end = guarded ? start + guarded->bytes : 0;
	uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(sysconf(_SC_PAGESIZE) - 1);

	(void)context;
	if (page >= start && page < end &&
	    mmap((void *)page, end - page, PROT_READ | PROT_WRITE,
		 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
		guarded->cut = true;
		return;
	}
	/* Not ours: the same instruction raises it again, and that is the end. */
	signal(signal_number, SIG_DFL);
}

void guard_begin(struct attachment *attachment)
{
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

	guarded = attachment;
	sigaction(SIGBUS, &action, NULL);
}

void guard_end(void)
{
	signal(SIGBUS, SIG_DFL);
	guarded = NULL;
}

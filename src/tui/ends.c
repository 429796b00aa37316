/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/ends.h"

#include <stddef.h>

enum { SIGNALS = 4 };
static const int signals[SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
static volatile sig_atomic_t came;

static void note(int signal)
{
	came = signal;
}

void ends_catch(void)
{
	struct sigaction action = {.sa_handler = note};

	came = 0;
	for (int i = 0; i < SIGNALS; i++) {
		struct sigaction before;

		/* nohup(1) means it. */
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

int ends_came(void)
{
	return came;
}

void ends_add(sigset_t *set)
{
	for (int i = 0; i < SIGNALS; i++)
		sigaddset(set, signals[i]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* An adapter for it: each call of the loop is a task. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "libuv/uv.h"
#include "unweave/callback.h"

struct call {
	int (*next)(void (*callback)(void));
	void (*callback)(void);
};

static int go(struct unweave_link *none, void *context)
{
	const struct call *call = context;

	(void)none;
	return call->next(call->callback);
}

static bool held;

static void take_hold(void)
{
	if (!held)
		unweave_adapter("libuv", "1.44.2");
	held = true;
}

/* As adapters do that must be there early. */
__attribute__((constructor)) static void begin(void)
{
	if (getenv("ADAPTER_IS_EARLY"))
		take_hold();
}

__attribute__((visibility("default"))) int uv_run(void (*callback)(void))
{
	struct call call = {.next = (int (*)(void (*)(void)))dlsym(RTLD_NEXT, "uv_run"),
			    .callback = callback};
	uint64_t task;

	take_hold();
	task = unweave_callback_arm("timer", callback, __builtin_return_address(0), 0);
	return unweave_callback_call(
		&(struct unweave_call){.task = task, .go = go, .context = &call, .code = callback});
}

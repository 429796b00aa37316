/* SPDX-License-Identifier: Apache-2.0 */
/* Has the name of libuv, and as much of it as the tests of `record` need: a loop with a callback.
 */
#include "libuv/uv.h"

int uv_run(void (*callback)(void))
{
	callback();
	return 0;
}

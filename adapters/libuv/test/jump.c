/* SPDX-License-Identifier: Apache-2.0 */
/* A callback whose last act is a jump into libuv. */
#include <uv.h>

static void second(uv_handle_t *handle)
{
	uv_stop(handle->loop);
}

static void first(uv_timer_t *timer)
{
	uv_close((uv_handle_t *)timer, second);
}

int main(void)
{
	uv_timer_t timer;

	uv_timer_init(uv_default_loop(), &timer);
	uv_timer_start(&timer, first, 1, 0);
	return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

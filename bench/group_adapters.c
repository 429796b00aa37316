/* SPDX-License-Identifier: Apache-2.0 */
/* What the adapters cost, each in a program that uses its library: uv.*, ev.*, glib.* */
#include "adapters.h"
#include "rows.h"

static const struct adapters_subject subjects[] = {
	{"ev.", "bench-libevent", "../adapters/libevent/libunweave-libevent.so"},
	{"uv.", "bench-libuv", "../adapters/libuv/libunweave-libuv.so"},
	{"glib.", "bench-glib", "../adapters/glib/libunweave-glib.so"},
};

int group_adapters(struct bench *bench)
{
	for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
		int r;

		if (!rows_wanted(subjects[i].prefix))
			continue;
		r = adapters_measure(bench, &subjects[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

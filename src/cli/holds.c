/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/holds.h"

#include <errno.h>
#include <string.h>

#include "cli/say.h"
#include "drain/sites.h"
#include "trace/format.h"
#include "unweave/callback.h"
#include "util/buffer.h"

static void add(struct holds *holds, const char *name, const char *version)
{
	uint32_t i = 0;

	while (i < holds->count &&
	       (strcmp(holds->of[i].name, name) != 0 || strcmp(holds->of[i].version, version) != 0))
		i++;
	if (i < holds->count || i == sizeof(holds->of) / sizeof(holds->of[0]))
		return;
	snprintf(holds->of[i].name, sizeof(holds->of[i].name), "%s", name);
	snprintf(holds->of[i].version, sizeof(holds->of[i].version), "%s", version);
	holds->count++;
}

/* What another program wrote: as much of it as fits, the same each time. */
static int add_site(void *data, const struct meta_site *site)
{
	struct holds *holds = data;
	struct holds one = {.count = 1};

	if (!(site->flags & UNWEAVE_SITE_ADAPTER))
		return 0;
	snprintf(one.of[0].name, sizeof(one.of[0].name), "%.*s", (int)site->name.length,
		 site->name.bytes);
	snprintf(one.of[0].version, sizeof(one.of[0].version), "%.*s", (int)site->kind.length,
		 site->kind.bytes);
	holds_add(holds, &one);
	return 0;
}

void holds_find(struct holds *holds, const struct attachment *attachment)
{
	uint32_t seen = 0;

	sites_tell(attachment, &seen, add_site, holds);
}

void holds_add(struct holds *holds, const struct holds *more)
{
	for (uint32_t i = 0; i < more->count; i++)
		add(holds, more->of[i].name, more->of[i].version);
}

static uint64_t fate_of(const struct adapters *adapters, unsigned index)
{
	if (adapters->why[index][0])
		return META_FATE_IMPOSSIBLE;
	if (adapters->forbidden >> index & 1)
		return META_FATE_FORBIDDEN;
	return adapters->wanted >> index & 1 ? META_FATE_LOADED : 0;
}

int holds_put(const struct adapters *adapters, struct recorder *recorder)
{
	struct buffer payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	struct block block = {.kind = BLOCK_ADAPTERS};
	uint32_t count = 0;
	int r = 0;

	for (unsigned i = 0; i < ADAPTERS; i++)
		count += fate_of(adapters, i) != 0;
	buffer_put_varint(&payload, count);
	for (unsigned i = 0; i < ADAPTERS; i++) {
		const char *name = adapters_name(i), *why = adapters->why[i];
		struct meta_adapter adapter = {.name = {name, strlen(name)},
					       .fate = fate_of(adapters, i),
					       .why = {why, strlen(why)}};

		if (adapter.fate)
			meta_adapter_encode(&payload, &adapter);
	}
	block.stored = block.raw = (uint32_t)payload.length;
	if (count && !payload.bad)
		r = recorder_put(recorder, &block, payload.bytes);
	buffer_fini(&payload);
	return r;
}

static bool is_held(const struct holds *holds, const char *name)
{
	for (uint32_t i = 0; i < holds->count; i++)
		if (strcmp(holds->of[i].name, name) == 0)
			return true;
	return false;
}

void holds_say(const struct holds *holds, const struct adapters *adapters)
{
	for (uint32_t i = 0; i < holds->count; i++) {
		fputs(i ? ", " : "unweave: adapters: ", stderr);
		say_text(stderr, holds->of[i].name);
		fputs(holds->of[i].version[0] ? " " : "", stderr);
		say_text(stderr, holds->of[i].version);
	}
	if (holds->count)
		fputc('\n', stderr);
	for (unsigned i = 0; adapters && i < ADAPTERS; i++) {
		const char *name = adapters_name(i);

		if (is_held(holds, name))
			continue;
		if (adapters->why[i][0])
			say_error(NULL, "no adapter for %s: %s", name, adapters->why[i]);
		else if (adapters->wanted >> i & 1)
			say_error(NULL, "the adapter for %s " ADAPTER_UNUSED, name);
	}
}

/* Whether anything else would have stood in the way nobody knows. */
static int explain_forbidden(uint32_t forbidden, const char *command, struct diag *diag)
{
	char names[64] = "";
	size_t length = 0;
	bool several = forbidden & (forbidden - 1);

	for (unsigned i = 0; i < ADAPTERS; i++)
		if (forbidden >> i & 1)
			length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
						   !length               ? ""
						   : forbidden >> i == 1 ? " and "
									 : ", ",
						   adapters_name(i));
	diag_set(diag, 0, "%s: nothing came of it: the adapter%s for %s %s left out by --without",
		 command, several ? "s" : "", names, several ? "were" : "was");
	return diag_hint(diag, -ENOENT,
			 "record it without that option, or link it with libunweave");
}

int holds_explain(const struct adapters *adapters, const char *command, struct diag *diag)
{
	const char *inside = "";

	for (unsigned i = 0; i < ADAPTERS; i++)
		if (adapters->why[i][0])
			inside = adapters->why[i];
	if (adapters->why_none[0] || inside[0]) {
		diag_set(diag, 0, "%s: nothing came of it: %s", command,
			 adapters->why_none[0] ? adapters->why_none : inside);
		return diag_hint(diag, -ENOENT,
				 adapters->secure
					 ? "link it with libunweave, or record a copy without "
					   "these rights"
					 : "link it with libunweave, or with libuv, libevent or "
					   "GLib as shared libraries");
	}
	if (adapters->forbidden)
		return explain_forbidden(adapters->forbidden, command, diag);
	if (!adapters->loaded) {
		diag_set(diag, 0, "%s: ended without calling a hook of libunweave", command);
		return diag_hint(diag, -ENOENT,
				 "link it with libunweave, or allow for adapters (--with)");
	}
	diag_set(diag, 0,
		 "%s: ended without calling a hook of libunweave, or using a library that there "
		 "is an adapter for",
		 command);
	return diag_hint(diag, -ENOENT,
			 "these are libuv, libevent and GLib; see ADAPTERS in unweave-record(1)");
}

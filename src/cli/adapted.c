/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/adapted.h"

#include "cli/adapters.h"
#include "cli/say.h"

/* `whole`: all that was recorded is there, and so whether it took hold. */
static void print_one(const struct reader_adapter *adapter, bool whole, FILE *to)
{
	if (!adapter->version && adapter->fate == META_FATE_IMPOSSIBLE)
		fprintf(to, "none for ");
	say_text(to, adapter->name);
	if (adapter->version) {
		fputs(adapter->version[0] ? " " : "", to);
		say_text(to, adapter->version);
	} else if (adapter->fate == META_FATE_LOADED) {
		fprintf(to, " %s", whole ? ADAPTER_UNUSED : "was loaded");
	} else if (adapter->fate == META_FATE_FORBIDDEN) {
		fprintf(to, " was not wished for");
	}
	if (adapter->why[0] && !adapter->version) {
		fprintf(to, ": ");
		say_text(to, adapter->why);
	}
}

void adapted_print(const struct reader *reader, FILE *to)
{
	const struct reader_adapter *adapter;
	bool whole = !reader_faults(reader_summary(reader));

	for (uint32_t i = 0; (adapter = reader_adapter_at(reader, i)); i++) {
		fputs(i ? "; " : "", to);
		print_one(adapter, whole, to);
	}
	fputc('\n', to);
}

void adapted_json(const struct reader *reader, struct json *json)
{
	static const char *const fates[] = {[META_FATE_LOADED] = "loaded",
					    [META_FATE_IMPOSSIBLE] = "impossible",
					    [META_FATE_FORBIDDEN] = "forbidden"};
	const struct reader_adapter *adapter;

	json_open(json, "adapters", '[');
	for (uint32_t i = 0; (adapter = reader_adapter_at(reader, i)); i++) {
		json_open(json, NULL, '{');
		json_text(json, "library", adapter->name);
		json_bool(json, "took_hold", adapter->version != NULL);
		if (adapter->version)
			json_text(json, "version", adapter->version);
		if (adapter->fate && adapter->fate <= META_FATE_FORBIDDEN)
			json_text(json, "fate", fates[adapter->fate]);
		if (adapter->why[0])
			json_text(json, "why", adapter->why);
		json_close(json, '}');
	}
	json_close(json, ']');
}

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# all JSON is valid JSON
command -v python3 >/dev/null || exit 77
{
	unweave dump --json "$DATA/v1/server.unw"
	unweave dump --json "$DATA/v1/loop.unw"
	unweave dump --json "$DATA/v1/awaits.unw"
	unweave info --json "$DATA/v1/server.unw" "$DATA/v1/header-only.unw"
	for table in summary activities sites stacks functions threads runs; do
		unweave report --json "$DATA/v1/requests.unw" $table
		unweave report --json "$DATA/v1/header-only.unw" $table
	done
	for view in tasks sites waits threads warnings; do
		unweave top --json --view $view "$DATA/v1/callbacks.unw"
		unweave top --json --view $view "$DATA/v1/header-only.unw"
	done
} | python3 -c "import json, sys
print(sum(1 for line in sys.stdin if json.loads(line)))"

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests of `unweave record` share. $1 is the subject, $2 the tool.
subject=$(realpath "$1") unweave=$(realpath "$2")
# shellcheck source=tests/abi/tap.sh
. "$(dirname "$0")/../abi/tap.sh"
unset UNWEAVE_TRACE UNWEAVE_DISABLE UNWEAVE_BUFFER UNWEAVE_DETAIL UNWEAVE_POLICY UNWEAVE_SIGNAL
# Arenas of our own, to see whether any is left.
UNWEAVE_DIR=$(mktemp -d /dev/shm/unweave-record-XXXXXX) || exit 1
export UNWEAVE_DIR
trap 'rm -rf "$work" "$UNWEAVE_DIR"' EXIT
cd "$work" || exit 1

# record OPTION... -- VERB...: records the subject, with its words in `words` and its output in `out`.
record()
{
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -f ./*.unw
	timeout 60 "$unweave" record -o t.unw "${options[@]}" -- "$subject" "$@" >out 2>words
	status=$?
	cat words
}

# All traces are whole, and nothing is left where arenas are.
all_is_well()
{
	local trace
	for trace in ./*.unw; do
		"$unweave" verify "$trace" >verdict 2>&1 || { cat verdict && return 1; }
	done
	nothing_is_left
}

nothing_is_left()
{
	! find "$UNWEAVE_DIR" -type f | grep .
}

says()
{
	grep -Eq "$1" words || { echo "not said: $1" && return 1; }
}

# How many of something a trace has: `samples`, `events`.
count()
{
	"$unweave" info "$1" | awk -v what="$2" '$1 == what { gsub("[^0-9]", "", $2); print $2 }'
}

# Until a program that was started for it has an arena. $1: its pid
wait_for_arena()
{
	for _ in $(seq 500); do
		"$unweave" status "$1" >/dev/null 2>&1 && return
		sleep 0.02
	done
	return 1
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs that know their own chains, with and without the shim: test.sh UNWEAVE PLAIN PROGRAM...
unweave=$(realpath "$1") plain=$(realpath "$2")
here=$(realpath "$(dirname "$0")")
shift 2
# shellcheck source=tests/abi/tap.sh
. "$here/../../../tests/abi/tap.sh"
unset UNWEAVE_TRACE UNWEAVE_DISABLE UNWEAVE_BUFFER UNWEAVE_DETAIL UNWEAVE_POLICY UNWEAVE_SIGNAL
UNWEAVE_DIR=$(mktemp -d /dev/shm/unweave-coro-XXXXXX) || exit 1
export UNWEAVE_DIR
trap 'rm -rf "$work" "$UNWEAVE_DIR"' EXIT

behaves()
{
	timeout 60 "$1" >"$work/out" && diff "$work/plain" "$work/out"
}

# The program complains of each chain that is not its own.
is_told()
{
	UNWEAVE_TRACE=$work/t.unw timeout 60 "$1" >"$work/out" && diff "$work/plain" "$work/out"
}

# What began ends: no task is left but those that were dropped, and they are cancelled.
tells_ends()
{
	"$unweave" verify "$work/t.unw" && "$unweave" dump "$work/t.unw" >"$work/events" || return 1
	[ "$(grep -cw create "$work/events")" -eq "$(grep -cw complete "$work/events")" ] &&
		grep -qw cancelled "$work/events" && grep -qw error "$work/events"
}

try "the program works" timeout 60 "$plain"
"$plain" >"$work/plain"
for program; do
	name=${program##*/coro-}
	try "$name: with the shim it does the same" behaves "$program"
	try "$name: recorded too, and all chains are its own" is_told "$program"
	try "$name: each task that begins ends" tells_ends
done
finish

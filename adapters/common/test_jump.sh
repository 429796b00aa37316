#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A callback that arms another one by a jump, as the last thing that it does: test_jump.sh UNWEAVE PROGRAM
unweave=$(realpath "$1") program=$(realpath "$2")
# shellcheck source=tests/abi/tap.sh
. "$(dirname "$0")/../../tests/abi/tap.sh"
unset UNWEAVE_TRACE UNWEAVE_DISABLE UNWEAVE_BUFFER UNWEAVE_DETAIL UNWEAVE_POLICY UNWEAVE_SIGNAL

recorded()
{
	timeout 60 "$unweave" record -q --detail "$1" -F 0 -o "$work/t.unw" -- "$program"
}

# armed CALLBACK FUNCTION
armed()
{
	"$unweave" dump -k create "$work/t.unw" >"$work/created"
	cat "$work/created"
	grep -q " $1  armed in $2 (.*jump\.c:[1-9]" "$work/created"
}

try "it is recorded" recorded tasks
try "what main() arms is armed there" armed first main
try "what the callback arms is armed in the callback, not in who called that" armed second first
finish

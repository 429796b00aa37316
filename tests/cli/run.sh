#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the cases beside it and compares what they say with what they should.
# usage: run.sh UNWEAVE DATA [--update] [CASE...]
#
# A case is a script CASE.sh whose first comment says what it shows. CASE.stdout
# and CASE.stderr are what it must print (no file: nothing), CASE.exit its exit
# status (no file: 0). 77 means that it cannot run here. With --update, what it
# prints becomes what it must print.
set -u

tool=$(realpath "$1")
DATA=$(realpath "$2")
shift 2
cases=$(cd "$(dirname "$0")" && pwd)
update=
if [ "${1:-}" = --update ]; then
	update=yes
	shift
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/said"
ln -s "$tool" "$work/bin/unweave"

export DATA LC_ALL=C TZ=UTC PATH="$work/bin:$PATH"
export XDG_CACHE_HOME="$work/cache" DEBUGINFOD_URLS=
# A leak is no reason to exit otherwise than a user would see it.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:exitcode=99"

# Where the data is differs; so does the tool's version.
normalise()
{
	sed -e "s|$DATA|DATA|g" -e "s|$work|WORK|g"
}

# Shows a difference, or takes over what was said.
compare()
{
	local wanted=$1 said=$2
	if [ -n "$update" ]; then
		if [ -s "$said" ]; then cp "$said" "$wanted"; else rm -f "$wanted"; fi
		return 0
	fi
	[ -e "$wanted" ] || wanted=/dev/null
	diff -u --label wanted --label said "$wanted" "$said" | sed 's/^/# /'
	return "${PIPESTATUS[0]}"
}

run_case()
{
	local case=$1 status
	rm -rf "$work/dir"
	mkdir "$work/dir"
	(cd "$work/dir" && exec sh "$cases/$case.sh") >"$work/out" 2>"$work/err" </dev/null
	status=$?
	[ $status -ne 77 ] || return 77
	normalise <"$work/out" >"$work/said/stdout"
	normalise <"$work/err" >"$work/said/stderr"
	: >"$work/said/exit"
	[ $status -eq 0 ] || echo $status >"$work/said/exit"
	local result=0
	for part in stdout stderr exit; do
		compare "$cases/$case.$part" "$work/said/$part" || result=1
	done
	return $result
}

[ $# -gt 0 ] || set -- "$cases"/*.sh
number=0 failed=0
for case; do
	case=${case##*/}
	case=${case%.sh}
	[ "$case" != run ] || continue
	number=$((number + 1))
	title=$(sed -n "3s/^# //p" "$cases/$case.sh")
	run_case "$case"
	case $? in
	0) echo "ok $number - $case: $title" ;;
	77) echo "ok $number - $case: $title # SKIP" ;;
	*)
		echo "not ok $number - $case: $title"
		failed=1
		;;
	esac
done
echo "1..$number"
exit $failed

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `unweave tree`, on what programs leave behind. $1 is one that crashes, $2 the tool.
hung=$(realpath "$1") unweave=$(realpath "$2")
# shellcheck source=tests/abi/tap.sh
. "$(dirname "$0")/../abi/tap.sh"
unset UNWEAVE_TRACE UNWEAVE_DISABLE
UNWEAVE_DIR=$(mktemp -d /dev/shm/unweave-live-XXXXXX) || exit 1
export UNWEAVE_DIR
trap 'rm -rf "$work" "$UNWEAVE_DIR"' EXIT
cd "$work" || exit 1
ulimit -c unlimited

# A core by the kernel, where that leaves it in the working directory, which depends on the machine.
crash_by_kernel()
{
	{ "$@" >heard; } 2>/dev/null
	mv core* "$core" 2>/dev/null
}

# The same by a debugger, which always can.
crash_by_gdb()
{
	timeout 60 gdb -nx -batch -iex 'set debuginfod enabled off' -ex run \
		-ex "generate-core-file $core" -ex kill --args "$@" >words 2>&1
	[ -s "$core" ]
}

# Has the program die, with its arena left and its core in $core.
crash()
{
	core=$work/$1.core
	shift
	rm -rf "$core" "${UNWEAVE_DIR:?}"/*
	case $maker in
	kernel) crash_by_kernel "$@" ;;
	*) crash_by_gdb "$@" ;;
	esac
}

shows()
{
	grep -Eq -- "$1" shown || { echo "not shown: $1" && cat shown words && return 1; }
}

tree()
{
	timeout 30 "$unweave" tree "$@" >shown 2>words
}

shows_all()
{
	shows '^deadlock: alice \(task [0-9]+\)$' && shows '^  [0-9]+  carol: waiting for task [0-9]+, bob' &&
		shows '^[0-9]+  request: running on thread [0-9]+, which got signal 11 ' &&
		[ "$(grep -A3 '  request: running' shown | sed -n '2,4s/^ *\([a-z_]*\).*/\1/p' | xargs)" = \
			'crash load_user handle_request' ] &&
		[ "$(grep -A3 '  carol:' shown | sed -n '2,4s/^ *\([a-z_]*\).*/\1/p' | xargs)" = \
			'take_lock load_user handle_request' ] &&
		shows '^4 tasks lived in process [0-9]+, on 1 thread$' && shows '^it was ended by signal 11 '
}

beside_its_arena()
{
	crash beside "$hung" crash t.unw && tree "$core" && shows_all && [ ! -s words ] &&
		tree --json --core "$core" && python3 - <<-'END'
			import json
			process, *tasks = [json.loads(line) for line in open('shown')]
			assert process['ended'] and process['signal'] == 11 and process['tasks'] == 4
			assert [t['state'] for t in tasks] == ['waiting'] * 3 + ['running']
			assert tasks[3]['tid'] == process['signal_tid']
			assert [f['function'] for f in tasks[3]['chain']] == ['crash', 'load_user', 'handle_request']
		END
}

without_its_arena()
{
	rm -rf "${UNWEAVE_DIR:?}"/*
	! tree "$core" && [ ! -s shown ] && grep -q "^unweave: .*beside.core: it was written without its arena" words &&
		grep -q '^hint: .*coredump_filter' words
}

with_its_arena()
{
	# shellcheck disable=SC2016 # for the shell inside
	crash with sh -c 'echo 0x3b >/proc/self/coredump_filter; exec "$0" "$@"' "$hung" crash t.unw
	rm -rf "${UNWEAVE_DIR:?}"/*
	tree "$core" && shows_all && [ "$(stat -c %s "$core")" -lt 100000000 ]
}

# Most of the arena is room that was never used, and not to be in the core: it is 280 MB.
in_a_memfd()
{
	UNWEAVE_DIR=/nonexistent crash memfd "$hung" crash t.unw
	tree "$core" && shows_all && [ "$(stat -c %s "$core")" -lt 100000000 ]
}

one_that_nobody_recorded()
{
	crash plain "$hung" crash
	tree "$core" && shows '^[0-9]+  alice: suspended for task' && shows '^[0-9]+  request: running$' && shows take_lock
}

by_the_program_that_is_meant()
{
	cp "$hung" moved
	crash moved ./moved crash t.unw
	mv moved elsewhere
	# Names that were found once are kept, by build id: not here.
	XDG_CACHE_HOME=$work/empty tree "$core" && ! grep -q take_lock shown && tree "$core" --program elsewhere && shows_all
}

cut_short()
{
	local bytes cut
	bytes=$(stat -c %s "$work/memfd.core")
	for cut in 0 1 63 64 200 4096 $((bytes / 3)) $((bytes / 2)) $((bytes * 9 / 10)); do
		head -c "$cut" "$work/memfd.core" >cut.core
		tree cut.core
		case $? in
		0) grep -q 'cut.core: the file is cut short' words ;;
		1) grep -q '^unweave: cut.core: ' words ;;
		*) false ;;
		esac || { echo "cut at $cut: $(cat words)" && return 1; }
	done
}

killed_without_a_core()
{
	rm -rf "${UNWEAVE_DIR:?}"/* ready
	mkfifo ready
	"$hung" deadlock t.unw >ready &
	pid=$!
	read -r _ <ready
	kill -KILL "$pid" && wait "$pid" 2>/dev/null
	tree "$pid" && shows '^deadlock: alice' && shows '  carol: waiting for task' && shows '^3 tasks lived' &&
		! grep -q take_lock shown &&
		grep -q "^unweave: process $pid is no more: what it left has no chains" words
}

killed_as_another_user()
{
	rm -rf "${UNWEAVE_DIR:?}"/* ready
	chmod 1777 "$UNWEAVE_DIR"
	mkfifo ready
	setpriv --reuid 65534 --regid 65534 --clear-groups "$hung" many 5 >ready &
	pid=$!
	read -r _ <ready
	kill -KILL "$pid" && wait "$pid" 2>/dev/null
	tree "$pid" && shows '^5 tasks lived'
}

# What its arena has become since is not what the core is of.
one_that_still_runs()
{
	rm -rf "${UNWEAVE_DIR:?}"/* ready
	mkfifo ready
	"$hung" deadlock >ready &
	pid=$!
	read -r _ <ready
	timeout 60 gdb -nx -batch -iex 'set debuginfod enabled off' -p "$pid" -ex "generate-core-file $work/live.core" >words 2>&1
	tree "$work/live.core"
	local result=$?
	cat words
	kill -KILL "$pid" && wait "$pid" 2>/dev/null
	[ $result -eq 1 ] && grep -q "process $pid still runs" words && tree "$work/live.core" && shows '^deadlock: alice' && shows '  take_lock  ' &&
		! grep -q 'got signal' shown
}

says_what_is_wrong()
{
	printf '\x28\xb5\x2f\xfd....' >packed
	! tree packed && grep -q 'packed: not a core file' words && grep -q '^hint: it is compressed' words || return 1
	! tree "$unweave" && grep -q 'unweave: not a core file' words &&
		! tree --core nothing && grep -q '^unweave: nothing: No such file' words &&
		! tree --core /dev/zero && grep -q 'not a regular file' words &&
		! tree --program x 1 && grep -q -- '--program goes with a core file' words || return 1
	core=$work/other.core
	timeout 60 gdb -nx -batch -iex 'set debuginfod enabled off' -ex starti -ex "generate-core-file $core" -ex kill \
		"$(type -P true)" >words 2>&1
	! tree "$core" && grep -q 'it holds no arena: the program did not carry libunweave' words
}

maker=kernel
if crash probe "$hung" crash; then
	try 'the kernel: a core beside its arena shows tasks and chains' beside_its_arena
	try 'the kernel: and one that has it inside' with_its_arena
fi
maker=gdb
try 'a core beside its arena shows tasks and chains' beside_its_arena
try 'without, it says what is missing' without_its_arena
try 'an arena in the core needs no other' with_its_arena
try 'nor does one that was never in a file' in_a_memfd
try 'a program that nobody recorded shows what it can' one_that_nobody_recorded
try 'functions are found in the program that is meant' by_the_program_that_is_meant
try 'a core that is cut short gets a sentence' cut_short
try 'a program that was killed shows its tasks' killed_without_a_core
if [ "$(id -u)" -eq 0 ]; then
	try 'and one of another user, to root' killed_as_another_user
fi
try 'a core of a program that goes on does not go with its arena' one_that_still_runs
try 'a mistake gets a sentence' says_what_is_wrong
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each planted fault is found by top while the program runs, at its place, and nothing else is.
# watched.sh UNWEAVE FAULTY HUNG
unweave=$(realpath "$1") faulty=$(realpath "$2") hung=$(realpath "$3")
# shellcheck source=tests/abi/tap.sh
. "$(dirname "$0")/../abi/tap.sh"
unset UNWEAVE_TRACE UNWEAVE_DISABLE UNWEAVE_BUFFER UNWEAVE_DETAIL UNWEAVE_POLICY UNWEAVE_SIGNAL
UNWEAVE_DIR=$(mktemp -d /dev/shm/unweave-watched-XXXXXX) || exit 1
export UNWEAVE_DIR
trap 'rm -rf "$work" "$UNWEAVE_DIR"' EXIT
cd "$work" || exit 1

# watched SECONDS LIMITS PROGRAM WORD...: what top says, in `told`.
watched()
{
	rm -f ready
	mkfifo ready
	"${@:3}" >ready &
	pid=$!
	read -r _ <ready
	timeout 60 "$unweave" top -b --view warnings -d "$1" ${2:+--warn "$2"} "$pid" >told
	status=$?
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	cat told
	return $status
}

# told FAULT SECONDS [LIMITS]: the fault begins when somebody watches.
told()
{
	watched "$2" "${3:-}" "$faulty" "$1" 60000
}

# warns KIND LABEL FUNCTION FAULT SECONDS [LIMITS]: of that, in that function of the program, and of
# no other kind.
warns()
{
	told "${@:4}" && grep '^! ' told >rows && ! grep -v "^! $1  " rows &&
		grep -E "^! $1 .* $2 +$3 (faulty|loop)\.c:[0-9]+ *$" rows
}

is_quiet()
{
	told "$@" && grep -q '^[0-9,]* new/s' told && ! grep '^! ' told
}

# Where a machine stops for a while, runs take long and tasks are late in truth: that is no fault of
# the program, and not what most of these are about.
calm=run=none,queue=none

is_quiet_once()
{
	is_quiet "$@" || is_quiet "$@" || is_quiet "$@"
}

# Where its thread sleeps, and what called that, on top of the chain.
sees_the_blocked_thread()
{
	warns 'long run' faulty read_slowly blocking 2 queue=none &&
		[ "$(sed -n '/^  clock_nanosleep/,$s/^ *//p' told | xargs)" = 'clock_nanosleep read_slowly read_config serve' ]
}

# It spins since before anybody looked: its thread never hears of the watch, and nobody of what it
# runs but that load_user awaits it.
finds_what_spins()
{
	watched 2 '' "$hung" spin && grep -E '^! never yields .* request +load_user hung\.c:[0-9]+ *$' told &&
		[ "$(grep -c '^! ' told)" -eq 1 ]
}

# It is killed while it is watched: what there was to warn of is wanted then.
tells_of_one_that_was_killed()
{
	rm -f ready
	mkfifo ready
	"$faulty" endless 60000 >ready &
	pid=$!
	read -r _ <ready
	timeout 60 "$unweave" top -b -d 20 --view warnings --warn queue=none "$pid" >told &
	top=$!
	sleep 3
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	wait $top
	cat told
	grep -q '^! the program has ended' told && grep -q ' 1 thread ' told &&
		grep -E '^! never yields .* faulty +count_forever faulty\.c:[0-9]+ *$' told
}

# They are found one after the other, which is no growth. Their thread does not hear of the watch.
finds_many()
{
	watched 3 '' "$hung" many 600000 && ! grep '^! ' told &&
		grep '^1 of 1 threads said nothing yet' told
}

try 'a healthy program is not warned of' is_quiet_once healthy 3
try 'tasks that wait for each other' warns deadlock alice take_both deadlock 2 $calm
try 'a task that nobody woke' warns 'lost wake' asking await_answer lost-wake 2 $calm
try 'a timer that nobody watches' warns 'lost wake' faulty await_timeout lost-timer 2 $calm
try 'a blocking call, with the native stack of its thread' sees_the_blocked_thread
try 'a task that never yields' warns 'never yields' faulty count_forever endless 2 $calm
try 'the same, of a program that is killed' tells_of_one_that_was_killed
try 'tasks that take turns for too long' warns 'queue delay' hog hog starved 4 run=none
try 'a task that wakes itself' warns self-wakes faulty stir restless 1 $calm
try 'a task that polls and finds nothing' warns 'empty runs' faulty look_again empty 1 $calm
try 'tasks that pile up' warns 'task leak' forgotten remember leak 4 $calm
try 'a lock that is not given back' warns 'long wait' faulty await_lock lock 1 none,wait=500ms
try 'a task that has never yielded since before' finds_what_spins
try 'many tasks that were there before' finds_many
try 'nobody asked' is_quiet deadlock 2 none
finish

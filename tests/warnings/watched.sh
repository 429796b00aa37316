#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each planted fault is found while the program runs, at its place, and nothing else is.
# watched.sh WATCHING FAULTY HUNG
watching=$(realpath "$1") faulty=$(realpath "$2") hung=$(realpath "$3")
# shellcheck source=tests/abi/tap.sh
. "$(dirname "$0")/../abi/tap.sh"
unset UNWEAVE_TRACE UNWEAVE_DISABLE UNWEAVE_BUFFER UNWEAVE_DETAIL UNWEAVE_POLICY UNWEAVE_SIGNAL
UNWEAVE_DIR=$(mktemp -d /dev/shm/unweave-watched-XXXXXX) || exit 1
export UNWEAVE_DIR
trap 'rm -rf "$work" "$UNWEAVE_DIR"' EXIT
cd "$work" || exit 1

# watched SECONDS LIMITS PROGRAM WORD...: what a watch warns of, in `told`.
watched()
{
	rm -f ready
	mkfifo ready
	"${@:3}" >ready &
	pid=$!
	read -r _ <ready
	timeout 60 "$watching" "$pid" "$1" ${2:+"$2"} >told
	status=$?
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	return $status
}

# told FAULT SECONDS [LIMITS]: the fault begins with the watch.
told()
{
	watched "$2" "${3:-}" "$faulty" "$1" 60000
}

# warns KIND LABEL MARKED FUNCTION FAULT SECONDS [LIMITS]: of that, and of no other kind. MARKED is
# how many tasks have it at least; FUNCTION is the first of the stack, or the place that is named.
warns()
{
	told "${@:5}" && cat told &&
		awk -F '\t' -v kind="$1" -v label="$2" -v marked="$3" -v place="$4" '
			$1 != kind { wrong = 1 }
			{ count = split($4, names, " ") }
			$2 == label && $3 >= marked && (names[1] == place || names[count] == place) { right = 1 }
			END { exit wrong || !right }' told
}

is_quiet()
{
	told "$@" && cat told && [ ! -s told ]
}

# Where a machine stops for a while, runs take long and tasks are late in truth: that is no fault of
# the program, and not what most of these are about.
calm=run=none,queue=none

is_quiet_once()
{
	is_quiet "$@" || is_quiet "$@" || is_quiet "$@"
}

# Where the thread sleeps is in the stack, on top of the chain.
sees_the_blocked_thread()
{
	warns run faulty 1 clock_nanosleep blocking 2 queue=none &&
		grep -q $'\tclock_nanosleep .*read_slowly read_config serve ' told &&
		grep -q 'called by read_slowly\.' told
}

# They are found one after the other, which is no growth.
finds_many()
{
	watched 3 '' "$hung" many 600000 && cat told && [ ! -s told ]
}

try 'a healthy program is not warned of' is_quiet_once healthy 3
try 'tasks that wait for each other' warns deadlock alice 2 take_both deadlock 2 $calm
try 'a task that nobody woke' warns lost-wake asking 1 await_answer lost-wake 2 $calm
try 'a timer that nobody watches' warns lost-wake faulty 1 await_timeout lost-timer 2 $calm
try 'a blocking call, with the native stack of its thread' sees_the_blocked_thread
try 'a task that never yields' warns endless faulty 1 count_forever endless 2 $calm
try 'tasks that take turns for too long' warns queue hog 1 hog starved 4 run=none
try 'a task that wakes itself' warns self-wakes faulty 1 stir restless 1 $calm
try 'a task that polls and finds nothing' warns empty-runs faulty 1 look_again empty 1 $calm
try 'tasks that pile up' warns leak forgotten 1 remember leak 4 $calm
try 'a lock that is not given back' warns wait faulty 1 await_lock lock 1 none,wait=500ms
try 'many tasks that were there before' finds_many
try 'nobody asked' is_quiet deadlock 2 none
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each planted fault is found in a trace, at its place, and nothing else is.
# recorded.sh UNWEAVE FAULTY MACHINE [LIBUV-PROGRAM]
unweave=$(realpath "$1") faulty=$(realpath "$2") machine=$(realpath "$3")
libuv=${4:+$(realpath "$4")}
here=$(realpath "$(dirname "$0")")
# shellcheck source=tests/abi/tap.sh
. "$here/../abi/tap.sh"
unset UNWEAVE_TRACE UNWEAVE_DISABLE UNWEAVE_BUFFER UNWEAVE_DETAIL UNWEAVE_POLICY UNWEAVE_SIGNAL
UNWEAVE_DIR=$(mktemp -d /dev/shm/unweave-warnings-XXXXXX) || exit 1
export UNWEAVE_DIR
trap 'rm -rf "$work" "$UNWEAVE_DIR"' EXIT

# The options of recorded.py, then "--" and what is recorded.
says()
{
	python3 "$here/recorded.py" "$unweave" "$@"
}

refuses()
{
	! "$unweave" report --warn "$1" "$here/recorded.sh" 2>"$work/words" && grep -q -- "$2" "$work/words"
}

# Where a machine stops for a while, runs take long and tasks are late in truth: that is no fault of
# the program, and not what most of these are about.
calm=run=none,queue=none

# is_quiet PROGRAM WORD...: with the usual limits; once, of three times, there is no such stop.
is_quiet()
{
	says -- "$@" || says -- "$@" || says -- "$@"
}

try 'a healthy program is not warned of' is_quiet "$faulty" healthy 2500
try 'tasks that wait for each other' says --warn $calm deadlock take_both -- "$faulty" deadlock 1500
try 'a task that nobody woke' says --warn $calm lost-wake await_answer -- "$faulty" lost-wake 1500
try 'a timer that nobody watches' says --warn $calm lost-wake await_timeout -- "$faulty" lost-timer 1500
try 'a blocking call' says --warn queue=none run read_config -- "$faulty" blocking 700
try 'a blocking call, by samples of the wall clock' \
	says --record=--wall --warn queue=none run read_slowly -- "$faulty" blocking 700
try 'a blocking call, without samples, at detail tasks' \
	says --record=--detail=tasks --record=-F0 --warn queue=none run main -- "$faulty" blocking 700
try 'a task that never yields' says --warn $calm endless count_forever -- "$faulty" endless 1500
try 'tasks that take turns for too long' says --warn run=none queue ping -- "$faulty" starved 4000
try 'a task that wakes itself' says --warn $calm self-wakes stir -- "$faulty" restless 500
try 'a task that polls and finds nothing' says --warn $calm empty-runs look_again -- "$faulty" empty 500
try 'tasks that pile up' says --warn $calm leak remember -- "$faulty" leak 3000
try 'a lock that is not given back' says --warn $calm,wait=200ms wait await_lock -- "$faulty" lock 700
try 'a wait for a lock of usual length' says --warn $calm -- "$faulty" lock 700
try 'a limit that is not exceeded' says --warn run=60s,queue=none -- "$faulty" blocking 700
try 'nobody asked' says --warn none -- "$faulty" deadlock 1500
try 'a state machine that blocks' says --warn queue=none run load_settings -- "$machine" blocking
try 'a healthy state machine' is_quiet "$machine" healthy
if [ "$libuv" ]; then
	try 'a callback of libuv that blocks' says --warn queue=none run load_settings -- "$libuv" blocking
	try 'a healthy program of libuv, with work in its pool that takes long' is_quiet "$libuv" healthy
fi
try 'a warning that there is not' refuses runs=1s "there is no warning 'runs'"
try 'a limit that is none' refuses run=soon "'soon' is no limit for the warning 'run'"
finish

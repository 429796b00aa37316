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

try 'a healthy program is not warned of' says -- "$faulty" healthy 2500
try 'tasks that wait for each other' says deadlock take_both -- "$faulty" deadlock 1500
try 'a task that nobody woke' says lost-wake await_answer -- "$faulty" lost-wake 1500
try 'a timer that nobody watches' says lost-wake await_timeout -- "$faulty" lost-timer 1500
try 'a blocking call' says run read_config -- "$faulty" blocking 700
try 'a blocking call, by samples of the wall clock' \
	says --record=--wall run read_slowly -- "$faulty" blocking 700
try 'a blocking call, without samples, at detail tasks' \
	says --record=--detail=tasks --record=-F0 run main -- "$faulty" blocking 700
try 'a task that never yields' says endless count_forever -- "$faulty" endless 1500
try 'tasks that take turns for too long' says queue ping -- "$faulty" starved 3000
try 'a task that wakes itself' says self-wakes stir -- "$faulty" restless 500
try 'a task that polls and finds nothing' says empty-runs look_again -- "$faulty" empty 500
try 'tasks that pile up' says leak remember -- "$faulty" leak 3000
try 'a lock that is not given back' says --warn wait=200ms wait await_lock -- "$faulty" lock 700
try 'a wait for a lock of usual length' says -- "$faulty" lock 700
try 'a limit that is not exceeded' says --warn run=10s,queue=none -- "$faulty" blocking 700
try 'nobody asked' says --warn none -- "$faulty" deadlock 1500
try 'a state machine that blocks' says run load_settings -- "$machine" blocking
try 'a healthy state machine' says -- "$machine" healthy
if [ "$libuv" ]; then
	try 'a callback of libuv that blocks' says run load_settings -- "$libuv" blocking
	try 'a healthy program of libuv, with work in its pool that takes long' says -- "$libuv" healthy
fi
try 'a warning that there is not' refuses runs=1s "there is no warning 'runs'"
try 'a limit that is none' refuses run=soon "'soon' is no limit for the warning 'run'"
finish

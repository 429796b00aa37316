#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whom a recorder follows, and whom it finds.
# usage: children.sh SUBJECT UNWEAVE
set -u
# shellcheck source=tests/record/common.sh
. "$(dirname "$0")/common.sh"

traces()
{
	find . -name '*.unw' | wc -l
}

follows_forks()
{
	record -- work 20 fork 3
	[ "$status" -eq 0 ] && all_is_well && [ "$(traces)" -eq 4 ] && says '3 more processes, in files like t\.[0-9]+\.unw:' &&
		find . -regex './t\.[0-9]+\.unw' | grep -q .
}

stays_with_the_command()
{
	record --no-children -- work 20 fork 3
	[ "$status" -eq 0 ] && all_is_well && [ "$(traces)" -eq 1 ] && ! says 'more process'
}

looks_behind_a_script()
{
	rm -f ./*.unw
	"$unweave" record -o t.unw -- sh -c "'$subject' work 20; exit 9" 2>words
	[ $? -eq 9 ] && all_is_well && [ "$(traces)" -eq 1 ] && [ "$(count t.unw events)" -gt 3 ]
}

waits_for_what_is_left()
{
	record -- work 1 leave 400
	[ "$status" -eq 0 ] && all_is_well && [ "$(traces)" -eq 2 ] &&
		[ "$(count "$(find . -regex './t\.[0-9]+\.unw')" samples)" -gt 0 ]
}

# Bounded in traces, memory and processes; and each child is told of in one way or another.
survives_a_storm()
{
	local recorded empty=0 refused=0
	record -F 2000 -- fork 950 crowd 50 work 20
	[ "$status" -eq 0 ] && all_is_well || return 1
	recorded=$(sed -n 's/^unweave: \([0-9]*\) more process.*: .*/\1/p' words)
	empty=$(sed -n 's/^unweave: \([0-9]*\) more ended before.*/\1/p' words)
	refused=$(sed -n 's/^unweave: \([0-9]*\) more were not recorded.*/\1/p' words)
	[ $((recorded + ${empty:-0} + ${refused:-0})) -eq 1000 ] &&
		[ "$(traces)" -eq $((recorded + 1)) ] && [ "$recorded" -le 256 ] &&
		[ "$(count t.unw samples)" -gt 0 ]
}

# A process that is `sleep`, and not still the shell, which has our traps.
start_sleeper()
{
	sleep 60 &
	sleeper=$!
	while [ "$(cat /proc/$sleeper/comm)" != sleep ]; do
		sleep 0.01
	done
}

end_sleeper()
{
	{ kill "$sleeper" && wait "$sleeper"; } 2>/dev/null
}

finds_none()
{
	rm -f ./*.unw
	"$unweave" record -o t.unw -p 4194305 2>words
	[ $? -eq 1 ] && says 'there is no process 4194305' && [ ! -e t.unw ]
}

finds_no_library()
{
	rm -f ./*.unw
	start_sleeper
	"$unweave" record -o t.unw -p $sleeper 2>words
	local result=$?
	end_sleeper
	[ $result -eq 1 ] && says 'carries no libunweave' && says '^hint: .*adapter' &&
		[ ! -e t.unw ]
}

finds_another_user()
{
	local result
	mkdir -p "$work/theirs"
	if [ "$(id -u)" -eq 0 ]; then
		chmod 777 "$work" "$work/theirs"
		cp "$unweave" "$work/theirs/unweave"
		start_sleeper
		setpriv --reuid 65534 --clear-groups "$work/theirs/unweave" record \
			-o theirs/t.unw -p $sleeper 2>words
		result=$?
		end_sleeper
	else
		"$unweave" record -o theirs/t.unw -p 1 2>words
		result=$?
	fi
	cat words
	[ $result -eq 1 ] && says 'belongs to another user' && says '^hint: ' && [ ! -e theirs/t.unw ]
}

# Other pids, and a /dev/shm that is not ours.
looks_into_a_container()
{
	local outer pid result
	env -u UNWEAVE_DIR unshare --pid --mount --fork --mount-proc sh -c \
		"mount -t tmpfs none /dev/shm && exec '$subject' threads 2 400 exit 7" &
	outer=$!
	for _ in $(seq 100); do
		pid=$(tr -d ' ' </proc/$outer/task/$outer/children)
		[ -n "$pid" ] && env -u UNWEAVE_DIR "$unweave" status "$pid" >/dev/null 2>&1 && break
		sleep 0.05
	done
	env -u UNWEAVE_DIR "$unweave" record -F 500 "$@" -o t.unw -p "$pid" 2>words
	result=$?
	cat words
	wait $outer
	[ $? -eq 7 ] && [ $result -eq 0 ] && all_is_well && [ "$(count t.unw samples)" -gt 0 ] &&
		[ "$(count t.unw events)" -gt 0 ]
}

can_contain()
{
	unshare --pid --mount --fork --mount-proc mount -t tmpfs none /dev/shm 2>/dev/null
}

shows_a_line()
{
	rm -f ./*.unw
	script -qec "'$unweave' record -o t.unw -- '$subject' work 50 sleep 1200" typescript >/dev/null
	grep -q 'recording [0-9]* s, [0-9]* events, [0-9]* samples, 0 lost, ' typescript && all_is_well
}

try 'children are recorded, each for itself' follows_forks
try '--no-children records the command alone' stays_with_the_command
try 'the program behind a script gets the name that was asked for' looks_behind_a_script
try 'what the command leaves is recorded to its end' waits_for_what_is_left
try 'a thousand children do no harm while the program is sampled fast' survives_a_storm
try 'a pid that nobody has is said to be that' finds_none
try 'a program without libunweave is said to be that' finds_no_library
try 'a process of another user is said to be that' finds_another_user
if can_contain; then
	try 'a program in a container is found, and sampled' looks_into_a_container
	try 'and with timers' looks_into_a_container --timers
	try 'and by the wall clock' looks_into_a_container --wall
fi
if command -v script >/dev/null; then
	try 'a terminal shows how far it has come' shows_a_line
fi
finish

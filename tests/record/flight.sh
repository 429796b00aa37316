#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A recorder that keeps only the last part.
# usage: flight.sh SUBJECT UNWEAVE
set -u
# shellcheck source=tests/record/common.sh
. "$(dirname "$0")/common.sh"

events()
{
	count "$1" events
}

keeps_the_end()
{
	record --flight 0.5 -- work 300 sleep 1500 work 100 middle segv
	[ "$status" -eq 139 ] && all_is_well && says 't.unw: the last [0-9.]* s of ' || return 1
	# What came after the pause is there, with its creation; what came before is not.
	"$unweave" dump t.unw | grep -q middle && [ "$(count t.unw samples)" -gt 0 ] &&
		[ "$("$unweave" dump --kind create t.unw | wc -l)" -eq 2 ]
}

keeps_so_much()
{
	record --policy block -- busy 500
	[ "$(stat -c %s t.unw)" -gt 1500000 ] || return 1
	record --policy block --flight 1M -- busy 500
	[ "$status" -eq 0 ] && all_is_well && [ "$(stat -c %s t.unw)" -lt 1300000 ] &&
		[ "$(events t.unw)" -gt 100000 ]
}

# fly VERB...: starts the subject, as `pid`, and a recorder of it, as `recorder`.
fly()
{
	rm -f ./*.unw
	"$subject" "$@" &
	pid=$!
	wait_for_arena "$pid" || return 1
	"$unweave" record --flight 10s -o t.unw -p "$pid" 2>words &
	recorder=$!
}

writes_when_asked()
{
	local pid recorder
	fly work 60000 || return 1
	for wanted in t-1.unw t-2.unw; do
		sleep 0.4
		kill -USR2 "$recorder"
		for _ in $(seq 200); do
			grep -q "$wanted: the last" words && break
			sleep 0.05
		done
	done
	sleep 0.4
	{ kill -KILL "$pid" && wait "$pid"; } 2>/dev/null
	wait "$recorder" && cat words && all_is_well && [ "$(events t-1.unw)" -gt 0 ] &&
		[ "$(events t-2.unw)" -gt "$(events t-1.unw)" ] &&
		[ "$(events t.unw)" -gt "$(events t-2.unw)" ] && [ "$(count t-1.unw samples)" -gt 0 ]
}

asks_all_that_it_follows()
{
	local recorder
	rm -f ./*.unw
	"$unweave" record --flight 10s -o t.unw -- "$subject" leave 1500 work 1500 2>words &
	recorder=$!
	sleep 0.7
	kill -USR2 $recorder
	wait $recorder && cat words && all_is_well && [ "$(find . -name '*.unw' | wc -l)" -eq 4 ] &&
		[ -e t-1.unw ]
}

has_all_up_to_then()
{
	local pid recorder i
	fly ask 12 || return 1
	sleep 0.3
	echo "$recorder" >asked.new && mv asked.new asked
	wait && cat words && all_is_well && [ -e t-8.unw ] || return 1
	for i in $(seq 12); do
		# A machine that is too slow may write one for two that asked.
		[ -e "t-$i.unw" ] || continue
		"$unweave" dump "t-$i.unw" | grep -q "request $i\." || return 1
	done
}

try 'what is older is not in the trace of a program that died' keeps_the_end
try 'a size bounds it, too' keeps_so_much
try 'SIGUSR2 writes what there is, and the recording goes on' writes_when_asked
try 'and of all processes' asks_all_that_it_follows
try 'with what happened just before' has_all_up_to_then
finish

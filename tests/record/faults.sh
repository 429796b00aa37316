#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs that die, block or take our signal, or stand on their heads: the trace
# is whole, what is missing is said, and they do not notice.
# usage: faults.sh SUBJECT UNWEAVE
set -u
# shellcheck source=tests/record/common.sh
. "$(dirname "$0")/common.sh"

dies()
{
	record -- work 300 middle "${@:2}" && [ "$status" -eq "$1" ] && all_is_well &&
		[ "$(count t.unw samples)" -gt 0 ] && says 'none lost$'
}

# What hangs says nothing more, but lasts: 300 ms, against the few of its events.
hangs()
{
	record -F 1 -- middle sleep 300 kill
	[ "$status" -eq 137 ] && all_is_well && "$unweave" report t.unw runs --csv >shown || return 1
	cat shown
	awk -F, 'NR == 2 { lasted = $1 } END { exit lasted < 300000000 }' shown &&
		"$unweave" report t.unw | grep -q '^  CPU  *hardly any: not one sample$'
}

# Nothing of it is told, neither then nor at the end: there is only what samples show.
hung_before()
{
	local pid
	"$subject" middle sleep 1500 &
	pid=$!
	wait_for_arena $pid && sleep 0.1 && "$unweave" record --wall --duration 0.3 -o t.unw -p $pid 2>words
	cat words
	wait $pid
	all_is_well && "$unweave" report t.unw >shown && cat shown &&
		grep -q 'No task began or ended a run while this was recorded\.' shown
}

has_only_samples()
{
	record --detail samples -- work 100
	[ "$status" -eq 0 ] && all_is_well &&
		"$unweave" report t.unw | grep -q "No runs or waits in this trace: it was recorded at detail 'samples'\."
}

becomes_another()
{
	record -- work 50 middle exec "$subject" work 50 say hello exit 6
	[ "$status" -eq 6 ] && all_is_well && [ "$(cat out)" = hello ] &&
		[ "$(find . -name '*.unw' | wc -l)" -eq 2 ]
}

becomes_a_stranger()
{
	record -- work 50 exec echo hello
	[ "$status" -eq 0 ] && all_is_well && [ "$(cat out)" = hello ]
}

blocks_the_signal()
{
	record "$@" -- block threads 2 100 say on
	[ "$status" -eq 0 ] && all_is_well && [ "$(cat out)" = on ] &&
		says '3 threads block the signal, and were not sampled' || return 1
	"$unweave" report t.unw >shown && cat shown &&
		grep -q '^  CPU  *hardly any, of what could be sampled: not one sample$' shown &&
		grep -q 'Nothing that could be sampled was on a CPU when samples were due' shown &&
		grep -q '  - 3 threads block the signal, and were not sampled\.' shown
}

# The planted sleep is 600 ms. What is awake before it and after it has none of it.
sleeps_once()
{
	record --wall -F 499 -- doze 20 30
	all_is_well && "$unweave" report t.unw >shown || return 1
	tr -s '\n ' ' ' <shown | grep -Eo 'Threads slept for [0-9]+ ms inside of runs.*, called by [a-z_]+' | tee found
	awk '{ exit !($4 >= 400 && $4 <= 750) }' found && grep -q 'called by sleep_ms\|called by doze' found &&
		awk -F'; ' '{ exit !($2 + 0 >= 85) }' found
}

# On a machine that is busy the sampler comes too late for some sleeps: three chances.
sleeps_in_a_run()
{
	sleeps_once || sleeps_once || sleeps_once
}

# A signal ends both calls. What was slept in the second is not told of the first; and no run
# slept for longer than it took.
naps_once()
{
	record --wall -- nap 5 300
	all_is_well && "$unweave" report t.unw runs --csv | tr -d '"' | tee shown | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR > 1 { name = $(at["name"]); lasted[name] += $(at["duration_ns"]) }
		NR > 1 { slept[name] += $(at["asleep_ns"]) }
		NR > 1 && $(at["asleep_ns"]) > $(at["duration_ns"]) { bad = 1 }
		END { for (name in lasted) print name, slept[name] / lasted[name] }
		END { exit bad || slept["napper"] < lasted["napper"] * 0.6 ||
			slept["poller"] < lasted["poller"] * 0.6 || lasted["poller"] < 3e8 }' &&
		! grep 'napper.*,poll,\|poller.*,[a-z_]*nanosleep,' shown
}

naps_in_runs()
{
	naps_once || naps_once || naps_once
}

# What is ours is gone from its handler by then: it takes 50 periods, a look once a second, and a
# thread that says so.
takes_the_signal()
{
	record -F 999 "$@" -- work 300 handle work 100 sleep 1500 work 150 sleep 2000 work 60 \
		undisturbed 100 say on
	[ "$status" -eq 0 ] && all_is_well && [ "$(cat out)" = on ] &&
		says 'has taken SIGURG for itself'
}

# In a thread that calls no hook, by which it would notice. $1: how
loses_once()
{
	record -F 999 -- work 300 "$1" spin 3500 say on
	[ "$status" -eq 0 ] && all_is_well && says 'has taken SIGURG for itself'
}

# One that is looked at in its handler blocks the signal, which explains all: three chances.
loses_the_signal()
{
	loses_once "$1" || loses_once "$1" || loses_once "$1"
}

# The handler is there, and is asked whether it is.
has_no_samples()
{
	record -F 499 --timers -- work 100 unclock spin 3500
	[ "$status" -eq 0 ] && all_is_well && says 'No sample of [0-3]\.[0-9] s of CPU time' || return 1
	! grep SIGURG words
}

has_the_signal()
{
	local pid
	"$subject" handle work 1 sleep 500 undisturbed 100 &
	pid=$!
	wait_for_arena $pid && "$unweave" record -o t.unw -p $pid 2>words
	cat words
	wait $pid && all_is_well && says 'handles SIGURG itself' && says 'UNWEAVE_SIGNAL' &&
		"$unweave" report t.unw | grep -q '^  CPU  *unknown: no CPU samples in this trace$'
}

uses_sigprof()
{
	record "$@" -- profile 300 say on
	[ "$status" -eq 0 ] && all_is_well && [ "$(cat out)" = on ] &&
		[ "$(count t.unw samples)" -gt 0 ]
}

has_small_stacks()
{
	record -F 999 "$@" -- small 4 100 alternate 50 say on
	[ "$status" -eq 0 ] && all_is_well && [ "$(cat out)" = on ] &&
		[ "$(count t.unw samples)" -gt 0 ]
}

# 300 ms; $1: how many samples that makes at the least, then options
goes_on_elsewhere()
{
	record "${@:2}" -- work 1 elsewhere work 300
	[ "$status" -eq 0 ] && all_is_well && [ "$(count t.unw samples)" -ge "$1" ] || return 1
	grep -q 'the signal\|SIGURG' words && return 1
	return 0
}

# Perf events may be forbidden, which is said; and timers are better where they lack the kernel.
has_perf()
{
	record -F 499 -- work 200
	[ "$status" -eq 0 ] && all_is_well && says '\(perf events, 499 Hz\)' && ! grep 'in the kernel' words
}

chooses_its_clock()
{
	local clock=timers
	record --timers -F 499 -- work 200
	[ "$status" -eq 0 ] && all_is_well && says '\(timers, 499 Hz\)' || return 1
	has_perf && clock='perf events' || says 'Perf events may not be used|in the kernel' || return 1
	record -- work 200
	[ "$status" -eq 0 ] && all_is_well && says "\($clock, 99 Hz\)"
}

# What the samples stand for is what the program has used. $1: percent at the least, then verbs
counts_all()
{
	record -- work 1 "${@:2}" used
	[ "$status" -eq 0 ] && all_is_well || return 1
	"$unweave" info t.unw | grep '^ *samples ' | tee shown
	awk -v used="$(cat out)" -v least="$1" '{
		share = $4 * 100000 / used
		print "of", used, "ms", share, "%"
		exit !(share >= least && share <= 110)
	}' shown
}

# By a timer it would not be met at all, on a machine that has nothing else to do.
is_met_in_step()
{
	has_perf || return 0
	counts_all 70 step 4000 && says '\(perf events, 99 Hz\)'
}

changes_its_clock()
{
	has_perf || return 0
	counts_all 85 switch 1500 spin 2500 switch 1500 && says '\(perf events and timers, 99 Hz\)'
}

# $1: a number of timers that a process is to have, within some seconds
comes_to_timers()
{
	for _ in $(seq 160); do
		[ "$(grep -c ^ID "/proc/$2/timers")" -eq "$1" ] && return
		sleep 0.05
	done
	return 1
}

# Of the two threads that switch one ends; the other one works on.
changes_back()
{
	local pid recorder
	has_perf || return 0
	"$subject" work 1 switch 3000 spin 20000 &
	pid=$!
	wait_for_arena $pid || return 1
	"$unweave" record -o t.unw -p $pid 2>words &
	recorder=$!
	comes_to_timers 2 $pid && comes_to_timers 0 $pid
	local came=$?
	{ kill -INT $recorder && wait $recorder; kill -KILL $pid && wait $pid; } 2>/dev/null
	cat words
	rm -f "$UNWEAVE_DIR"/*/*
	return $came
}

# A tenth of a processor at most, for the many threads of a program that does nothing.
sleeps_beside_it()
{
	local pid
	"$subject" work 1 rest 1000 60000 &
	pid=$!
	wait_for_arena $pid || return 1
	sleep 0.3
	{ TIMEFORMAT='%U %S' && time timeout -s INT 4 "$unweave" record "$@" -o t.unw -p $pid 2>words; } 2>took
	cat words took
	{ kill -KILL $pid && wait $pid; } 2>/dev/null
	rm -f "$UNWEAVE_DIR"/*/*
	awk '{ exit !($1 + $2 < 0.35) }' took
}

# 50 samples of which the first may come late, and some on a busy machine.
wakes_up()
{
	record --timers -- rest 200 500 work 500
	[ "$status" -eq 0 ] && all_is_well && [ "$(count t.unw samples)" -ge 40 ]
}

# 100 samples of which the first may come late, and many on a busy machine.
runs_beside_sleepers()
{
	record --timers -- rest 1000 100 threads 2 500
	[ "$status" -eq 0 ] && all_is_well && [ "$(count t.unw samples)" -ge 60 ]
}

# Perf events stand in, unless they are forbidden or not wanted; that is said then.
# $1: what there is to be, samples or words
may_have_no_timers()
{
	(ulimit -i 0 && record "${@:2}" -- threads 3 300 && [ "$status" -eq 0 ]) && all_is_well || return 1
	if [ "$1" = samples ] && ! says 'could not be sampled'; then
		[ "$(count t.unw samples)" -gt 20 ]
	else
		says '[34] threads could not be sampled, or not all the time: .*ulimit -i' &&
			"$unweave" info t.unw | grep -q 'could not be sampled' && ! says SIGURG
	fi
}

# The program goes on, and its timers end by themselves; $1: how samples are taken
loses_its_recorder()
{
	local pid recorder
	"$subject" work 1000 say on exit 3 >out &
	pid=$!
	wait_for_arena $pid || return 1
	"$unweave" record -F 500 "$@" -o t.unw -p $pid 2>words &
	recorder=$!
	sleep 0.4
	{ kill -KILL $recorder && wait $recorder; } 2>/dev/null
	wait $pid
	[ $? -eq 3 ] && [ "$(cat out)" = on ] || return 1
	# What nobody fetched stays for the next recorder, and is fetched by it.
	"$unweave" record -o t.unw -p $pid && all_is_well
}

# Until a program has so many timers. $1: its pid, $2: at least, $3: at most
wait_for_timers()
{
	local count
	for _ in $(seq 500); do
		count=$(grep -c ^ID "/proc/$1/timers")
		[ "$count" -ge "$2" ] && [ "$count" -le "$3" ] && return
		sleep 0.02
	done
	grep ^ID "/proc/$1/timers"
	return 1
}

# Those of threads that have ended, too. $1: the signal that ends the recorder
ends_its_timers()
{
	local pid recorder ended
	"$subject" threads 20 100 work 60000 &
	pid=$!
	wait_for_arena $pid || return 1
	"$unweave" record --timers -o t.unw -p $pid 2>words &
	recorder=$!
	wait_for_timers $pid 10 1000
	ended=$?
	while [ "$(find /proc/$pid/task -mindepth 1 -maxdepth 1 | wc -l)" -gt 1 ]; do
		sleep 0.02
	done
	{ kill "-$1" $recorder && wait $recorder; } 2>/dev/null
	[ $ended -eq 0 ] && wait_for_timers $pid 0 0
	ended=$?
	{ kill -KILL $pid && wait $pid; } 2>/dev/null
	rm -f "$UNWEAVE_DIR"/*/*
	return $ended
}

fills_the_disk()
{
	local pid
	"$subject" busy 1000 exit 4 &
	pid=$!
	wait_for_arena $pid || return 1
	(ulimit -f 200 && exec "$unweave" record -o t.unw -p $pid) 2>words
	cat words
	wait $pid
	[ $? -eq 4 ] && all_is_well && says 'events could not be written: File too large'
}

# Samples do not take the room that is kept for the end.
fills_it_with_samples()
{
	local pid
	rm -f ./*.unw
	"$subject" work 3000 &
	pid=$!
	wait_for_arena $pid || return 1
	(ulimit -f 64 && exec "$unweave" record -F 9999 -o t.unw -p $pid) 2>words
	status=$?
	cat words
	wait $pid
	[ "$status" -eq 0 ] && all_is_well && says 'samples were lost' && says 'written: File too large' &&
		[ "$(count t.unw samples)" -gt 0 ]
}

is_interrupted()
{
	rm -f ./*.unw
	timeout --preserve-status --foreground -s "$1" 1 "$unweave" record -o t.unw -- \
		"$subject" work 60000 2>words
	status=$?
	cat words
	[ "$status" -eq "$2" ] && all_is_well && [ "$(count t.unw samples)" -gt 0 ]
}

# Until the words of the recorder and its program have some. $1: a pattern
wait_for_words()
{
	for _ in $(seq 250); do
		grep -q "$1" words && return
		sleep 0.02
	done
	cat words && echo "not there: $1" && return 1
}

# A program that ignores SIGINT is recorded until the second one, and goes on. $1: the recorder,
# or who started it; $2...: what sends SIGINT to the group of both.
is_left()
{
	local recorder=$1 program left=1
	shift
	wait_for_words deaf && sleep 0.2 && "$@" && wait_for_words 'waiting for .* to end; Ctrl-C again' &&
		program=$(grep -o 'pid [0-9]*' words | tr -dc 0-9) && kill -0 "$program" && "$@" || return 1
	wait "$recorder"
	[ $? -eq 130 ] && says 'events of 1 thread' && says "subject \(pid $program\) goes on" &&
		kill -0 "$program" && left=0
	{ kill -KILL "$program" && rm -f "$UNWEAVE_DIR"/*/*; } 2>/dev/null
	cat words
	[ $left -eq 0 ] && all_is_well && [ "$(count t.unw samples)" -gt 0 ]
}

interrupts_group()
{
	kill -INT -- "-$1"
}

is_left_by_its_group()
{
	rm -f ./*.unw
	setsid "$unweave" record -o t.unw -- "$subject" stay say deaf work 10000 >words 2>&1 &
	is_left $! interrupts_group $!
}

presses_ctrl_c()
{
	printf '\003' >&9
}

is_left_in_a_terminal()
{
	rm -f ./*.unw keys
	mkfifo keys
	exec 9<>keys
	TERM=dumb script -qefc "$unweave record -o t.unw -- $subject stay say deaf work 10000" \
		/dev/null <keys >words 2>&1 &
	is_left $! presses_ctrl_c
	local result=$?
	exec 9>&-
	return $result
}

# What is passed on is not heard, and is no reason to leave.
hears_nothing()
{
	local recorder
	rm -f ./*.unw
	"$unweave" record -o t.unw -- "$subject" stay say deaf work 1500 exit 6 >words 2>&1 &
	recorder=$!
	wait_for_words deaf || return 1
	for _ in 1 2 3; do
		sleep 0.3
		kill -TERM $recorder
	done
	wait $recorder
	[ $? -eq 6 ] && all_is_well && ! grep -q waiting words
}

stops_recording()
{
	local pid
	"$subject" work 600 exit 5 &
	pid=$!
	wait_for_arena $pid || return 1
	timeout --preserve-status --foreground -s "$1" 0.3 "$unweave" record -o t.unw -p $pid 2>words ||
		return 1
	wait $pid
	[ $? -eq 5 ] && all_is_well
}

has_a_size()
{
	record --policy block --size 1M -- busy 500 exit 7
	[ "$status" -eq 7 ] && all_is_well && [ "$(stat -c %s t.unw)" -gt 1000000 ] &&
		[ "$(stat -c %s t.unw)" -lt 2000000 ]
}

# So soon that nobody could ask the kernel what it had mapped.
is_over_at_once()
{
	for _ in 1 2 3; do
		record -- call && all_is_well && "$unweave" report t.unw activities >shown &&
			grep -q '^read answer ' shown || return 1
	done
}

has_too_many_tasks()
{
	UNWEAVE_TASKS_MAX=256 "$subject" keep 1000 sleep 5000 &
	pid=$!
	wait_for_arena $pid
	for _ in $(seq 100); do
		"$unweave" status $pid >shown
		grep -q '745 tasks that found no place' shown && break
		sleep 0.02
	done
	"$unweave" ps >listed
	kill $pid && wait $pid
	grep -Eq "^ +$pid .* 255 +1 +- +- +- +$subject keep 1000 sleep 5000$" listed &&
		grep -Eq '^  tasks +255$' shown && grep -q '745 tasks that found no place' shown
}

try 'a program that dies by SIGSEGV is in its trace' dies 139 segv
try 'a program that dies by SIGKILL is, too' dies 137 kill
try 'a program that leaves in the middle of a run passes its status on' dies 5 exit 5
try 'a run that hangs lasts until the recording ends' hangs
try 'a program that hung before says that no run began or ended' hung_before
try 'a trace of detail samples says that it is one' has_only_samples
try 'a program that becomes another one has a trace for each' becomes_another
try 'a program that becomes one without libunweave has one' becomes_a_stranger
try 'threads that block the signal are counted' blocks_the_signal
try 'and with timers' blocks_the_signal --timers
try 'by the wall clock it shows where a run sleeps' sleeps_in_a_run
try 'and where it goes on when the signal has ended that' naps_in_runs
try 'that a program takes the signal is noticed' takes_the_signal
try 'and with timers, which end' takes_the_signal --timers
try 'and in a thread that calls nothing' loses_the_signal handle
try 'and that it does without' loses_the_signal ignore
try 'where it did not, it is not said' has_no_samples
try 'the clock of samples is by their rate' chooses_its_clock
try 'a thread in step with the tick is sampled' is_met_in_step
try 'a thread that switches often has another clock' changes_its_clock
try 'and the first one again once it does not' changes_back
try 'a program whose first thread has ended is sampled' goes_on_elsewhere 20 -F 999
try 'and with timers' goes_on_elsewhere 20 --timers
try 'threads that may have no timers have perf events' may_have_no_timers samples
try 'or are counted' may_have_no_timers words --timers
try 'or samples by the wall clock' may_have_no_timers samples --wall
try 'that a program has the signal is said' has_the_signal
try 'a program that uses SIGPROF gets it' uses_sigprof
try 'and with timers' uses_sigprof --timers
try 'small and alternate stacks are sampled' has_small_stacks
try 'and with timers' has_small_stacks --timers
try 'a program whose recorder is killed goes on' loses_its_recorder
try 'and with timers' loses_its_recorder --timers
try 'a program that sleeps takes little of its recorder' sleeps_beside_it
try 'and with timers' sleeps_beside_it --timers
try 'a program that slept is sampled once it runs' wakes_up
try 'so are threads that run beside a thousand that sleep' runs_beside_sleepers
try 'timers end with the session' ends_its_timers INT
try 'and by themselves if the recorder is killed' ends_its_timers KILL
try 'a full disk is said, and ends nothing' fills_the_disk
try 'a disk full of samples has room for the end' fills_it_with_samples
try 'SIGTERM ends the command, and is passed on' is_interrupted TERM 143
try 'SIGINT, too' is_interrupted INT 130
try 'one that ignores SIGINT goes on after the second one, and is not recorded' is_left_by_its_group
if command -v script >/dev/null; then
	try 'and after the second Ctrl-C' is_left_in_a_terminal
fi
try 'one that ignores SIGTERM is recorded to its end' hears_nothing
try 'SIGINT ends the recording of a running program, which goes on' stops_recording INT
try 'SIGHUP, too' stops_recording HUP
try 'a program that is over at once has names' is_over_at_once
try 'tasks that found no place are counted' has_too_many_tasks
try 'a recording ends at its size, the program does not' has_a_size
finish

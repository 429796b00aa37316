#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Opens exports with the programs that they are for; speaks TAP.
# usage: run.sh UNWEAVE MAKE_TRACE SERVER CACHE
# shellcheck disable=SC2317 # functions are called by try
set -u

unweave=$1 make_trace=$2 server=$3 cache=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1 PROFILER_CLI_SESSION_DIR=$work/sessions PROFILER_CLI_NO_SYMBOLICATE=1
formats='perfetto chrome speedscope pprof folded firefox'
number=0 failed=0

# try SENTENCE COMMAND...: one test; 77 means that it cannot be made here.
try()
{
	local sentence=$1 result=0
	shift
	number=$((number + 1))
	"$@" >"$work/said" 2>&1 || result=$?
	case $result in
	0) echo "ok $number - $sentence" ;;
	77) echo "ok $number - $sentence # SKIP $(tail -n 1 "$work/said")" ;;
	*)
		failed=1
		sed 's/^/# /' "$work/said"
		echo "not ok $number - $sentence"
		;;
	esac
}

# same WANTED SAID: whether they are, and what the second is if not.
same()
{
	[ "$1" = "$2" ] || { printf 'wanted:\n%s\nsaid:\n%s\n' "$1" "$2"; return 1; }
}

need()
{
	command -v "$1" >/dev/null || { echo "$1 is not installed"; return 77; }
}

# export_all TRACE PREFIX
export_all()
{
	local format
	for format in $formats; do
		"$unweave" export "$1" --format "$format" --no-files -o "$work/$2.$format" || return 1
	done
	for format in wait wall; do
		"$unweave" export "$1" --format folded "--$format" --no-files -o "$work/$2.$format" || return 1
	done
}

make_known()
{
	"$make_trace" "$work/known.unw" && export_all "$work/known.unw" known
}

check()
{
	python3 "$here/check.py" "$@"
}

timelines_hold()
{
	local sums='cpu=125000000 samples=125 wait=109000000 queued=26000000 running=41000000 runs=401'
	# shellcheck disable=SC2086 # a list of words
	check perfetto "$work/known.perfetto" $sums wakes=401 &&
		check chrome "$work/known.chrome" $sums task_wakes=200 &&
		check firefox "$work/known.firefox" $sums
}

sums_hold()
{
	check speedscope "$work/known.speedscope" cpu=125000000 wait=109000000 wall=175000000 &&
		check pprof "$work/known.pprof" samples=125 cpu=125000000 wait=109000000 queued=26000000 wall=175000000 &&
		check folded "$work/known.folded" us=125000 &&
		check folded "$work/known.wait" us=109000 &&
		check folded "$work/known.wall" us=175000
}

# Callbacks become ready before they are tasks, and what stands has no runs.
callbacks_hold()
{
	local sums='cpu=111000000 samples=111 runs=16 queued=615000064'
	export_all "$here/../data/v1/callbacks.unw" callbacks || return 1
	# One is woken by nobody: in a timeline it is waiting, not pending.
	# shellcheck disable=SC2086 # a list of words
	check perfetto "$work/callbacks.perfetto" $sums wait=14500001 &&
		check chrome "$work/callbacks.chrome" $sums wait=14500001 &&
		check firefox "$work/callbacks.firefox" $sums wait=2014500200 || return 1
	check speedscope "$work/callbacks.speedscope" cpu=111000000 &&
		check pprof "$work/callbacks.pprof" cpu=111000000 samples=111 && check folded "$work/callbacks.wall"
}

# A recording of a real program: nobody knows its sums, but all of it must hold together.
recording_holds()
{
	local format
	timeout 60 "$unweave" record -F 499 -o "$work/real.unw" -- "$server" --threads 2 --load 1 || return 1
	export_all "$work/real.unw" real || return 1
	for format in $formats; do
		check "$format" "$work/real.$format" || return 1
	done
	check folded "$work/real.wait" && check folded "$work/real.wall"
}

fetch()
{
	python3 "$here/fetch.py" "$1" "$cache"
}

speedscope_opens()
{
	local package said
	need node || return
	package=$(fetch speedscope) || return
	said=$(node "$here/speedscope.js" "$package" "$work"/known.{speedscope,pprof,folded,wait,chrome}) || return 1
	same "known.speedscope CPU 125000000 nanoseconds
known.speedscope wait 109000000 nanoseconds
known.speedscope wall 175000000 nanoseconds
known.pprof known.pprof 125000000 nanoseconds
known.folded known.folded 125000 none
known.wait known.wait 109000 none
known.chrome server (pid 4242), main (tid 4242) 100000 microseconds
known.chrome server (pid 4242), worker (tid 4243) 99600 microseconds
known.chrome server (pid 4242), worker nested 1 (tid 16777218) 99020 microseconds" "$said" &&
		node "$here/speedscope.js" "$package" "$work"/real.{speedscope,pprof,wall,chrome}
}

# What one thread's samples are, as the profiler sums them up.
firefox_functions()
{
	"${profiler[@]}" thread select "$1" --session known >/dev/null &&
		"${profiler[@]}" thread samples --json --session known |
		python3 -c 'import json, sys
for one in json.load(sys.stdin)["topFunctionsBySelf"]:
    if one["selfSamples"]:
        print("%s %g" % (one["name"], one["selfSamples"]))'
}

firefox_opens()
{
	local package daemon said
	need node || return
	package=$(fetch profiler-cli) || return
	mkdir -p "$work/sessions"
	profiler=(timeout 60 node "$package/package/dist/profiler-cli.js")
	# Its server as a child of ours: the command that would start it waits half a second only.
	node "$package/package/dist/profiler-cli.js" --daemon "$work/known.firefox" --session known &
	daemon=$!
	# Nobody may ask before it has loaded: who finds no server removes the files of one that starts.
	for _ in {1..600}; do
		if grep -qs 'Profile loaded successfully' "$work/sessions/known.log"; then break; fi
		kill -0 "$daemon" || break
		sleep 0.1
	done
	said=$(firefox_functions t-1 && firefox_functions t-3)
	kill "$daemon"
	wait "$daemon"
	! grep -v '^\[LOG\]' "$work/sessions/known.log" || return 1
	same 'server!mix 100
server!serve 90
server!handle<'"';'"', "\", 10 20>(int)
 30' "$said"
}

perfetto_knows()
{
	local perfetto protobuf said
	perfetto=$(fetch perfetto) && protobuf=$(fetch protobuf) || return
	said=$(python3 "$here/perfetto_schema.py" "$perfetto" "$protobuf" "$work/known.perfetto") || return 1
	echo "$said"
	[ "${said##* }" -eq 125 ]
}

pprof_opens()
(
	result=0
	need go || return
	# A newer go has to build it first, once, and may take a minute: it is kept in the user's cache.
	unset XDG_CACHE_HOME
	timeout 25 go tool pprof -raw "$work/known.pprof" >"$work/raw" 2>"$work/complaints" || result=$?
	[ "$result" -ne 124 ] || { echo 'go has yet to build pprof'; return 77; }
	cat "$work/raw" "$work/complaints"
	[ "$result" -eq 0 ] && [ ! -s "$work/complaints" ] || return 1
	grep -q '0x403010 M=1 mix mix.h:5:0 s=0' "$work/raw" &&
		go tool pprof -top "$work/known.pprof" | grep -q '100ms 80.00% 80.00%      100ms 80.00%  mix (inline)' &&
		go tool pprof -sample_index=wait -top "$work/known.pprof" | grep -q '89ms 81.65% 81.65%      109ms   100%  serve' &&
		go tool pprof -top -tagfocus 'task=task in' "$work/known.pprof" | grep -q '90ms 72.00% 72.00%       90ms 72.00%  mix'
)

flamegraph_opens()
{
	local tool svg
	tool=$(command -v inferno-flamegraph flamegraph.pl | head -n 1)
	[ -n "$tool" ] || { echo 'neither inferno nor flamegraph.pl is installed'; return 77; }
	svg=$("$tool" "$work/known.folded" 2>"$work/complaints") || return 1
	cat "$work/complaints"
	[ ! -s "$work/complaints" ] && grep -q '>mix[^ ]* (100,000 samples, 80' <<<"$svg"
}

command -v python3 >/dev/null || { echo '1..0 # SKIP python3 is not installed'; exit 0; }
try 'a trace is exported to every format' make_known
try 'timelines are balanced and in order, and their sums are right' timelines_hold
try 'profiles refer to what there is, and their sums are right' sums_hold
try 'exports of a real recording hold together' recording_holds
try 'so do those of callbacks and loops' callbacks_hold
try 'speedscope opens its own format, pprof, folded and chrome without a warning' speedscope_opens
try "Firefox's profiler opens a profile and finds the functions in it" firefox_opens
try "Perfetto's messages have a place for each field" perfetto_knows
try 'go tool pprof opens a profile without a word' pprof_opens
try 'a flame graph is drawn of folded stacks' flamegraph_opens
echo "1..$number"
exit $failed

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `unweave top` in a terminal: every view in two sizes, and what can happen to a terminal and to
# a program. $1 is a program to watch, $2 the tool.
lively=$(realpath "$1") unweave=$(realpath "$2")
# shellcheck source=tests/abi/tap.sh
. "$(dirname "$0")/../abi/tap.sh"
# shellcheck source=tests/live/screen.sh
. "$(dirname "$0")/screen.sh"
cd "$work" || exit 1
start_terminals || { echo '1..0 # SKIP there is no tmux' && exit 0; }

# At 80 columns the less important ones give way; at 200 all are there.
shows_tasks()
{
	open_screen 80x24 "$pid" --sort name --filter worker
	sees '^lively \(pid [0-9]+\) +4[45] tasks .* waiting' '^[0-9.,]+ new/s +[0-9.,]+ ended/s' \
		'^ +task state +name▲ +for +age +busy +waited +runs !$' \
		'^ *[0-9]+ waiting +worker 00 ' 'filter: worker$' '^q quit  \? help' &&
		! on_screen ' wakes ' &&
		open_screen 200x60 "$pid" --sort name &&
		sees ' site +for +age +busy +queued +waited +runs +wakes +self !' 'waiting +worker 39 ' \
			'waiting +sleeper ' '(waiting|running|queued) +ticker +main lively.c:[0-9]+'
}

shows_a_task()
{
	open_screen "$1" "$pid" --sort name --filter sleeper
	sees 'waiting +sleeper' && press Enter &&
		sees '^sleeper  task [0-9]+' '^waiting for a timer, for ' '^chain  innermost first' \
			'^  wait_for_morning +.*lively.c:[0-9]+' '^  count_sheep +.*lively.c:[0-9]+  state 3' 'runs' 'waits' &&
		press Escape && sees '^ +task state '
}

shows_what_a_task_did()
{
	open_screen "$1" "$pid" --sort name --filter ticker
	sees '(waiting|running|queued) +ticker' && press Enter && sees '^ticker  task' 'p50 [2-9][0-9][0-9] µs' '█' &&
		press End && sees 'woken by' '[0-9]+  a timer' 'runs, newest first' '^ +[0-9.]+ [mµn]?s +[0-9.]+ [mµ]s '
}

shows_sites()
{
	open_screen "$1" "$pid" --view sites --sort busy
	sees '▼busy' '^ticker .* [0-9]+ ' '^request ' 'p50 [0-9.]+ ' '█' && press / w o r k Enter &&
		sees '^worker +.* 40 ' && loses '^request ' && press Enter && sees 'of worker' 'waiting +worker 0'
}

shows_waits()
{
	open_screen "$1" "$pid" --view waits
	sees 'timer 1 +io 40 +lock 1 +channel 1' '^io +file 103 +10 ' 'lock +lock 0xabcd0 +1 .* locksmith' '^timer '
}

shows_threads()
{
	open_screen "$1" "$pid" --view threads
	sees ' name +busy .*runs/s .*runs now' '^.* [0-9]+ lively +[0-9<]+ %'
}

# The lock is never given back: after a while that is worth a warning.
shows_warnings()
{
	open_screen "$1" "$pid" --view warnings --warn wait=100ms
	sees '^ 1 tasks .* 6 warnings \([1-9]\)' '^! long wait +.* locksmith' &&
		press / s m i t h Enter && sees '^locksmith .*waited' '^What waits for so long' &&
		press Enter && sees '^locksmith  task' '^! locksmith'
}

shows_help()
{
	open_screen "$1" "$pid"
	sees '^q quit' && press '?' && sees '^unweave top: any key leads back' 'filter: part of a text' 'not known' &&
		press x && sees '^ +task state '
}

keeps_the_selection()
{
	open_screen 80x24 "$pid" --sort name
	sees 'worker 03' && press / 0 3 Enter && sees 'worker 03' && loses 'worker 04' && press Down Escape r &&
		sees '^ +task state +name▼' && press Enter && sees '^worker 03  task'
}

sorts_by_keys_and_mouse()
{
	open_screen 80x24 "$pid" --sort name
	sees 'name▲' && press r && sees 'name▼' && press Right && sees '▼for' || return 1
	# The title of "name", on the line below the tabs.
	click 26 3 && sees 'name▲' && click 26 3 && sees 'name▼' || return 1
	# The third tab, the first, and a row that is opened by the second click.
	click 20 2 && sees '^name +tasks +new/s' && click 4 2 && sees 'name▼' || return 1
	click 22 6 && click 22 6 && sees 'has lived for'
}

groups()
{
	open_screen 80x24 "$pid" --sort name
	sees 'worker 00' && press b && sees 'by site' ' 40 tasks .* worker' && press b && sees 'by parent' &&
		press b && sees 'worker 00'
}

# Two looks that are apart by more than the delay, and alike.
stands_still()
{
	screen >before
	sleep 0.5
	screen | cmp -s - before
}

pauses()
{
	open_screen 80x24 "$pid" -d 0.1
	sees 'watched for [1-9]' && press Space && sees ' PAUSED$' && stands_still && press Space && loses ' PAUSED$'
}

# Twice: by the table, in which nothing but who lives is certain, and with events again.
does_without_events()
{
	open_screen 80x24 "$pid" --filter ticker
	sees 'watched for [1-9]' && press e && sees '^only what the task table says is known: nothing is recorded' &&
		sees '^ +[0-9]+ [a-z]+ +ticker +- +- ' && not_recorded && press e && sees 'watched for [1-9]' &&
		loses '^only what the task table' && sees '^ +[0-9]+ [a-z]+ +ticker +[0-9.]+ [mµ]s '
}

takes_another_size()
{
	open_screen 80x24 "$pid"
	sees '^ +task state +name +for +age ' && mux resize-window -x 200 -y 60 &&
		sees ' site +for +age +.busy +queued +waited +runs +wakes +self !' &&
		mux resize-window -x 30 -y 6 && sees '^lively \(pid' && mux resize-window -x 1 -y 1 &&
		mux resize-window -x 100 -y 30 && sees '^ +task state +name '
}

harms_no_terminal()
{
	open_screen 80x24 "$pid" --filter evil
	sees 'evil \\x1b\[2J' && [ "$(mux display-message -p '#{pane_title}')" != gone ]
}

uses_colours()
{
	open_screen 80x24 "$pid" --view sites
	sees '█'
	screen_styles | grep -q $'\033\\[38;5;31m' || { echo 'no colour' && screen_styles && return 1; }
	SETTINGS='NO_COLOR=1' open_screen 80x24 "$pid" --view sites
	sees '█'
	! screen_styles | grep -Eq $'\033\\[[0-9;]*(3[0-8]|4[0-8])' && screen_styles | grep -q $'\033\\[[0-9;]*7m'
}

needs_no_utf8()
{
	SETTINGS='LC_ALL=C' open_screen 80x24 "$pid" --view sites
	sees 'vbusy' '[0-9] us ' && ! screen | grep -q '[^ -~]'
}

# Recording must have ended with it.
gives_the_terminal_back()
{
	eventually restored || { echo 'the screen was left as it is' && screen && return 1; }
	mux display-message -p '#{mouse_any_flag}#{cursor_flag}' | grep -qx 01 &&
		eventually not_recorded
}

restored()
{
	[ "$(mux display-message -p '#{alternate_on}')" = 0 ]
}

not_recorded()
{
	"$unweave" status "$pid" | grep -q '^  recorded +no$\|^  recorded    no$'
}

# leaves_by STATUS COMMAND...
leaves_by()
{
	local status=$1
	shift
	open_screen 80x24 "$pid"
	sees '^q quit' && "$@" &&
		sees "^left $status\$" && gives_the_terminal_back
}

# Ticks of the processor that it has used.
used()
{
	awk '{ print $14 + $15 }' "/proc/$(cat top)/stat"
}

# What has nothing to do must not do it all the time.
is_idle()
{
	local before
	before=$(used)
	sleep 0.5
	[ $(($(used) - before)) -le 8 ] || { echo "used $before, then $(used) ticks" && return 1; }
}

stops_and_goes_on()
{
	open_screen 80x24 "$pid"
	sees '^q quit' || return 1
	press C-z
	sees '^left 148$' && restored && press fg Enter && sees '^ +task state ' && ! restored && is_idle &&
		press q && sees '^left 0$' && restored
}

survives_no_terminal()
{
	open_screen 80x24 "$pid"
	sees '^q quit' || return 1
	close_screen && eventually not_recorded
}

# A terminal that goes away without a word: SIGHUP is ignored.
says_that_it_went_away()
{
	python3 - "$unweave" "$pid" <<-'END'
		import os, pty, signal, subprocess, sys, time
		signal.signal(signal.SIGHUP, signal.SIG_IGN)
		ours, its = pty.openpty()
		env = dict(os.environ, TERM="xterm")
		top = subprocess.Popen([sys.argv[1], "top", sys.argv[2]], stdin=its, stdout=its, env=env,
		                       stderr=subprocess.PIPE)
		os.close(its)
		while b"tasks" not in os.read(ours, 65536):
		    pass
		os.close(ours)
		words = top.communicate(timeout=60)[1].decode()
		assert top.returncode == 1 and words == "unweave: the terminal went away\n", (top.returncode, words)
	END
}

needs_a_terminal()
{
	SETTINGS='TERM=dumb' open_screen 80x24 "$pid"
	sees '^left 1$' && grep -q 'TERM is dumb' words || return 1
	SETTINGS='-u TERM' open_screen 80x24 "$pid"
	sees '^left 1$' && grep -q 'TERM is not set' words || return 1
	SETTINGS='TERM=no-such' open_screen 80x24 "$pid"
	sees '^left 1$' && grep -q '^hint:' words || return 1
	open_screen 80x24 "$pid" '<&-'
	sees '^left 1$' && grep -q 'standard input is not a terminal' words
}

keeps_what_was_last()
{
	begin "$lively"
	open_screen 80x24 "$pid" --sort name --filter worker
	sees 'worker 00'
	if [ "$1" = exec ]; then kill -USR1 "$pid"; else kill "-$1" "$pid"; fi
	sees '! the program has ended: this is how it was last' 'waiting +worker 00' || return 1
	press q
	sees '^left 0$'
	end
}

keeps_the_warnings()
{
	begin "$lively"
	open_screen 80x24 "$pid" --view warnings --warn wait=100ms
	sees '6 warnings \([1-9]\)' '^! long wait +.* locksmith' || return 1
	kill -KILL "$pid"
	sees '! the program has ended: this is how it was last' '6 warnings \([1-9]\)' '^! long wait +.* locksmith' \
		' 1 thread ' && press e 5 && sees '^.* [0-9]+ lively +[0-9<]+ %' '6 warnings \([1-9]\)' && press q
	end
}

prints_plain_text()
{
	env -u TERM LC_ALL=C timeout 60 "$unweave" top -b --sort name --rows 5 "$pid" </dev/null >printed 2>words
	cat printed words
	grep -Eq '^lively \(pid [0-9]+\)  4[45] tasks' printed && grep -Eq '^[1-9][0-9]* new/s' printed &&
		grep -Eq '^ *[0-9]+ waiting +evil \\x1b' printed && grep -Eq '^\.\.\. (39|40) more$' printed &&
		[ "$(wc -l <printed)" -eq 10 ] && ! grep -q '[^ -~]' printed
}

# Workers were there before anybody recorded, and said nothing since but for what they wait.
does_not_guess()
{
	timeout 60 "$unweave" top -b --filter 'worker 00' "$pid" >printed &&
		timeout 60 "$unweave" top -j --filter 'worker 00' "$pid" >>printed
	cat printed
	grep -Eq '^ *[0-9]+ waiting +worker 00 +start_workers lively.c:[0-9]+( +-){8} *$' printed &&
		grep -q '"state":"waiting","name":"worker 00",.*"for":null,"age":null,"busy":null,"queued":null,"waited":null,"runs":null' printed
}

prints_again_and_again()
{
	[ "$(timeout 60 "$unweave" top -b -n 3 -d 0.1 "$pid" | grep -c '^lively')" -eq 3 ] || return 1
	# A reader that goes away is no reason to go on, nor to complain.
	timeout 60 "$unweave" top -b -n 0 -d 0.1 "$pid" 2>words | head -1 | grep -q '^lively' &&
		[ ! -s words ] && eventually not_recorded
}

looks_at_the_table_alone()
{
	timeout 60 "$unweave" top -b --table --sort name "$pid" >printed &&
		grep -Eq '^ *[0-9]+ [a-z ]+ worker 00 .* - +- ' printed && not_recorded
}

# In a world of its own, since others of the user may run.
finds_the_only_one()
{
	unshare --pid --fork --mount-proc true 2>/dev/null || { echo 'no namespaces here' && return 0; }
	# shellcheck disable=SC2016 # they are for the inner one
	unshare --pid --fork --mount-proc bash -c '
		timeout 60 "$2" top -b </dev/null 2>none
		"$1" >one & "$1" >two &
		until grep -q ready one && grep -q ready two; do sleep 0.05; done
		timeout 60 "$2" top -b </dev/null 2>many
		kill -KILL %2
		wait %2
		timeout 60 "$2" top -b </dev/null >one
		kill -KILL %1' - "$lively" "$unweave" 2>/dev/null
	head none many one
	grep -q '^unweave: no program of yours carries libunweave$' none && grep -q '^hint:.*unweave ps' none &&
		grep -q '^unweave: top: which of 2 programs?$' many && grep -q '^hint:.*unweave ps' many &&
		grep -q '^lively (pid' one
}

replays()
{
	timeout 60 "$unweave" record -o run.unw --duration 1 -p "$pid" >/dev/null 2>words || { cat words && return 1; }
	open_screen 80x24 run.unw --at 0.2
	sees '^at 0.200 s of [01].[0-9]+ s +█+─+' 'ticker' || return 1
	press .
	sees '^at 0.2[01][0-9] s of'
	press '<' '<' '<'
	sees '^at 0.000 s of'
	# Half way on the slider.
	click 54 22
	sees '^at 0.[45][0-9][0-9] s of'
	press Space
	sees '^▶ ' '^at ([01].[0-9]+) s of \1 s'
}

begin "$lively"
try 'tasks, at 80x24 and 200x60' shows_tasks
for size in 80x24 200x60; do
	try "one task, at $size" shows_a_task $size
	try "what a task did, at $size" shows_what_a_task_did $size
	try "sites, at $size" shows_sites $size
	try "waits, at $size" shows_waits $size
	try "threads, at $size" shows_threads $size
	try "warnings, at $size" shows_warnings $size
	try "help, at $size" shows_help $size
done
try 'the selection stays with its task' keeps_the_selection
try 'keys and the mouse sort, open and change the view' sorts_by_keys_and_mouse
try 'tasks are grouped by site and by parent' groups
try 'a pause is one' pauses
try 'events can be done without, and taken again' does_without_events
try 'another size is another layout, however small' takes_another_size
try 'a name cannot take the terminal over' harms_no_terminal
try 'there are colours, unless NO_COLOR says otherwise' uses_colours
try 'without UTF-8 all is ASCII' needs_no_utf8
try 'q leaves, and the terminal is as it was' leaves_by 0 press q
try '^C leaves' leaves_by 0 press C-c
try 'SIGTERM leaves' leaves_by 143 signal_top TERM
try 'it can be stopped and goes on' stops_and_goes_on
try 'a terminal that is closed ends it' survives_no_terminal
try 'a terminal that vanishes is said' says_that_it_went_away
try 'without a terminal there are words' needs_a_terminal
try 'plain text needs no terminal' prints_plain_text
try 'what is not known is not guessed' does_not_guess
try 'plain text comes again and again' prints_again_and_again
try 'the table alone is enough for some of it' looks_at_the_table_alone
try 'the only program is found' finds_the_only_one
try 'a trace is shown at any moment' replays
end
try 'a program that is killed stays on the screen' keeps_what_was_last KILL
try 'and what it was warned of' keeps_the_warnings
try 'and one that becomes another' keeps_what_was_last exec
finish

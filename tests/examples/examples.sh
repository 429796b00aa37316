#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The examples, recorded by the tool: their traces tell what they do.
# usage: examples.sh UNWEAVE LOOP MACHINE SERVER CALLBACKS
set -u

root=$(dirname "$0")/../..
# shellcheck source=tests/abi/tap.sh
. "$root/tests/abi/tap.sh"
unweave=$1 loop=$2 machine=$3 server=$4 callbacks=$5
export LC_ALL=C

# story PROGRAM TRACE FUNCTION: what happened, a line each, without times and ids, and with the
# program's functions for addresses. FUNCTION is the one that the first chain begins with.
story()
{
	nm "$1" >"$work/functions" || return 1
	"$unweave" dump --stacks "$2" >"$work/events" || return 1
	awk -v first="$3" '
		function number(digits, i, sum) {
			for (i = 1; i <= length(digits); i++)
				sum = sum * 16 + index("0123456789abcdef", substr(digits, i, 1)) - 1
			return sum
		}
		NR == FNR {
			if ($2 == "t" || $2 == "T") {
				name[number($1)] = $3
				place[$3] = number($1)
			}
			next
		}
		{
			line = $4
			for (i = $5 ~ /^[0-9]+$/ ? 6 : 5; i <= NF; i++) {
				word = $i
				if (match(word, /^0x[0-9a-f]+/)) {
					address = number(substr(word, 3, RLENGTH - 2))
					if (base == "")
						base = address - place[first]
					found = address - base in name
					word = (found ? name[address - base] : "?") substr(word, RLENGTH + 1)
				} else if (word ~ /^\(.*\.c:[0-9]+\)$/) {
					word = "(" substr(word, match(word, /[^\/(]*$/))
				}
				if (word == "parent" || word == "task" && $(i - 1) == "by")
					i++
				line = line " " word
			}
			print line
		}' "$work/functions" "$work/events"
}

# same FILE: standard input must be what is in the file.
same()
{
	diff -u "$1" -
}

# records NAME PROGRAM FUNCTION: the story goes to NAME, but for what depends on when the recorder came.
records()
{
	"$unweave" record -o "$work/$1.unw" -- "$2" && "$unweave" verify "$work/$1.unw" &&
		story "$2" "$work/$1.unw" "$3" >"$work/story" &&
		grep -Ev '^(idle|replay|reset|task)( |$)' "$work/story" >"$work/$1"
}

count_loop()
{
	sed 's/ .*//' "$work/loop" | sort | uniq -c | sed 's/^ *//' | same "$work/wanted"
}

# What a client's task did; the same for each of them.
client()
{
	grep -E "^[a-z_]+ client $1( |\$)" "$work/loop" | sed "s/ client $1//" | grep -E "$2" |
		same "$work/wanted"
}

each_client()
{
	client 1 "$1" && client 2 "$1" && client 3 "$1"
}

listener()
{
	grep ' task in main' "$work/loop" | same "$work/wanted"
}

clients_are_children()
{
	[ "$(grep -c '^create client \[connection\] (loop.c:[0-9]*) parent stack handle_client$' \
		"$work/loop")" -eq 3 ]
}

machine_story()
{
	sed 's/ ([a-z.]*:[0-9]*)//' "$work/machine" | same "$work/wanted"
}

record_server()
{
	"$unweave" record -q -F 999 -o "$work/server.unw" -- "$server" --load 1 >"$work/load" &&
		"$unweave" verify "$work/server.unw" &&
		"$unweave" dump "$work/server.unw" >"$work/events"
}

# The load says how many answers of each it got.
answers_are_tasks()
{
	for path in /cheap /report /profile; do
		answers=$(sed -n "s|^load:.* $path \([0-9]*\).*|\1|p" "$work/load")
		tasks=$(grep -c " complete .*GET $path  *ok" "$work/events")
		echo "$path: $answers answers, $tasks tasks that ended well"
		[ "$answers" -gt 0 ] && [ "$tasks" -eq "$answers" ] || return 1
	done
}

finds_what_was_planted()
{
	"$unweave" report "$work/server.unw" >"$work/report" || return 1
	cat "$work/report"
	grep -q ' of all waiting is in db_read: ' "$work/report" &&
		grep -q ' of the CPU time is one logical stack, in hash_rows\.$' "$work/report" &&
		grep -q 'serve_connection > handle_request > render_report > hash_rows$' "$work/report"
}

try 'the loop is recorded, and its trace is good' records loop "$loop" open_client
cat >"$work/wanted" <<'END'
4 complete
4 create
28 frame_complete
27 frame_resume
3 name
33 resume
29 suspend
3 unwind
29 wake
END
try 'the loop has so many events of each kind' count_loop
try 'clients are tasks with a kind and a place, made by the listener' clients_are_children

cat >"$work/wanted" <<'END'
suspend stack request_is_there after_request
suspend stack query_is_done after_query
suspend stack request_is_there after_request
suspend stack query_is_done after_query
suspend stack request_is_there after_request
suspend stack query_is_done after_query
suspend stack request_is_there after_request
suspend stack query_is_done after_query
suspend stack request_is_there after_request
END
try 'the chains of a client are its functions, innermost first' each_client ^suspend
cat >"$work/wanted" <<'END'
resume stack handle_client
wake by io
resume stack request_is_there after_request
wake by timer
resume stack query_is_done after_query
wake by io
resume stack request_is_there after_request
wake by timer
resume stack query_is_done after_query
wake by io
resume stack request_is_there after_request
wake by timer
resume stack query_is_done after_query
wake by io
resume stack request_is_there after_request
wake by timer
resume stack query_is_done after_query
wake by io
resume stack request_is_there after_request
complete ok
END
try 'a client is woken by its descriptor and by its timer in turns' each_client '^(resume|wake|complete)'
cat >"$work/wanted" <<'END'
unwind 1 frame, handled
END
try 'the query that fails is an unwind that somebody handled' each_client ^unwind
cat >"$work/wanted" <<'END'
create task in main (loop.c:LINE) stack open_client
resume task in main stack open_client
suspend task in main stack open_client
wake task in main by timer
resume task in main stack open_client
suspend task in main stack open_client
wake task in main by timer
resume task in main stack open_client
frame_complete task in main
complete task in main ok
END
line=$(grep -n 'UNWEAVE_SITE(NULL)' "$root/examples/loop.c" | cut -d: -f1)
sed -i "s/LINE/$line/" "$work/wanted"
try 'the listener, which has no name, is called after its function' listener

try 'the state machines are recorded, and their trace is good' records machine "$machine" load_settings
cat >"$work/wanted" <<'END'
create settings stack load_settings:1
create journal stack write_journal:1
append settings stack load_settings:1 render_page:1
await settings awaited by one more stack render_page:1
await settings awaited by one more stack render_page:1
append settings stack load_settings:1 render_page:1 serve:1
wake journal by timer
resume journal stack write_journal:1
frame_complete journal
complete journal ok
wake settings by timer
resume settings stack load_settings:1 render_page:1 serve:1
frame_complete settings
frame_resume settings
create task in serve [page] parent stack render_page:2 serve:1
complete settings ok
create task in serve [page] stack render_page:1
resume task in serve stack render_page:1
suspend task in serve stack render_page:2
create task in serve [page] stack render_page:1
resume task in serve stack render_page:1
suspend task in serve stack render_page:2
wake task in serve by timer
resume task in serve stack render_page:2 serve:1
frame_complete task in serve
frame_resume task in serve
complete task in serve ok
append task in serve stack render_page:2 serve:1
wake task in serve by timer
resume task in serve stack render_page:2 serve:1
frame_complete task in serve
frame_resume task in serve
complete task in serve ok
append task in serve stack render_page:2 serve:1
wake task in serve by timer
resume task in serve stack render_page:2 serve:1
frame_complete task in serve
frame_resume task in serve
append journal stack write_journal:1 serve:2 (late)
frame_complete task in serve
complete task in serve ok
END
try 'three await the settings, and one the journal after it was written' machine_story

# What armed what, as a tree: activity, role and how many.
callbacks_are_a_tree()
{
	"$unweave" record -o "$work/callbacks.unw" -- "$callbacks" && "$unweave" verify "$work/callbacks.unw" &&
		"$unweave" report "$work/callbacks.unw" activities --sort activity >"$work/table" || return 1
	awk 'NR > 1 { match($0, /^ */); print RLENGTH / 2, $1, $2, $3, $4, $5 }' "$work/table" |
		sed 's/ - / called /' | grep -v '^0 loop' | same "$work/wanted"
}

cat >"$work/wanted" <<'END'
0 read letters_came read standing 1
1 read letters_came read called 3
2 timer timer_rang timer called 3
0 timer tick timer standing 1
1 timer tick timer called 3
END
try 'callbacks are below what armed them' callbacks_are_a_tree

try 'the server is recorded under load, and its trace is good' record_server
try 'every answer of the server is a task that ended well' answers_are_tasks
try 'the report finds the hot handler and the slow wait' finds_what_was_planted
finish

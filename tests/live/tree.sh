#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `unweave tree`, on programs that hang. $1 is one that does, $2 the tool, $3 what cuts arenas.
hung=$(realpath "$1") unweave=$(realpath "$2") cut=$(realpath "$3")
# shellcheck source=tests/abi/tap.sh
. "$(dirname "$0")/../abi/tap.sh"
unset UNWEAVE_TRACE UNWEAVE_DISABLE
UNWEAVE_DIR=$(mktemp -d /dev/shm/unweave-live-XXXXXX) || exit 1
export UNWEAVE_DIR
trap 'rm -rf "$work" "$UNWEAVE_DIR"' EXIT
cd "$work" || exit 1

# Starts the program, and waits until it hangs.
begin()
{
	rm -f ready t.unw
	mkfifo ready
	"$hung" "$@" >ready &
	pid=$!
	read -r _ <ready
}

end()
{
	kill -KILL "$pid" && wait "$pid" 2>/dev/null
	true
}

tree()
{
	timeout 20 "$unweave" tree "$@" "$pid" >shown 2>words
}

shows()
{
	grep -Eq -- "$1" shown || { echo "not shown: $1" && cat shown && return 1; }
}

finds_the_deadlock()
{
	begin deadlock t.unw
	tree
	end
	shows '^deadlock: alice \(task [0-9]+\)$' && shows '^ +waits for bob' &&
		shows '^[0-9]+  alice: waiting for task [0-9]+, bob, for [0-9.]+ m?s; 1 run, ' &&
		shows '^  [0-9]+  carol: waiting for task [0-9]+, bob' &&
		[ "$(grep -c '^deadlock' shown)" -eq 1 ] && ! grep -q 'waits for carol' shown &&
		[ "$(grep -A3 '  carol:' shown | sed -n '2,4s/^ *\([a-z_]*\).*/\1/p' | xargs)" = \
			'take_lock load_user handle_request' ] &&
		shows 'load_user .*state 7$' && shows '^3 tasks live in process'
}

sees_a_stopped_one()
{
	begin deadlock t.unw
	kill -STOP "$pid"
	tree --json
	end
	python3 - <<-'END'
		import json
		process, *tasks = [json.loads(line) for line in open('shown')]
		alice, bob, carol = tasks
		assert alice['label'] == 'alice' and alice['waits_on'] == bob['task']
		assert bob['waits_on'] == alice['task'] and bob['parent'] == alice['task']
		assert all(t['state'] == 'waiting' and t['runs'] == 1 for t in tasks)
		assert [f['function'] for f in carol['chain']] == ['take_lock', 'load_user', 'handle_request']
		assert all(f['file'].endswith('hung.c') and f['line'] > 1 for f in carol['chain'])
		assert carol['chain'][1]['state'] == 7 and carol['site']['name'] == 'request'
		assert process['tasks'] == 3 and process['threads'] == 1 and process['recorded']
		assert process['deadlocks'] == [[alice['task'], bob['task']]] and not process['ended']
		assert alice['deadlock'] and bob['deadlock'] and 'deadlock' not in carol
		assert alice['for_ns'] > bob['for_ns'] and 0 < alice['busy_ns'] < 10**9
	END
}

sees_what_spins()
{
	begin "$1" t.unw
	tree
	end
	shows "^$2[0-9]+  request: running on thread $pid, for" &&
		[ "$(grep -A3 "^$2[0-9]*  request: running" shown | sed -n '2,4s/^ *\([a-z_]*\).*/\1/p' |
			xargs)" = 'spin load_user handle_request' ]
}

knows_both_runs()
{
	sees_what_spins nested '  ' && shows '^[0-9]+  request: running' && shows 'run_another'
}

sees_one_that_nobody_records()
{
	begin deadlock
	tree --no-chains --state waiting && shows '^[0-9]+  alice: suspended' || return 1
	tree
	end
	shows '^[0-9]+  alice: suspended for task [0-9]+, bob$' && shows 'take_lock' && shows '^nobody records it'
}

shows_callbacks_by_what_armed_them()
{
	begin callbacks t.unw
	tree
	end
	shows '^[0-9]+  listen on_client: standing' && shows '  read load_user: new' &&
		shows 'on_client' && shows ' callbacks '
}

folds_chains()
{
	begin deadlock t.unw
	tree --folded
	end
	[ "$(cat shown)" = 'handle_request;load_user;take_lock 3' ]
}

takes_many()
{
	begin many 300000
	tree --no-chains --limit 10
	end
	[ "$(grep -c 'one of many' shown)" -eq 10 ] && shows '^\.\.\. 299,990 tasks more$' &&
		shows '^300,000 tasks live'
}

# What a thread runs is known while it is stopped, and also if nobody records.
sees_a_stopped_run()
{
	begin "$@"
	kill -STOP "$pid"
	tree
	end
	shows '^[0-9]+  request: running' && ! grep -E 'on thread [0-9]+' shown | grep -v 'which is stopped' &&
		[ "$(grep -A3 'request: running' shown | grep -c 'load_user')" -eq "$chains" ]
}

chooses()
{
	begin deadlock t.unw
	tree --json
	alice=$(sed -n '2s/^{"task":\([0-9]*\).*/\1/p' shown) bob=$(sed -n '3s/^{"task":\([0-9]*\).*/\1/p' shown)
	tree --no-chains --task "$bob" && shows "^$bob  bob: waiting" && [ "$(grep -c ': waiting' shown)" -eq 1 ] &&
		tree --no-chains --task "$alice" && [ "$(grep -c ': waiting' shown)" -eq 3 ] &&
		tree --no-chains --site carol && shows '^[0-9]+  carol' && [ "$(grep -c ': waiting' shown)" -eq 1 ] &&
		tree --no-chains --site hung.c && [ "$(grep -c ': waiting' shown)" -eq 3 ] &&
		tree --state running && shows '^0 of 3 tasks live' && ! grep -q alice: shown &&
		tree --no-chains --sort time && [ "$(sed -n 's/.*  \([a-z]*\): waiting.*/\1/p' shown | xargs)" = 'alice bob carol' ] &&
		tree --no-chains --sort id -n 1 && shows "^$alice  alice" && shows '^... 2 tasks more$' &&
		! tree --task 2 && grep -q "process $pid has no task 2, or it has ended" words &&
		! tree --sort size && grep -q "sort" words
	local result=$?
	end
	return $result
}

# Its last program's arena is there still.
knows_another_program()
{
	begin becomes
	tree
	end
	shows '  alice: unknown for task' && ! grep -q take_lock shown && shows '^3 tasks lived' &&
		grep -q "process $pid is another program by now" words
}

# The arena is made smaller while it is read, or before; whoever reads it goes on.
bears_a_cut_arena()
{
	local result i
	for i in 1 2 3 4 5 6; do
		begin many 100000
		kill -STOP "$pid"
		timeout 30 "$unweave" tree "$pid" >shown 2>words &
		local reader=$!
		[ $((i % 2)) -eq 0 ] || read -r -t 0.0$i <> <(:)
		truncate -s $((i * 3000000)) "$UNWEAVE_DIR"/unweave-*/"$pid"-*
		wait "$reader"
		result=$?
		end
		[ $result -le 1 ] || { echo "it ended with $result" && cat words && return 1; }
		[ $result -eq 0 ] || grep -q '^unweave: ' words || return 1
	done
}

# The first moment at which it can be cut is when it has been mapped, and not been looked at yet.
bears_a_cut_at_once()
{
	local look length result
	begin many 2000
	kill -STOP "$pid"
	cp --sparse=always "$UNWEAVE_DIR"/unweave-*/"$pid"-* whole
	for look in ps "tree $pid" "status $pid" "top -b --table $pid" "record -qo cut.unw -p $pid"; do
		for length in 0 16384 3000000; do
			# It is whole for each, and the same file, which the program has mapped.
			cp --sparse=always whole "$(echo "$UNWEAVE_DIR"/unweave-*/"$pid"-*)"
			# shellcheck disable=SC2086 # words
			UNWEAVE_TEST_CUT=$length LD_PRELOAD=$cut timeout 30 "$unweave" $look >shown 2>words
			result=$?
			[ $result -le 1 ] || { echo "$look, cut to $length, ended with $result" && cat words && end && return 1; }
			[ $result -eq 0 ] || grep -q '^unweave: ' words || { end && return 1; }
		done
	done
	end
}

# Most of them end while they are looked at.
bears_programs_that_end()
{
	local i result
	for i in 1 2 3 4 5 6 7 8; do
		begin many 20000
		timeout 30 "$unweave" tree "$pid" >shown 2>words &
		local reader=$!
		[ $((i % 2)) -eq 0 ] || read -r -t 0.00$i <> <(:)
		end
		wait "$reader"
		result=$?
		[ $result -le 1 ] || { echo "it ended with $result" && cat words && return 1; }
	done
}

says_what_is_wrong()
{
	! "$unweave" tree $$ >shown 2>words && grep -q 'says nothing of its tasks' words &&
		! "$unweave" tree nobody 2>words && grep -q "'nobody' is not a process id, nor a file" words &&
		! "$unweave" tree 2>words && grep -q 'which process' words
}

try 'tasks that wait for each other are found' finds_the_deadlock
try 'a stopped program shows its tasks, as JSON too' sees_a_stopped_one
try 'a task that spins shows its chain' sees_what_spins spin ''
try 'and one inside of another' knows_both_runs
try 'a program that nobody records shows what it can' sees_one_that_nobody_records
chains=1
try 'so it is, stopped' sees_a_stopped_run spin t.unw
chains=2
try 'and stopped inside of another' sees_a_stopped_run nested t.unw
chains=1
try 'and if nobody records, by who waits for it' sees_a_stopped_run spin
try 'callbacks show what armed them' shows_callbacks_by_what_armed_them
try 'chains fold into stacks' folds_chains
try '300,000 tasks are no trouble' takes_many
try 'tasks can be chosen and sorted' chooses
try 'a process that became another program says so' knows_another_program
try 'an arena that is cut off is no trouble' bears_a_cut_arena
try 'nor is one that is cut as soon as it is mapped' bears_a_cut_at_once
try 'nor is a program that ends meanwhile' bears_programs_that_end
try 'a mistake gets a sentence' says_what_is_wrong
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `unweave tree`, on programs that hang. $1 is one that does, $2 the tool.
hung=$(realpath "$1") unweave=$(realpath "$2")
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
		shows 'on_client' && shows 'main'
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

says_what_is_wrong()
{
	! "$unweave" tree $$ >shown 2>words && grep -q 'has no arena' words &&
		! "$unweave" tree nobody 2>words && grep -q "'nobody' is not a process id, nor a file" words &&
		! "$unweave" tree 2>words && grep -q 'which process' words
}

try 'tasks that wait for each other are found' finds_the_deadlock
try 'a stopped program shows its tasks, as JSON too' sees_a_stopped_one
try 'a task that spins shows its chain' sees_what_spins spin ''
try 'and one inside of another' knows_both_runs
try 'a program that nobody records shows what it can' sees_one_that_nobody_records
try 'callbacks show what armed them' shows_callbacks_by_what_armed_them
try 'chains fold into stacks' folds_chains
try '300,000 tasks are no trouble' takes_many
try 'a mistake gets a sentence' says_what_is_wrong
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `unweave ps`. $1 is a program that waits, $2 the tool.
hung=$(realpath "$1") unweave=$(realpath "$2")
# shellcheck source=tests/abi/tap.sh
. "$(dirname "$0")/../abi/tap.sh"
unset UNWEAVE_TRACE UNWEAVE_DISABLE
UNWEAVE_DIR=$(mktemp -d /dev/shm/unweave-live-XXXXXX) || exit 1
export UNWEAVE_DIR
chmod 1777 "$UNWEAVE_DIR"
pids=
trap 'end; rm -rf "$work" "$UNWEAVE_DIR"' EXIT
cd "$work" || exit 1
chmod 755 "$work"

# Starts a command that says "ready", and adds it to those that are to end; the last is $pid.
begin()
{
	rm -f ready
	mkfifo ready
	chmod 666 ready
	"$@" >ready &
	pid=$!
	pids="$pids $pid"
	read -r _ <ready
}

end()
{
	# shellcheck disable=SC2086 # several
	[ -z "$pids" ] || { kill -KILL $pids && wait $pids; } 2>/dev/null
	pids=
}

listed()
{
	timeout 60 "$unweave" ps "$@" >shown 2>words
}

lists_what_is_there()
{
	begin "$hung" many 1234
	local first=$pid
	begin "$hung" deadlock t.unw
	listed && listed --json && mv shown objects && listed
	end
	grep -Eq "^ +$first +[^ ]+ +1,234 +1 +- +- +- +$hung many 1234$" shown &&
		grep -Eq "^ +$pid +[^ ]+ +3 +1 +full +$pid +- +$hung deadlock t.unw$" shown &&
		sed 1d shown | sort -nc && first=$first python3 - <<-'END'
			import json, os
			found = {p['pid']: p for p in map(json.loads, open('objects'))}
			assert list(found) == sorted(found)
			many = found.pop(int(os.environ['first']))
			assert many['tasks'] == 1234 and not many['recording'] and many['recorder'] == 0
			assert many['program'].endswith('/hung') and many['command'].endswith('/hung many 1234')
			assert many['arena'].startswith(os.environ['UNWEAVE_DIR'] + '/unweave-')
			dead, = [p for p in found.values() if p['command'].endswith('deadlock t.unw')]
			assert dead['recording'] and dead['detail'] == 'full' and dead['recorder'] == dead['pid']
			assert dead['tasks'] == 3 and dead['threads'] == 1 and dead['output'].endswith('t.unw')
		END
}

finds_a_memfd()
{
	UNWEAVE_DIR=/nonexistent begin "$hung" many 7
	listed --json
	end
	grep -q "\"pid\":$pid,.*\"tasks\":7,.*\"arena\":\"memfd\"" shown
}

# Namespaces of its own, for processes and for mounts, and a tmpfs that nobody else sees.
may_contain()
{
	unshare --pid --mount --fork --mount-proc mount -t tmpfs none /dev/shm 2>/dev/null
}

looks_into_a_container()
{
	# shellcheck disable=SC2016 # for the shell inside
	begin unshare --pid --mount --fork --kill-child --mount-proc env -u UNWEAVE_DIR sh -c \
		'mount -t tmpfs none /dev/shm && exec "$@"' sh "$hung" deadlock
	local inside
	inside=$(tr -d ' ' <"/proc/$pid/task/$pid/children")
	(unset UNWEAVE_DIR && listed && "$unweave" tree "$inside" >tasks)
	end
	grep -Eq "^ +$inside .* 3 +1 +- +- +- +$hung deadlock  \(pid 1 in its container\)$" shown &&
		[ "$(grep -A3 '  carol:' tasks | sed -n '2,4s/^ *\([a-z_]*\).*/\1/p' | xargs)" = \
			'take_lock load_user handle_request' ]
}

sees_other_users()
{
	begin setpriv --reuid 65534 --regid 65534 --clear-groups "$hung" many 5
	listed
	end
	grep -Eq "^ +$pid +(nobody|65534) +5 " shown
}

is_quick()
{
	local i
	for ((i = 0; i < 400; i++)); do
		sleep 100 &
		pids="$pids $!"
	done
	# Of processor time, for whoever else is at work here.
	TIMEFORMAT='%U %S'
	{ time listed; } 2>took
	end
	awk '{ exit !($1 + $2 < 2) }' took
}

refuses_operands()
{
	! listed 1 && grep -q 'ps: takes no operands' words
}

try 'it lists programs, with what is known of them' lists_what_is_there
try 'also one that found no place for a file' finds_a_memfd
if may_contain; then
	try 'and one in a container, whose tasks it knows' looks_into_a_container
fi
if [ "$(id -u)" -eq 0 ]; then
	try 'and those of other users, for root' sees_other_users
fi
try 'many processes are no trouble' is_quick
try 'a mistake gets a sentence' refuses_operands
finish

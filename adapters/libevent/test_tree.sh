#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs that know what there is to be seen, recorded: test_tree.sh TREE STORM DNS UNWEAVE ADAPTER
program=$(realpath "$1") storm=$(realpath "$2") dns=$(realpath "$3")
unweave=$(realpath "$4") adapter=$(realpath "$5")
here=$(realpath "$(dirname "$0")")
# shellcheck source=tests/abi/tap.sh
. "$here/../../tests/abi/tap.sh"
unset UNWEAVE_TRACE UNWEAVE_DISABLE UNWEAVE_BUFFER UNWEAVE_DETAIL UNWEAVE_POLICY UNWEAVE_SIGNAL
UNWEAVE_DIR=$(mktemp -d /dev/shm/unweave-libevent-XXXXXX) || exit 1
export UNWEAVE_DIR
trap 'rm -rf "$work" "$UNWEAVE_DIR"' EXIT
cd "$work" || exit 1

compare()
{
	python3 "$here/test_tree.py" "$1" "$2" "$unweave"
}

names_libevent()
{
	"$unweave" info t.unw | grep 'adapters *libevent 2\.'
}

# recorded DETAIL
recorded()
{
	rm -f words child ./*.unw
	timeout 60 "$unweave" record -q --detail "$1" -F 0 -o t.unw -- "$program" words child
}

# What libevent does by itself for a request is not known to the program.
tells_requests()
{
	rm -f words ./*.unw
	timeout 60 "$unweave" record -q --detail tasks -F 0 -o t.unw -- "$dns" words || return 1
	compare words t.unw
}

# As many runs as there were calls, whatever the threads did to the events. Nothing can be said if
# events were lost, as on a machine that has no time for the recorder.
tells_each_call()
{
	local attempt
	for attempt in 1 2 3 4 5; do
		rm -f ./*.unw
		timeout 60 "$unweave" record -q --detail tasks -F 0 -o t.unw -- "$storm" >calls || return 1
		"$unweave" info t.unw | grep -q 'lost *none' && break
		[ "$attempt" -lt 5 ] || return 0
	done
	"$unweave" dump --json t.unw | grep -c '"kind":"resume"' >runs
	cat calls runs
	[ "$(cat calls)" -gt 100 ] && [ "$(cat calls)" = "$(cat runs)" ]
}

try "a program finds its events as they are without the adapter" timeout 60 "$program" words child
try "with the adapter, nobody recording" env LD_PRELOAD="$adapter" timeout 60 "$program" words child
for event_method in EPOLL POLL SELECT; do
	# Whichever of the three is left is what it waits by.
	for other in EPOLL POLL SELECT; do
		if [ "$other" = "$event_method" ]; then
			unset "EVENT_NO$other"
		else
			export "EVENT_NO$other=1"
		fi
	done
	try "and recorded, waiting by $event_method" recorded tasks
	try "the trace says by which adapter" names_libevent
	try "each operation is a task, under the one that armed it" compare words t.unw
	try "the child of a fork has a trace of its own, and its own tasks" compare child t.*.unw
done
try "at detail samples it runs as well" recorded samples
try "requests to name servers are tasks, by whatever they end" tells_requests
try "events that threads quarrel about are called as without the adapter" tells_each_call
finish

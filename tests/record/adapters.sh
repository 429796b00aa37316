#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs that know nothing of unweave, and what they do before they serve; which
# adapters they are given, and what is said of that.
# usage: adapters.sh PLAIN UNWEAVE ADAPTER
set -u
adapters=$(dirname "$(realpath "$3")")
# shellcheck source=tests/record/common.sh
. "$(dirname "$0")/common.sh"
export UNWEAVE_ADAPTERS=$adapters
unset LD_PRELOAD
# Whoever a program becomes may put its arena there.
chmod 1777 "$UNWEAVE_DIR"

tasks()
{
	"$unweave" info "$1" | awk '$1 == "tasks" { gsub("[^0-9]", "", $2); print $2 }'
}

# What the words `$1` are of one program or another: "inside" is linked with the library itself.
record_other()
{
	rm -f ./*.unw
	timeout 60 "$unweave" record -o t.unw "${@:2}" -- "$subject-$1" loop 5 >out 2>words
	status=$?
	cat words
}

# served TURNS VERB...: all of its turns are in the one trace that there is.
served()
{
	record -- "${@:2}"
	[ "$status" -eq 0 ] && all_is_well && [ "$(find . -name '*.unw' | wc -l)" -eq 1 ] &&
		says '^unweave: adapters: libuv 1\.44\.2$' && [ "$(tasks t.unw)" -eq "$1" ]
}

# What only root may do.
try_as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		try "$@"
	else
		tests=$((tests + 1))
		echo "ok $tests - $1 # SKIP not root"
	fi
}

takes_hold()
{
	served 50 loop 50 && "$unweave" report t.unw >shown && cat shown &&
		grep -q '^  adapters  libuv 1\.44\.2$' shown && grep -q 'work' shown &&
		"$unweave" info t.unw | grep -q '^  adapters    libuv 1\.44\.2$' &&
		"$unweave" info --json t.unw |
		grep -q '"adapters":\[{"library":"libuv","took_hold":true,"version":"1.44.2","fate":"loaded"}\]' &&
		"$unweave" report --json t.unw | grep -q '"library":"libuv","took_hold":true'
}

# The trace has the names of callbacks, and of where they are armed, also without samples.
has_its_names()
{
	record -F 0 -- loop 300
	[ "$status" -eq 0 ] && "$unweave" report --no-files t.unw sites --json >shown && cat shown &&
		grep -q '"site":"timer work","kind":"timer"' shown && grep -q '"function":"[a-z_]*"' shown &&
		grep -q '"place":{"file":"[^"]*plain.c","line":[1-9]' shown
}

# Neither is lost with what a flight recorder forgets.
takes_hold_in_flight()
{
	record --flight 10s -- loop 50
	[ "$status" -eq 0 ] && all_is_well && "$unweave" info --json t.unw |
		grep -q '"library":"libuv","took_hold":true,"version":"1.44.2","fate":"loaded"'
}

# Zombies of others, of which we are the parent, are not left lying around.
buries_the_dead()
{
	local recorder children child dead=0
	rm -f ./*.unw marker
	"$unweave" record --duration 0.1 -o t.unw -- sh -c "'$subject' loop 300;
		for i in 1 2 3; do (sleep 0.01 & ); done; sleep 0.4; echo >marker; sleep 1; exit 5" 2>words &
	recorder=$!
	for _ in $(seq 500); do
		[ -e marker ] && break
		sleep 0.02
	done
	read -ra children <"/proc/$recorder/task/$recorder/children"
	for child in "${children[@]}"; do
		grep -q '^State:.Z' "/proc/$child/status" && dead=$((dead + 1))
	done
	wait $recorder
	[ $? -eq 5 ] && cat words && [ "$dead" -eq 0 ] && all_is_well
}

is_not_used()
{
	record -- fork loop 1 && says 'adapters: libuv' || return 1
	record -- sleep 1
	[ "$status" -eq 1 ] && nothing_is_left && [ ! -e t.unw ] &&
		says 'ended without calling a hook of libunweave, or using a library'
}

# Programs that have the library, and do not use it, have no arena and no trace.
takes_hold_early()
{
	export ADAPTER_IS_EARLY=yes
	record -- sleep 1
	[ "$status" -eq 1 ] && nothing_is_left && [ ! -e t.unw ] && served 50 loop 50 && served 50 fork loop 50
	status=$?
	unset ADAPTER_IS_EARLY
	return $status
}

is_behind_a_shell()
{
	rm -f ./*.unw
	"$unweave" record -o t.unw -- sh -c "true; '$subject' loop 50; exit 4" 2>words
	[ $? -eq 4 ] && cat words && all_is_well && [ "$(tasks t.unw)" -eq 50 ] &&
		[ "$(find . -name '*.unw' | wc -l)" -eq 1 ] && ! grep -q 'did not\|has not' words
}

is_behind_a_script()
{
	printf '#!/bin/sh\n"%s" loop 50\n' "$subject" >script && chmod +x script
	rm -f ./*.unw
	PATH=.:$PATH "$unweave" record -o t.unw -- script 2>words && cat words && all_is_well &&
		[ "$(tasks t.unw)" -eq 50 ]
}

becomes_another()
{
	record -- loop 50 exec "$subject" loop 30
	[ "$status" -eq 0 ] && all_is_well && [ "$(tasks t.unw)" -eq 50 ] &&
		[ "$(tasks t.*.unw)" -eq 30 ]
}

leaves_the_rest_alone()
{
	LD_PRELOAD=/none.so "$unweave" record -o t.unw -- env >out 2>words
	grep -qx "LD_PRELOAD=$adapters/libunweave-libuv.so:/none.so" out || return 1
	LD_PRELOAD=/none.so "$unweave" record -o t.unw --without all -- env >out 2>words
	grep -qx LD_PRELOAD=/none.so out && says 'allow for adapters'
}

is_forbidden()
{
	record --without libuv -- loop 5
	[ "$status" -eq 1 ] &&
		says 'nothing came of it: the adapter for libuv was left out by --without$' || return 1
	record --without all -- loop 5
	[ "$status" -eq 1 ] &&
		says 'nothing came of it: the adapter for libuv was left out by --without$' &&
		record --without all --with libuv -- loop 5 && says 'adapters: libuv 1.44.2'
}

# A program that is recorded all the same says in its trace what it was not given.
is_forbidden_in_the_trace()
{
	rm -f ./*.unw
	"$unweave" record -o t.unw --without libuv -- "$subject-shared" loop 5 hook 2>words
	cat words && all_is_well && "$unweave" info t.unw | grep -q '^  adapters    libuv was not wished for$'
}

is_unused_in_the_trace()
{
	rm -f ./*.unw
	"$unweave" record -o t.unw -- "$subject-shared" hook 2>words
	cat words && all_is_well && says 'the adapter for libuv was loaded, but the program has not used its event loop' &&
		"$unweave" report t.unw | grep -q '^  adapters  libuv was loaded, but'
}

goes_with_hooks()
{
	rm -f ./*.unw
	"$unweave" record -o t.unw -- "$subject-shared" loop 5 hook 2>words
	cat words && all_is_well && says 'adapters: libuv 1.44.2' && [ "$(tasks t.unw)" -eq 6 ]
}

is_inside()
{
	record_other inside
	[ "$status" -eq 1 ] && says 'nothing came of it: libuv is linked into the program itself' || return 1
	record_other inside --with libuv
	[ "$status" -eq 1 ] && says 'nothing came of it: libuv is linked into the program itself'
}

is_static()
{
	record_other static
	[ "$status" -eq 1 ] && says 'nothing came of it: plain-static is linked statically, and loads nothing'
}

is_secure()
{
	cp "$subject" secure && chown 65534 secure && chmod 4755 secure || return 1
	rm -f ./*.unw
	"$unweave" record -o t.unw -- ./secure loop 5 2>words
	[ $? -eq 1 ] && cat words && says 'secure gets rights of its own'
}

# It wants to be loaded before all else, and is asked not to insist.
has_a_sanitizer()
{
	[ -x "$subject-asan" ] || return 0
	ASAN_OPTIONS=exitcode=9 "$unweave" record -F 999 -o t.unw -- "$subject-asan" loop 50 fork loop 50 2>words &&
		cat words && all_is_well && [ "$(tasks t.unw)" -eq 50 ] && [ "$(tasks t.*.unw)" -eq 50 ]
}

has_one_already()
{
	rm -f ./*.unw
	"$unweave" record -o t.unw -- "$subject-both" loop 5 hook 2>words
	cat words && all_is_well && [ "$(tasks t.unw)" -eq 1 ] &&
		says 'no adapter for libuv: plain-both has libunweave linked into it' &&
		"$unweave" info t.unw | grep -q 'adapters    none for libuv: plain-both has'
}

is_at_an_odd_path()
{
	mkdir -p 'an odd: path' && cp "$adapters/libunweave-libuv.so" 'an odd: path' || return 1
	rm -f ./*.unw
	UNWEAVE_ADAPTERS="$PWD/an odd: path" "$unweave" record -o t.unw -- "$subject" loop 5 2>words
	[ $? -eq 1 ] && cat words && says 'lies at a path with a space or a colon'
}

is_not_there()
{
	rm -f ./*.unw
	UNWEAVE_ADAPTERS=$PWD "$unweave" record -o t.unw -- "$subject" loop 5 2>words
	[ $? -eq 1 ] && cat words && says 'the adapter is not installed'
}

# The first process has ended long before; Ctrl-C ends the recording, and not the daemon.
is_a_daemon()
{
	local recorder
	served 300 daemon sleep 100 loop 300 || return 1
	rm -f ./*.unw
	"$unweave" record -o t.unw -- "$subject" daemon loop 1000 2>words &
	recorder=$!
	sleep 0.5
	kill -TERM $recorder && wait $recorder && cat words && "$unweave" verify t.unw && [ "$(tasks t.unw)" -gt 50 ] &&
		[ "$(tasks t.unw)" -lt 1000 ] || return 1
	# It takes its arena along.
	for _ in $(seq 500); do
		nothing_is_left && return
		sleep 0.02
	done
	return 1
}

# It cannot reach the recorder by itself, and is found a moment later.
is_started_by_another()
{
	# Where the build is may be out of its reach.
	setpriv --reuid=65534 --clear-groups test -x "$subject" || return 0
	rm -f ./*.unw
	"$unweave" record -o t.unw -- sh -c "setpriv --reuid=65534 --clear-groups '$subject' loop 500; exit 3" 2>words
	[ $? -eq 3 ] && cat words && all_is_well && says 'adapters: libuv' && [ "$(tasks t.unw)" -gt 50 ]
}

# It does not know its own name there.
leaves_the_root()
{
	served 300 root "$work" loop 300 && "$unweave" info t.unw | grep -q "^  program     $subject "
}

# Whoever begins after that has nobody to begin for.
outlives_its_recorder()
{
	local recorder
	rm -f ./*.unw marker
	"$unweave" record -o t.unw -- sh -c "'$subject' loop 5 sleep 500 fork loop 5; echo >marker" 2>words &
	recorder=$!
	for _ in $(seq 500); do
		[ -s t.unw ] && break
		sleep 0.02
	done
	sleep 0.1
	{ kill -KILL $recorder && wait $recorder; } 2>/dev/null
	for _ in $(seq 500); do
		[ -e marker ] && break
		sleep 0.02
	done
	# The recorder's own helper may still be at the names of the trace.
	for _ in $(seq 500); do
		nothing_is_left && return
		sleep 0.02
	done
	return 1
}

says_what_it_has()
{
	local pid
	rm -f ./*.unw
	LD_PRELOAD=$adapters/libunweave-libuv.so "$subject" loop 1500 &
	pid=$!
	wait_for_arena $pid && "$unweave" record --duration 0.2 -o t.unw -p $pid 2>words
	cat words
	wait $pid
	says '^unweave: adapters: libuv 1.44.2$' && "$unweave" report t.unw | grep -q 'adapters  libuv 1.44.2'
}

try 'a program that uses the library is recorded' takes_hold
try 'one that does not is told apart' is_not_used
try 'callbacks have their names in the trace' has_its_names
try 'an adapter may take hold when it is loaded' takes_hold_early
try 'a flight recorder keeps that' takes_hold_in_flight
try 'what the command leaves behind and ends is gone' buries_the_dead
try 'one that a shell starts has the trace, and the shell none' is_behind_a_shell
try 'scripts are followed' is_behind_a_script
try 'a program that becomes another is recorded on' becomes_another
try 'what is preloaded already comes after' leaves_the_rest_alone
try '--without keeps an adapter out, and --with has it in again' is_forbidden
try 'the trace says what was not wished for' is_forbidden_in_the_trace
try 'the trace says what was not used' is_unused_in_the_trace
try 'programs with AddressSanitizer are recorded' has_a_sanitizer
try 'hooks of the program and of an adapter go together' goes_with_hooks
try 'a library that is linked into the program is out of reach' is_inside
try 'so is a static program' is_static
try_as_root 'so is one with rights of its own' is_secure
try 'so is one that has libunweave linked into it' has_one_already
try 'an adapter at a path that the loader cannot read is given up' is_at_an_odd_path
try 'so is one that is not there' is_not_there
try 'the process of another: the trace says what it has' says_what_it_has
try 'children are recorded' served 50 fork loop 50
try 'a daemon is followed' is_a_daemon
try 'a recorder that is killed leaves nothing behind' outlives_its_recorder
try 'programs may close everything' served 50 close fork loop 50
try 'programs may empty their environment' served 50 clean fork loop 50
try_as_root 'programs may become another user before they begin' served 50 user 65534 loop 50
try_as_root 'programs may become another user in between' served 55 loop 5 user 65534 loop 50
try_as_root 'a child of another user is recorded' served 50 user 65534 fork loop 50
try_as_root 'a child that was started as another user is found' is_started_by_another
try_as_root 'programs may leave the root before they begin' leaves_the_root
try_as_root 'programs may leave the root in between' served 55 loop 5 root "$work" loop 50
try_as_root 'a daemon may do all of this' served 300 daemon root "$work" user 65534 clean close loop 300
finish

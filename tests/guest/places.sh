#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program with libunweave in it, in places that have no room for it: its output
# and its exit status are those of the same program without.
# usage: places.sh GUEST PLAIN-GUEST UNWEAVE
# shellcheck disable=SC2016 # some of it is for an inner shell to expand
set -u

guest=$1 plain=$2 unweave=$3
# shellcheck source=tests/abi/tap.sh
. "$(dirname "$0")/../abi/tap.sh"
cp "$guest" "$work/guest" && cp "$plain" "$work/plain" || exit 1
chmod 755 "$work" "$work/guest" "$work/plain"
mkdir -m 777 "$work/out"
unset UNWEAVE_TRACE UNWEAVE_DIR UNWEAVE_DISABLE UNWEAVE_BUFFER UNWEAVE_DETAIL UNWEAVE_POLICY
base=$(mktemp -d /dev/shm/unweave-places-XXXXXX) && chmod 755 "$base" || exit 1
trap 'rm -rf "$work" "$base"' EXIT

# run PROGRAM SITUATION VERB...: SITUATION is the name of a function that runs what it is given.
run()
{
	local program=$1 situation=$2
	shift 2
	rm -f "$work/out/status"
	(GUEST_STATUS=$work/out/status "$situation" "$work/$program" "$@") \
		>"$work/out/$program.stdout" 2>"$work/out/$program.stderr"
	echo "exit $?" >>"$work/out/$program.stdout"
}

# as_without SITUATION STATUS VERB...: STATUS is a pattern for what unweave_status() says.
as_without()
{
	local situation=$1 status=$2
	shift 2
	run plain "$situation" "$@"
	run guest "$situation" "$@"
	diff "$work/out/plain.stdout" "$work/out/guest.stdout" || return 1
	diff "$work/out/plain.stderr" "$work/out/guest.stderr" || return 1
	grep -q 'errno untouched' "$work/out/guest.stdout" || [ "$situation" = silently ] || return 1
	if [ -n "$status" ] && ! grep -Eq "$status" "$work/out/status"; then
		echo "status: $(cat "$work/out/status")"
		return 1
	fi
}

# The same while it records itself, and what comes of that can be read.
as_without_recording()
{
	rm -f "$work/out/trace.unw"
	UNWEAVE_TRACE=$work/out/trace.unw UNWEAVE_POLICY=block as_without "$@"
}

as_without_both()
{
	as_without "$@" && as_without_recording "$@"
}

# trace_is_whole ROUNDS: each time that the guest went through its hooks is in the trace.
trace_is_whole()
{
	local found
	"$unweave" verify "$work/out/trace.unw" || return 1
	found=$("$unweave" dump --kind complete "$work/out/trace.unw" | wc -l)
	[ "$found" -eq $(($1 * 3000)) ] || { echo "$found tasks completed"; return 1; }
}

plainly()
{
	UNWEAVE_DIR=$base "$@"
}

try 'in a good place nothing changes' as_without plainly "^arena in $base" emit threads fork files
try 'in a good place it can be recorded' as_without_recording plainly "^arena in $base" \
	emit threads fork files
try 'and what was recorded can be read' trace_is_whole 2
# A child that ended by _exit() leaves its arena, for the next program to find and remove.
try 'a program that ends tidies up' as_without plainly "^arena in $base" emit
try 'and nothing is left behind' test -z "$(ls "$base"/unweave-*/)"

disabled()
{
	UNWEAVE_DISABLE=1 "$@"
}
try 'with UNWEAVE_DISABLE there is no arena' as_without_both disabled 'no arena: UNWEAVE_DISABLE' \
	emit threads fork files

try 'a program may close every descriptor at start' as_without_both plainly '^arena in' \
	close-all files threads emit files
try 'and its trace is whole all the same' trace_is_whole 3

# A memfd is a descriptor too.
nowhere()
{
	UNWEAVE_DIR=$work/nowhere "$@"
}
try 'where there is no directory a memfd will do' as_without_both nowhere \
	'^arena in a memfd: .*nowhere/unweave-.*: No such file' emit threads fork files
try 'and its trace is whole' trace_is_whole 2
try 'a program may close the memfd too' as_without_both nowhere '^arena in a memfd' \
	emit close-all files threads emit files
try 'and its trace is whole still' trace_is_whole 4

without_std()
{
	UNWEAVE_DIR=$base "$@" <&- >&- 2>&-
}
silently()
{
	without_std "$@"
}
try 'a program may be started without stdin, stdout and stderr' as_without_both silently \
	'^arena in' emit files threads fork
try 'and its trace is whole, with nothing of the program in it' trace_is_whole 2
try 'a program may close them itself' as_without_both silently '^arena in' \
	emit close-std files

tiny_tmpfs()
{
	unshare -m sh -c 'mount -t tmpfs -o size=64k tmpfs "$UNWEAVE_DIR" && exec "$@"' sh "$@"
}
tiny()
{
	UNWEAVE_DIR=$base tiny_tmpfs "$@"
}
full()
{
	UNWEAVE_DIR=$base unshare -m sh -c 'mount -t tmpfs -o size=4m tmpfs "$UNWEAVE_DIR" &&
		head -c 4m /dev/zero >"$UNWEAVE_DIR/fill" 2>/dev/null; exec "$@"' sh "$@"
}
# Enough for the arena, not for the buffers that a session asks for.
small()
{
	UNWEAVE_DIR=$base unshare -m sh -c 'mount -t tmpfs -o size=2m tmpfs "$UNWEAVE_DIR" &&
		exec "$@"' sh "$@"
}
no_shm()
{
	unshare -m sh -c 'mount -t tmpfs -o ro tmpfs /dev/shm && exec "$@"' sh "$@"
}
in_chroot()
{
	local program=$1
	shift
	GUEST_STATUS=/out/status UNWEAVE_TRACE=${UNWEAVE_TRACE:+/out/trace.unw} \
		unshare -m sh -c 'mkdir -p "$1/root/out" "$1/root/tmp" && chmod 1777 "$1/root/tmp" &&
		mount --bind "$1/out" "$1/root/out" && shift && exec "$@"' sh "$work" \
		chroot "$work/root" "/${program##*/}" "$@"
}
of_another()
{
	UNWEAVE_DIR=$base/other setpriv --reuid=65534 --clear-groups "$@"
}
not_permitted()
{
	UNWEAVE_DIR=$base/closed setpriv --reuid=65534 --clear-groups "$@"
}
linked()
{
	UNWEAVE_DIR=$base/linked "$@"
}
open_to_all()
{
	UNWEAVE_DIR=$base/open "$@"
}
on_disk()
{
	UNWEAVE_DIR=$work/disk "$@"
}

if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
	try 'a tiny tmpfs is no obstacle' as_without_both tiny \
		'^arena in a memfd: .*: No space left on device' emit threads fork files
	try 'and the trace is whole' trace_is_whole 2
	try 'a full tmpfs is no obstacle' as_without_both full \
		'^arena in a memfd: .*: No space left on device' emit threads fork files
	try 'and the trace is whole, too' trace_is_whole 2
	try 'a small tmpfs gives what it has' as_without_both small "^arena in $base" \
		emit threads fork files
	try 'and the trace is whole even so' trace_is_whole 2
	try '/dev/shm may be read-only' as_without_both no_shm \
		'^arena in a memfd: /dev/shm/unweave-0: Read-only' emit threads fork files

	mkdir -m 777 "$base/other" && mkdir -m 777 "$base/other/unweave-65534"
	try 'a directory that another user squats is not used' as_without_both of_another \
		'^arena in a memfd: .*: belongs to another user' emit threads fork files
	mkdir -m 0 "$base/closed"
	try 'without permission for the directory a memfd will do' as_without_both not_permitted \
		'^arena in a memfd: .*: Permission denied' emit threads fork files
	try 'and the trace is whole there' trace_is_whole 2

	# A static copy would need no libraries; this one brings its own.
	mkdir -p "$work/root"
	for library in $(ldd "$work/guest" | grep -o '/[^ ]*'); do
		mkdir -p "$work/root${library%/*}" && cp "$library" "$work/root$library"
	done
	cp "$work/guest" "$work/plain" "$work/root"
	try 'a chroot without tmpfs and /proc is no obstacle' as_without_both in_chroot \
		'^arena in a memfd: /dev/shm/unweave-0: No such file' emit fork files
	try 'and its trace is whole as well' trace_is_whole 2
else
	for sentence in 'a tiny tmpfs' 'a full tmpfs' 'a read-only /dev/shm' 'a squatted directory' \
		'a directory without permission' 'a chroot'; do
		tests=$((tests + 1))
		echo "ok $tests - $sentence # SKIP needs root and mount namespaces"
	done
fi

mkdir -p "$base/linked" "$base/target" "$base/open" "$work/disk"
mkdir -m 700 "$base/target/real"
ln -s "$base/target/real" "$base/linked/unweave-$(id -u)"
try 'a symbolic link in its place is not followed' as_without_both linked \
	'^arena in a memfd: .*: (Not a directory|Too many levels)' emit threads fork files
try 'nor anything put where it leads' test -z "$(ls "$base/target/real")"
mkdir -m 755 "$base/open/unweave-$(id -u)"
try 'a directory that others may read is not used' as_without_both open_to_all \
	'^arena in a memfd: .*: others may' emit threads fork files
try 'a directory that is not on a tmpfs is not used' as_without_both on_disk \
	'^arena in a memfd: .*: is not on a tmpfs' emit threads fork files

try 'a small limit on file sizes is no obstacle' as_without plainly \
	'^arena in private memory: .*: the limit on file sizes' \
	limit-fsize 65536 emit threads fork emit
try 'nor is one for the trace' as_without_recording plainly '^arena in' \
	limit-fsize 65536 emit threads fork emit
try 'which says what is missing' "$unweave" verify "$work/out/trace.unw"
try 'a small limit on memory is no obstacle' as_without plainly '^no arena: ' \
	limit-as 16000000 emit emit
exhausted()
{
	(ulimit -n 64 && UNWEAVE_DIR=$base "$@")
}
try 'descriptors may run out' as_without_both exhausted '^arena in' exhaust emit fork emit
try 'memory may be locked' as_without_both plainly '^(arena in|no arena: mmap: )' mlockall emit emit

unwritable()
{
	UNWEAVE_DIR=$base UNWEAVE_TRACE=/nonexistent/trace.unw "$@"
}
try 'a trace that cannot be written is no obstacle' as_without unwritable '^arena in' \
	emit threads fork files
relative()
{
	(cd "$work/out" && UNWEAVE_DIR=$base UNWEAVE_TRACE=relative-%p.unw "$@")
}
try 'a trace may be named relative to where the program starts' as_without relative '^arena in' \
	emit files
try 'and is there' "$unweave" verify "$work"/out/relative-*.unw

set_user_id()
{
	UNWEAVE_DIR=$base setpriv --reuid=65534 --clear-groups "$@"
}
check_set_user_id()
{
	chown 65533 "$work/guest" "$work/plain" && chmod 4755 "$work/guest" "$work/plain" || return 1
	as_without_recording set_user_id '^arena in /dev/shm/unweave-65533' emit || return 1
	[ ! -e "$work/out/trace.unw" ]
}
if [ "$(id -u)" -eq 0 ] && ! findmnt -no OPTIONS -T "$work" | grep -q nosuid; then
	try 'a set-user-ID program does not listen to the environment' check_set_user_id
else
	tests=$((tests + 1))
	echo "ok $tests - a set-user-ID program # SKIP needs root and a file system with set-user-ID"
fi
finish

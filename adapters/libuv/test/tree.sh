#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program with a known tree of operations, recorded with the adapter: tree.sh PROGRAM UNWEAVE ADAPTER AGAIN
program=$(realpath "$1") unweave=$(realpath "$2") adapter=$(realpath "$3") again=$(realpath "$4")
here=$(realpath "$(dirname "$0")")
# shellcheck source=tests/abi/tap.sh
. "$here/../../../tests/abi/tap.sh"
unset UNWEAVE_TRACE UNWEAVE_DISABLE UNWEAVE_BUFFER UNWEAVE_DETAIL UNWEAVE_POLICY UNWEAVE_SIGNAL UV_THREADPOOL_SIZE
UNWEAVE_DIR=$(mktemp -d /dev/shm/unweave-libuv-XXXXXX) || exit 1
export UNWEAVE_DIR
trap 'rm -rf "$work" "$UNWEAVE_DIR"' EXIT
cd "$work" || exit 1

compare()
{
	python3 "$here/tree.py" "$1" "$2" "$unweave"
}

names_libuv()
{
	"$unweave" info t.unw | grep 'adapters *libuv 1\.'
}

# recorded DETAIL
recorded()
{
	rm -f log child ./*.unw
	timeout 60 "$unweave" record -q --detail "$1" -F 0 -o t.unw --without libevent,glib -- "$program" log child
}

try "a program finds libuv as it is without the adapter" timeout 60 "$program" plain child
try "with the adapter, nobody recording" env LD_PRELOAD="$adapter" timeout 60 "$program" log child
for detail in tasks full; do
	try "and recorded at detail $detail" recorded "$detail"
	try "the trace says by which adapter" names_libuv
	try "each operation is a task, under the one that armed it" compare log t.unw
	try "the child of a fork has a trace of its own, and its own tasks" compare child t.*.unw
done
try "at detail samples it runs as well" recorded samples
try "a timer that is armed again runs as what it was armed as" \
	timeout 60 "$unweave" record -q --detail samples -F 0 -o again.unw --without libevent,glib -- "$again"
finish

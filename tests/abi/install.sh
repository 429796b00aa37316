#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that find the installed library through pkg-config and CMake.
# usage: install.sh BUILD
set -u

root=$(dirname "$0")/../..
# shellcheck source=tests/abi/tap.sh
. "$root/tests/abi/tap.sh"
build=$1
destination=$work/root

by_pkg_config()
{
	pc=$(find "$destination" -name unweave.pc) || return 1
	flags=$(PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$destination pkg-config --cflags --libs unweave) ||
		return 1
	# shellcheck disable=SC2086 # a list of words
	cc -o "$work/use" "$root/tests/abi/use.c" $flags
}

by_cmake()
{
	config=$(find "$destination" -name unweave-config.cmake) || return 1
	cmake -S "$root/tests/abi/cmake" -B "$work/cmake" -Dunweave_DIR="${config%/*}" &&
		cmake --build "$work/cmake"
}

runs()
{
	library=$(find "$destination" -name libunweave.so) || return 1
	LD_LIBRARY_PATH=${library%/*} "$@"
}

records_itself()
{
	tool=$(find "$destination" -path '*/bin/unweave')
	UNWEAVE_TRACE=$work/use.unw runs "$1" && "$tool" verify "$work/use.unw" &&
		"$tool" dump "$work/use.unw" | grep -q request
}

# The tool finds the adapters that were installed with it, and the loader their library.
preloads()
{
	tool=$(find "$destination" -path '*/bin/unweave')
	adapters=$(find "$destination" -name 'libunweave-*.so' | wc -l)
	[ "$adapters" -gt 0 ] || return 0
	env -u UNWEAVE_ADAPTERS "$tool" record -o "$work/none.unw" -- env >"$work/out" 2>"$work/words"
	cat "$work/words" && ! grep -q 'cannot be preloaded' "$work/words" &&
		[ "$(grep ^LD_PRELOAD= "$work/out" | grep -o "${destination}[^:]*" | wc -l)" -eq "$adapters" ]
}

# A C++ program with coroutines, as it is.
by_cflags()
{
	command -v g++ >/dev/null || return 0
	tool=$(find "$destination" -path '*/bin/unweave')
	flags=$("$tool" cflags --coro --libs) || return 1
	# shellcheck disable=SC2086 # a list of words
	g++ -std=c++20 -o "$work/coro" "$root/adapters/coro/example.cpp" $flags || return 1
	UNWEAVE_TRACE=$work/coro.unw "$work/coro" && "$tool" dump --stacks "$work/coro.unw" | grep -q 'coroutine handle_request'
}

is_there()
{
	find "$destination" -name "$1" | grep .
}

try "everything is installed into DESTDIR" meson install -C "$build" --no-rebuild --destdir "$destination"
for file in unweave unweave.h event.h coro.hpp libunweave.so.0 libunweave.a unweave.1; do
	try "$file is installed" is_there "$file"
done
try "a program builds by pkg-config" by_pkg_config
try "it records itself" records_itself "$work/use"
try "a program with coroutines builds by what cflags prints, and is seen" by_cflags
try "adapters are found where they are installed" preloads
try "programs build by CMake" by_cmake
try "the one with the shared library records itself" records_itself "$work/cmake/shared"
try "the one with the static library records itself" records_itself "$work/cmake/static"
finish

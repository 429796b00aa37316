#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The public header in the languages it promises.
set -u

root=$(dirname "$0")/../..
# shellcheck source=tests/abi/tap.sh
. "$root/tests/abi/tap.sh"

warnings="-Wall -Wextra -Wpedantic -Wshadow -Wundef -Werror"

for compiler in gcc clang-14; do
	for std in c99 c11 c17 gnu17; do
		# shellcheck disable=SC2086 # a list of words
		try "the header compiles as $std with $compiler" \
			$compiler -std=$std $warnings -I"$root/include" -c -o "$work/use.o" "$root/tests/abi/use.c"
	done
done
for compiler in g++ clang++-14; do
	for std in c++17 gnu++17 c++20; do
		# shellcheck disable=SC2086 # a list of words
		try "the header compiles as $std with $compiler" \
			$compiler -std=$std $warnings -I"$root/include" -c -o "$work/use.o" -x c++ "$root/tests/abi/use.c"
	done
done
# Coroutines: a whole library, and a program on it.
for compiler in g++ clang++-14; do
	# shellcheck disable=SC2086 # a list of words
	try "coroutines compile with $compiler" \
		$compiler -std=c++20 $warnings -I"$root/include" -c -o "$work/use.o" "$root/examples/coro.cpp"
	# shellcheck disable=SC2086 # a list of words
	try "they need no exceptions with $compiler" $compiler -std=c++20 -fno-exceptions $warnings -I"$root/include" \
		-c -o "$work/use.o" -x c++ "$root/include/unweave/coro.hpp"
done
finish

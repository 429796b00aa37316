#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tries compilers and optimizations that `make check` has no time for: matrix.sh BUILD [COMPILER...]
set -eu
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
shift
[ $# -gt 0 ] || set -- g++ clang++-14
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
read -ra seen < <("$build/unweave" cflags --coro)
read -ra libs < <("$build/unweave" cflags --coro --libs)
g++ -std=c++20 -pthread "$here"/*.cpp -o "$work/plain"
programs=()
for compiler; do
	for level in 0 1 2 3; do
		programs+=("$work/coro-$compiler-O$level")
		"$compiler" -std=c++20 -pthread -g "-O$level" "${seen[@]}" "$here"/*.cpp -o "${programs[-1]}" "${libs[@]}"
	done
done
"$here/test.sh" "$build/unweave" "$work/plain" "${programs[@]}"

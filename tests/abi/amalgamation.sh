#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The library as one file, built with nothing but a compiler.
# usage: amalgamation.sh UNWEAVE ARCHIVE...
set -u

root=$(dirname "$0")/../..
# shellcheck source=tests/abi/tap.sh
. "$root/tests/abi/tap.sh"
unweave=$1
shift

foreign_symbols()
{
	! nm --extern-only --defined-only --format=posix "$work/unweave.o" | grep -v '^unweave_'
}

is_no_cpp()
{
	! g++ -fmax-errors=1 -c -o /dev/null "$work/unweave.c" 2>"$work/words" && grep -q 'compile it with cc -c' "$work/words"
}

records_itself()
{
	UNWEAVE_TRACE=$work/use.unw "$work/use" && "$unweave" verify "$work/use.unw" &&
		"$unweave" dump "$work/use.unw" | grep -q request
}

try "the sources make one file" "$root/tools/amalgamate" "$work" "$@"
try "it compiles with gcc -std=gnu11 -Wall -Werror" \
	gcc -std=gnu11 -O2 -Wall -Werror -c -o "$work/unweave.o" "$work/unweave.c"
try "it compiles with clang -std=gnu11 -Wall -Werror" \
	clang-14 -std=gnu11 -O2 -Wall -Werror -c -o "$work/unweave.o" "$work/unweave.c"
try "it compiles with a bare cc" cc -c -o "$work/unweave.o" "$work/unweave.c"
try "it says what to do instead of compiling it as C++" is_no_cpp
try "it shows no symbol but unweave_*" foreign_symbols
try "a program links with it" cc -I"$work" -o "$work/use" "$root/tests/abi/use.c" "$work/unweave.o"
try "the program records itself" records_itself
finish

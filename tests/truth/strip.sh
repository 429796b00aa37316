#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Moves the symbols of a program to a file of their own.
# usage: strip.sh OBJCOPY PROGRAM STRIPPED DEBUG
set -eu

"$1" --only-keep-debug "$2" "$4"
"$1" --strip-all --add-gnu-debuglink="$4" "$2" "$3"

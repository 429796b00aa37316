# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a pipe
# shellcheck disable=SC2002 # it must be a pipe
cat "$DATA/v1/loop.unw" | unweave info /dev/stdin

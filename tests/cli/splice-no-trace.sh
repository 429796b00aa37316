# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# the trace is none: that is said first
echo no trace >some.txt
unweave splice some.txt nothing.data -o out.unw

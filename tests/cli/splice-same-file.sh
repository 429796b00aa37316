# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# the trace is not written over
cp "$DATA/v1/server.unw" mine.unw
unweave splice mine.unw nothing.data -o ./mine.unw
status=$?
cmp mine.unw "$DATA/v1/server.unw"
exit "$status"

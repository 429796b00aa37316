# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# the same trace gives the same bytes
for format in perfetto chrome speedscope pprof folded firefox; do
	unweave export -f $format --no-files "$DATA/v1/loop.unw" 2>/dev/null >one
	unweave export -f $format --no-files "$DATA/v1/loop.unw" 2>/dev/null >other
	cmp one other
done

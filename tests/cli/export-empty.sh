# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# traces without events become files without events
for format in perfetto chrome speedscope pprof folded firefox; do
	unweave export -f $format -o out --no-files "$DATA/v1/no-events.unw" || echo "$format: $?"
done

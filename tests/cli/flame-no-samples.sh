# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a trace without samples has a page that says so
unweave flame --no-files -o x.svg "$DATA/v1/no-events.unw"
grep -o 'There are no CPU samples in this trace.' x.svg

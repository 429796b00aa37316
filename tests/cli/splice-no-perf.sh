# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a file that perf did not write
unweave splice "$DATA/v1/server.unw" "$DATA/v1/server.unw" -o out.unw
status=$?
[ ! -e out.unw ] || echo "it left a file"
exit "$status"

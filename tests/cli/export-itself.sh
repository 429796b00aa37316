# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a trace is not overwritten by its export
cp "$DATA/v1/server.unw" copy.unw
unweave export -f chrome -o ./copy.unw copy.unw
status=$?
cmp "$DATA/v1/server.unw" copy.unw
exit $status

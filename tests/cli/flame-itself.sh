# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a trace is not overwritten by its own page
cp "$DATA/v1/server.unw" run.html
unweave flame --no-files run.html -o ./run.html
status=$?
cmp "$DATA/v1/server.unw" run.html
exit $status

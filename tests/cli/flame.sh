# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# the page is named after the trace
cp "$DATA/v1/server.unw" run.unw
unweave flame --no-files run.unw
head -n 1 run.html
tail -n 1 run.html

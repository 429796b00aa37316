# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a perf.data that is not there
unweave splice "$DATA/v1/server.unw" nothing.data -o out.unw

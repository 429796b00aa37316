# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a directory is no perf.data
unweave splice "$DATA/v1/server.unw" . -o out.unw

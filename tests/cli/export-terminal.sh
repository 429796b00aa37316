# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a binary format is not written to a terminal
command -v script >/dev/null || exit 77
TERM=dumb script -qec "unweave export -f pprof $DATA/v1/server.unw" /dev/null | tr -d "\r"

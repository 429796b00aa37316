# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# what is not in the trace is told
unweave export -f folded "$DATA/v1/server.unw"

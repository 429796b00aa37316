# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# folded stacks of where tasks waited, plain and not
unweave export -f folded --wait --no-files "$DATA/v1/server.unw"
unweave export -f folded --wait --no-files --plain "$DATA/v1/server.unw"

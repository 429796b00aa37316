# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# folded stacks have one kind of time
unweave export -f folded --cpu --wait "$DATA/v1/server.unw"

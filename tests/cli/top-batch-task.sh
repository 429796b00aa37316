# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# one task, with its chain
unweave top -b --task 16 "$DATA/v1/server.unw"

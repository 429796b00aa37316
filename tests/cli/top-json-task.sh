# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# one task has no JSON
unweave top -j --task 16 "$DATA/v1/server.unw"

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# so many rows, and how many are left
unweave top -b --rows 2 "$DATA/v1/loop.unw"

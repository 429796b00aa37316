# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# and at a moment, sorted by another column
unweave top -b --at 0.001 --sort age --filter timer "$DATA/v1/callbacks.unw"

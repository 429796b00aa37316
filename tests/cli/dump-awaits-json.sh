# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# the same as JSON
unweave dump --json "$DATA/v1/awaits.unw"

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# info counts tasks by what they are called
unweave info "$DATA/v1/awaits.unw"

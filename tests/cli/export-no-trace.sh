# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a trace must be given
unweave export -f chrome

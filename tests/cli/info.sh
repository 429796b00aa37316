# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# info says what a trace holds
unweave info "$DATA/v1/server.unw"

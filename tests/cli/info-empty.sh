# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# info of a trace with no events, and of one without blocks
unweave info "$DATA/v1/no-events.unw" "$DATA/v1/header-only.unw"

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a trace without events has nothing to report
unweave report "$DATA/v1/no-events.unw"

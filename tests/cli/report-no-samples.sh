# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a trace without samples says so, and what was lost
unweave report "$DATA/v1/server.unw"

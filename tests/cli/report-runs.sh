# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# runs: how long they took, and the longest
unweave report "$DATA/v1/requests.unw" runs --top 3

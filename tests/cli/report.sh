# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# the summary: what stands out, hottest stacks, waits, long runs
unweave report "$DATA/v1/requests.unw"

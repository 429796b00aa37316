# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# single tasks, the longest first
unweave report "$DATA/v1/requests.unw" activities --tasks --top 4

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# rows that are cut off are counted
unweave report "$DATA/v1/requests.unw" stacks --top 1

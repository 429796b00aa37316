# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# stacks by CPU time
unweave report "$DATA/v1/requests.unw" stacks

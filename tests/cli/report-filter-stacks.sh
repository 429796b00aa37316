# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# stacks are found by any of their functions
unweave report "$DATA/v1/requests.unw" stacks --filter LOAD_user

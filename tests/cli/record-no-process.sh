# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a process that is not there
unweave record -p 2147483647

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a process that is not there
unweave status 2147483647

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a delay that makes no sense
unweave top -d nan 1

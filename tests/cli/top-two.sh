# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# top takes one program or trace
unweave top 1 2

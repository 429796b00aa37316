# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a column that the view does not have
unweave top --view waits --sort age 1

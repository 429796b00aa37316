# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a view of top that there is not
unweave top --view people 1

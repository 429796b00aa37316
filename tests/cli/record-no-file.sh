# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# said before the program is started
unweave record -o /dev/full -- echo started

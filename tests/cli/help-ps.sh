# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# the options of ps
unweave ps --help

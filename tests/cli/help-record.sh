# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# the options of record
unweave record --help

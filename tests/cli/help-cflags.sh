# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# the options of cflags
unweave cflags --help

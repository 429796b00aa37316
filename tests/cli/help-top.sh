# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# the options of top
unweave top --help

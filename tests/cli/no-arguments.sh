# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# without arguments it shows the commands and fails
unweave

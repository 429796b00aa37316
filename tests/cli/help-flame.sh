# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# help COMMAND shows its options
unweave help flame

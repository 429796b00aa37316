# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# neither a process nor a command
unweave record

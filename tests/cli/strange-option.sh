# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# an option before the command is refused
unweave --frob info

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# an option that takes no argument refuses one
unweave info --json=yes x

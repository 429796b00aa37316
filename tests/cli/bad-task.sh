# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a task that is no number is refused
unweave dump x --task=main

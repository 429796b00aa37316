# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a time that is none is refused
unweave dump x --from soon

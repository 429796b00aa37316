# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# dump takes one file
unweave dump a b

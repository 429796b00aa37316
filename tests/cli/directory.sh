# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a directory
unweave info "$DATA"

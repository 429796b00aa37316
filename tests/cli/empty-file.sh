# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# an empty file
unweave info "$DATA/bad/empty.unw"

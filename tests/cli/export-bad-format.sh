# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a format that there is not
unweave export -f perfeto "$DATA/v1/server.unw"

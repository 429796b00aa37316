# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a timeline as JSON
unweave export -f chrome --no-files "$DATA/v1/server.unw"

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# timelines have all times
unweave export -f perfetto --cpu "$DATA/v1/server.unw"

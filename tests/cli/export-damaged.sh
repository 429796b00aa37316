# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# what is readable of a damaged trace is exported
unweave export -f speedscope --no-files "$DATA/bad/payload-bit.unw" | wc -l

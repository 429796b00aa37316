# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# what is readable of a damaged trace is reported, with a word about it
unweave report "$DATA/bad/payload-bit.unw"

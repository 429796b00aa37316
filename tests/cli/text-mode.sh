# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a trace that a copy in text mode has broken
unweave verify "$DATA/bad/text-mode.unw"

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a file that is no trace
unweave dump "$DATA/bad/script.unw"

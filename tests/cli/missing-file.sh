# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a file that is not there
unweave dump "$DATA/none.unw"

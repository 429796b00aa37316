# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a file that ends within its header
unweave verify "$DATA/bad/short.unw"

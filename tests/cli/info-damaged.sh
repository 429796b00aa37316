# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# info counts faults and what they cost
unweave info "$DATA/bad/payload-bit.unw"

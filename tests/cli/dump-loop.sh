# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a compressed trace reads as it did in the first version
unweave dump --json "$DATA/v1/loop.unw" | sha256sum

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# chains that are told as siblings of others read as they did in the first version
unweave dump --json "$DATA/v1/siblings.unw" | sha256sum

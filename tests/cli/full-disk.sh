# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a full disk is told, once
[ -w /dev/full ] || exit 77
unweave dump --json "$DATA/v1/loop.unw" >/dev/full

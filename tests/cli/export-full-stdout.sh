# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a full disk under the output is told, once
[ -w /dev/full ] || exit 77
unweave export -f perfetto "$DATA/v1/loop.unw" >/dev/full

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a full disk is told also if little is written
[ -w /dev/full ] || exit 77
unweave info "$DATA/v1/loop.unw" >/dev/full

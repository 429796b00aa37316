# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a full disk is said
[ -w /dev/full ] || exit 77
unweave flame --no-files --wall -o /dev/full "$DATA/v1/server.unw"

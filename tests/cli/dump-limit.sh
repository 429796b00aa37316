# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# dump --limit ends early
unweave dump --limit 3 "$DATA/v1/loop.unw"

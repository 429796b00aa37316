# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# one missing file does not keep info from the others
unweave info "$DATA/v1/no-events.unw" "$DATA/none.unw" "$DATA/v1/header-only.unw"

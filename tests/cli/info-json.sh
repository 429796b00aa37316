# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# info --json says it as JSON
unweave info --json "$DATA/v1/server.unw" "$DATA/v1/header-only.unw"

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# dump --json shows all fields, an object a line
unweave dump --json "$DATA/v1/server.unw"

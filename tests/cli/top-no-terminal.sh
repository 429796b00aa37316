# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# top without a terminal says what to do instead
unweave top "$DATA/v1/server.unw" </dev/null

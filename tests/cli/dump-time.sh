# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# dump --from and --to, after the first event
unweave dump --from 1.8us --to 2133ns "$DATA/v1/server.unw"
unweave dump --from 0.5 "$DATA/v1/server.unw"

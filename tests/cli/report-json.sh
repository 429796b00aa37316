# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# the summary for programs
unweave report "$DATA/v1/requests.unw" --json

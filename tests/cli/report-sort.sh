# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a table can be sorted by any column
unweave report "$DATA/v1/requests.unw" sites --sort duration

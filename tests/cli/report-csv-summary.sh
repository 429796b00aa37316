# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# the summary is no table
unweave report "$DATA/v1/requests.unw" --csv

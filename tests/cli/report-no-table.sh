# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a table that is not there is said, with the nearest
unweave report "$DATA/v1/requests.unw" stack

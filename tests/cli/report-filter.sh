# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a filter keeps what is above the rows it finds
unweave report "$DATA/v1/requests.unw" activities --filter query

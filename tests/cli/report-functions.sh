# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# functions, with and without what they call
unweave report "$DATA/v1/requests.unw" functions

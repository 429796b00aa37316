# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a column that is not there is said
unweave report "$DATA/v1/requests.unw" sites --sort weight

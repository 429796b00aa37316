# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a detail that there is not
unweave record --detail most -- true

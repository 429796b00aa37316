# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a size that is none
unweave record --buffer 3X -- true

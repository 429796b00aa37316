# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a limit that is none
unweave record --size 0 -- true

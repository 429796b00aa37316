# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a limit that is none
unweave record --flight 100k -- true

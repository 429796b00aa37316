# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# two sizes
unweave record --flight 30s --size 1G -- true

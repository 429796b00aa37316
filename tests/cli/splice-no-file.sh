# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# two files are needed
unweave splice "$DATA/v1/server.unw"

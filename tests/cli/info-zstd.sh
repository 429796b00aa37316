# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# info says how well a trace is compressed
unweave info "$DATA/v1/loop.unw"

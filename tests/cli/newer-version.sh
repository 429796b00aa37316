# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a trace of a newer version
unweave info "$DATA/bad/newer.unw"

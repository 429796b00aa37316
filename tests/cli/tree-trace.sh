# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a trace is no core
unweave tree "$DATA/v1/behind.unw"

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# without a trace there is nothing to report
unweave report

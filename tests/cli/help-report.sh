# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# report --help
unweave report --help

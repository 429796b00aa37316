# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# the options of tree
unweave tree --help

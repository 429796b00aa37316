# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# COMMAND --help shows its options
unweave export --help

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# an unknown command gets a suggestion
unweave dmp

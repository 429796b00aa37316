# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a kind that does not exist gets a suggestion
unweave dump x --kind resume,suspent

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# an unknown option gets a suggestion
unweave dump --kinds wake x

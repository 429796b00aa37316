# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# an unknown letter is named
unweave info -xj x

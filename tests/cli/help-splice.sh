# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# what splice is for
unweave help splice

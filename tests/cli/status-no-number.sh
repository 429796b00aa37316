# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# something that is no process id
unweave status init

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# options for nothing in particular
unweave cflags --libs

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a command without a file asks for one
unweave info; unweave verify; unweave dump

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# -h does so too
unweave verify -h

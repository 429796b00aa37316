# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a command like no other gets no suggestion
unweave frobnicate

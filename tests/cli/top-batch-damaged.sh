# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a trace that lost events says so
unweave top -b "$DATA/v1/server.unw"

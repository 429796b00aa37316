# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# single tasks are chosen by the column they are sorted by
unweave report "$DATA/v1/requests.unw" --tasks --sort cpu --top 2

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# dump leaves out what this version does not know
unweave dump "$DATA/v1/unknown.unw" | tail -n 3

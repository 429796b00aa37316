# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# dump --task, repeated
unweave dump --task 18 -t7 "$DATA/v1/server.unw"

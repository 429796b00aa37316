# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# dump --thread, by number and by tid
unweave dump -n 2 --thread 2 "$DATA/v1/server.unw"
unweave dump -n 2 --thread 4243 "$DATA/v1/server.unw"

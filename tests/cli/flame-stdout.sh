# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# - is stdout
unweave flame --no-files --wall --svg -o - "$DATA/v1/server.unw" | tail -n 1

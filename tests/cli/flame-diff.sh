# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# two traces are compared
unweave flame --no-files --wall --diff "$DATA/v1/loop.unw" -o x.html "$DATA/v1/server.unw"
grep -o '"name":"[a-z]*.unw"' x.html

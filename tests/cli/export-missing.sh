# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a trace that is not there, and no file made for it
unweave export -f chrome -o out "$DATA/none.unw"
status=$?
ls
exit $status

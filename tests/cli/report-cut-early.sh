# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a trace that is cut off before its first event
head -c 700 "$DATA/v1/requests.unw" >cut.unw
unweave report cut.unw

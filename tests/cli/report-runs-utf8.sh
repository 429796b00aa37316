# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# bars and units are finer where the terminal can show them
LC_ALL=C.UTF-8 unweave report "$DATA/v1/requests.unw" runs --top 1

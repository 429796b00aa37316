# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a reader who went away is no reason for words
(
	trap "" PIPE
	unweave export -f chrome "$DATA/v1/loop.unw"
	echo "status $?" >&2
) | head -n 1 >/dev/null

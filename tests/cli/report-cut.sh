# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# of a trace that is cut off before its samples, nothing follows from there being none
{
	head -c 1632 "$DATA/v1/requests.unw"
	tail -c +1881 "$DATA/v1/requests.unw" | head -c 420
} >cut.unw
unweave report cut.unw
# Both count the same faults.
unweave info cut.unw | grep faults
unweave verify cut.unw || true

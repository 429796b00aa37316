# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# source lines, where the file is there
{
	yes "" | head -n 30
	printf "\tx ^= x >> 33;\n"
} >hash.h
unweave report "$DATA/v1/requests.unw" stacks --source --top 1
unweave report "$DATA/v1/requests.unw" --source | tail -n 9 | head -n 3

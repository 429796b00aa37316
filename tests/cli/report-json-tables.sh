# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# tables for programs
for table in activities sites stacks functions threads runs; do
	unweave report "$DATA/v1/requests.unw" $table --json --top 2
done
unweave report "$DATA/v1/requests.unw" --tasks --json --top 1
unweave report "$DATA/v1/requests.unw" --wait --json --top 1

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# verify says every fault, with its offset
for file in payload-bit header-bit codec huge event torn not-closed; do
	unweave verify "$DATA/bad/$file.unw" && exit 3
done
exit 1

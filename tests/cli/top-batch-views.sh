# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# sites, waits and threads as text
for view in sites waits threads; do
	unweave top -b --view $view "$DATA/v1/callbacks.unw"
	echo
done

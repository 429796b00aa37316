# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# tasks, sites and threads of a trace as JSON, with its warnings
unweave top -j --rows 2 --sort task "$DATA/v1/callbacks.unw"
for view in sites threads; do
	unweave top -j --view $view --rows 2 "$DATA/v1/callbacks.unw"
done

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# the tasks of a trace at its end, as text
unweave top -b --sort task "$DATA/v1/callbacks.unw"

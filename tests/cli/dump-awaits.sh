# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# awaits, late ones, tasks from before, and what each task is called
unweave dump --stacks "$DATA/v1/awaits.unw"

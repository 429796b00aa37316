# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# an option without its argument says what is missing
unweave dump x --task

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# control characters in names do not reach the terminal
unweave info "$(printf "a\033[31m.unw")"

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# --version says which it is
unweave --version | grep -x "unweave [0-9.]*" >/dev/null

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# flame takes one trace; two are for --diff
unweave flame a.unw b.unw
